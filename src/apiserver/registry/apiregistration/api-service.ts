import { type Faults, invalid, invalidEach, oneOf, required } from '../../../kube/validation/field-error.ts';
import { dns1035Label, dns1123Subdomain, portNumberFaults } from '../../../kube/validation/name-rules.ts';
import {
  isObject,
  type JsonObject,
  nameOf,
  objectAt,
  objectsAt,
  specOf,
  statusOf,
  stringAt,
} from '../../../apimachinery/json.ts';
import { builtIn } from '../../../apimachinery/kinds.ts';
import { seconds } from '../../../apimachinery/times.ts';
import { pathSegment } from '../../../apimachinery/path-segment.ts';
import { strategyOf } from '../kind-strategy.ts';
import type { Strategy } from '../strategy.ts';
import { numberAt } from '../validation/value-rules.ts';

const most = { groupPriorityMinimum: 20_000, versionPriority: 1000 } as const;

/** Validates that the name is that of the version and the group. */
function* nameFaults(service: JsonObject): Faults {
  const name = nameOf(service);
  const right = `${stringAt(specOf(service), 'version')}.${stringAt(specOf(service), 'group')}`;
  if (name !== '' && pathSegment(name, false).length === 0 && name !== right)
    yield invalid('metadata.name', name, `must be \`spec.version+"."+spec.group\`: "${right}"`);
}

function* groupFaults(spec: JsonObject): Faults {
  const [group, version] = [stringAt(spec, 'group'), stringAt(spec, 'version')];
  if (group !== '') yield* invalidEach('spec.group', group, dns1123Subdomain(group));
  else if (version !== 'v1')
    yield required('spec.group', 'only v1 may have an empty group and it better be legacy kube');
  yield* invalidEach('spec.version', version, dns1035Label(version));
  for (const key of ['groupPriorityMinimum', 'versionPriority'] as const) {
    const priority = numberAt(spec, key, 0);
    if (priority <= 0 || priority > most[key])
      yield invalid(`spec.${key}`, priority, `must be positive and less than ${most[key]}`);
  }
}

/** Validates who answers: this server, or a service. */
function* backendFaults(spec: JsonObject): Faults {
  const bundle = stringAt(spec, 'caBundle');
  const insecure = spec['insecureSkipTLSVerify'] === true;
  if (!isObject(spec['service'])) {
    const bytes = `${Buffer.from(bundle, 'base64').length} bytes`;
    if (bundle !== '') yield invalid('spec.caBundle', bytes, 'local APIServices may not have a caBundle');
    if (insecure)
      yield invalid(
        'spec.insecureSkipTLSVerify',
        true,
        'local APIServices may not have insecureSkipTLSVerify',
      );
    return;
  }
  const service = objectAt(spec, 'service');
  for (const key of ['namespace', 'name'])
    if (stringAt(service, key) === '') yield required(`spec.service.${key}`);
  const port = numberAt(service, 'port', 0);
  const wrong = portNumberFaults(port);
  if (wrong.length > 0) yield invalid('spec.service.port', port, `port is not valid: ${wrong.join(', ')}`);
  if (insecure && bundle !== '')
    yield invalid('spec.insecureSkipTLSVerify', true, 'may not be true if caBundle is present');
}

/** Validates an API service. Follows kube-aggregator `ValidateAPIService` (v1.36). */
function* faults(service: JsonObject): Faults {
  yield* nameFaults(service);
  yield* groupFaults(specOf(service));
  yield* backendFaults(specOf(service));
}

/** Strategy of API services: those that this server answers are available at once. */
export const apiServiceStrategy: Strategy = strategyOf(builtIn('apiservices', 'apiregistration.k8s.io'), {
  defaults: (one) => {
    const { service } = specOf(one);
    return isObject(service) ? { ...one, spec: { ...specOf(one), service: { port: 443, ...service } } } : one;
  },
  prepare: (one, old, { now }) =>
    old || isObject(specOf(one)['service'])
      ? one
      : {
          ...one,
          status: {
            conditions: [
              {
                type: 'Available',
                status: 'True',
                lastTransitionTime: seconds(now),
                reason: 'Local',
                message: 'Local APIServices are always available',
              },
            ],
          },
        },
  faults,
  metadataChecks: ['changes', 'whole'],
  status: {
    *faults(one) {
      for (const [i, condition] of objectsAt(statusOf(one), 'conditions').entries())
        yield* oneOf(`status.conditions[${i}].status`, stringAt(condition, 'status'), [
          'True',
          'False',
          'Unknown',
        ]);
    },
    frozenMetadata: ['labels', 'annotations', 'finalizers', 'ownerReferences'],
  },
});
