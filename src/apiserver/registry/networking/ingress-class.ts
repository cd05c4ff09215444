import {
  type Faults,
  forbidden,
  invalidEach,
  required,
  tooLong,
  unsupported,
} from '../../../kube/validation/field-error.ts';
import { dns1123Label } from '../../../kube/validation/name-rules.ts';
import { isObject, type JsonObject, objectAt, specOf, stringAt } from '../../../apimachinery/json.ts';
import { builtIn } from '../../../apimachinery/kinds.ts';
import { strategyOf } from '../kind-strategy.ts';
import type { Strategy } from '../strategy.ts';
import { domainPrefixedPath } from '../validation/path-rules.ts';
import { typedReference } from '../validation/reference-rules.ts';
import { immutable } from '../validation/value-rules.ts';

const longestController = 250;
const scopes = ['Cluster', 'Namespace'];

function defaults(one: JsonObject): JsonObject {
  const parameters = specOf(one)['parameters'];
  return isObject(parameters)
    ? {
        ...one,
        spec: { ...specOf(one), parameters: { ...parameters, scope: parameters['scope'] ?? 'Cluster' } },
      }
    : one;
}

function* parameterFaults(field: string, parameters: JsonObject): Faults {
  yield* typedReference(field, parameters);
  const { scope, namespace } = parameters;
  if (scope !== 'Cluster' && scope !== 'Namespace') yield unsupported(`${field}.scope`, scope, scopes);
  else if (scope === 'Cluster') {
    if (namespace !== undefined)
      yield forbidden(`${field}.namespace`, "`parameters.scope` is set to 'Cluster'");
  } else if (typeof namespace !== 'string')
    yield required(`${field}.namespace`, "`parameters.scope` is set to 'Namespace'");
  else yield* invalidEach(`${field}.namespace`, namespace, dns1123Label(namespace));
}

/** Validates an ingress class. Follows Kubernetes `ValidateIngressClass` (pkg/apis/networking/validation, v1.36). */
function* faults(one: JsonObject, old: JsonObject | undefined): Faults {
  const spec = specOf(one);
  const controller = stringAt(spec, 'controller');
  const field = 'spec.controller';
  if (old) yield* immutable(field, controller, stringAt(specOf(old), 'controller'));
  if (Buffer.byteLength(controller) > longestController) yield tooLong(field, longestController);
  yield* domainPrefixedPath(field, controller);
  if (isObject(spec['parameters'])) yield* parameterFaults('spec.parameters', objectAt(spec, 'parameters'));
}

/** Strategy of ingress classes: the controller does not change. */
export const ingressClassStrategy: Strategy = strategyOf(builtIn('ingressclasses', 'networking.k8s.io'), {
  defaults,
  faults,
  metadataChecks: ['changes', 'whole'],
});
