import {
  type Faults,
  invalid,
  invalidEach,
  required,
  unsupported,
} from '../../../kube/validation/field-error.ts';
import {
  dns1123Label,
  dns1123Subdomain,
  portNameRule,
  portNumberFaults,
  wildcardDomain,
} from '../../../kube/validation/name-rules.ts';
import {
  isObject,
  type JsonObject,
  listAt,
  metadataOf,
  objectAt,
  objectsAt,
  specOf,
  stringAt,
  textOf,
} from '../../../apimachinery/json.ts';
import { ownMember } from '../../../base/own.ts';
import { builtIn } from '../../../apimachinery/kinds.ts';
import { strategyOf } from '../kind-strategy.ts';
import type { Strategy } from '../strategy.ts';
import { balancerWarnings, ingressBalancerFaults, isIp } from '../validation/balancer-rules.ts';
import { typedReference } from '../validation/reference-rules.ts';
import { numberAt } from '../validation/value-rules.ts';

const classAnnotation = 'kubernetes.io/ingress.class';
const annotationOf = (ingress: JsonObject): unknown =>
  ownMember(objectAt(metadataOf(ingress), 'annotations'), classAnnotation);

/** Validates a host of a rule or of a certificate, which may begin with `*.`. */
function* hostFaults(field: string, host: string): Faults {
  yield* invalidEach(field, host, host.includes('*') ? wildcardDomain(host) : dns1123Subdomain(host));
}

function* portFaults(field: string, port: JsonObject): Faults {
  const [name, number] = [stringAt(port, 'name'), numberAt(port, 'number', 0)];
  if (name !== '' && number !== 0) yield invalid(field, '', 'cannot set both port name & port number');
  else if (name !== '') yield* invalidEach(`${field}.service.port.name`, name, portNameRule(name));
  else if (number === 0) yield required(field, 'port name or number is required');
  else for (const why of portNumberFaults(number)) yield invalid(`${field}.service.port.number`, number, why);
}

/** Validates where requests go: a service or another resource. */
function* backendFaults(field: string, backend: JsonObject): Faults {
  const [resource, service] = [isObject(backend['resource']), isObject(backend['service'])];
  if (resource && service) yield invalid(field, '', 'cannot set both resource and service backends');
  else if (resource) yield* typedReference(`${field}.resource`, objectAt(backend, 'resource'));
  else if (!service) yield invalid(field, '', 'resource or service backend is required');
  else {
    const target = objectAt(backend, 'service');
    const name = stringAt(target, 'name');
    if (name === '') yield required(`${field}.service.name`);
    else yield* invalidEach(`${field}.service.name`, name, dns1123Label(name));
    yield* portFaults(field, objectAt(target, 'port'));
  }
}

const badParts = ['//', '/./', '/../', '%2f', '%2F'];
const badEnds = ['/..', '/.'];

function* pathFaults(field: string, type: string, path: string): Faults {
  const own = type === 'ImplementationSpecific';
  if (!path.startsWith('/') && !(own && path === '')) yield invalid(field, path, 'must be an absolute path');
  if (own) return;
  for (const part of badParts)
    if (path.includes(part)) yield invalid(field, path, `must not contain '${part}'`);
  for (const end of badEnds) if (path.endsWith(end)) yield invalid(field, path, `cannot end with '${end}'`);
}

const pathTypes = ['Exact', 'ImplementationSpecific', 'Prefix'];

function* ruleFaults(field: string, rule: JsonObject): Faults {
  const host = stringAt(rule, 'host');
  if (host !== '') {
    if (isIp(host)) yield invalid(`${field}.host`, host, 'must be a DNS name, not an IP address');
    yield* hostFaults(`${field}.host`, host);
  }
  if (!isObject(rule['http'])) return;
  const paths = objectsAt(objectAt(rule, 'http'), 'paths');
  if (paths.length === 0) yield required(`${field}.http.paths`);
  for (const [i, path] of paths.entries()) {
    const at = `${field}.http.paths[${i}]`;
    const type = path['pathType'];
    if (type === undefined || type === null) {
      yield required(`${at}.pathType`, 'pathType must be specified');
      continue;
    }
    if (pathTypes.includes(textOf(type)))
      yield* pathFaults(`${at}.path`, textOf(type), stringAt(path, 'path'));
    else yield unsupported(`${at}.pathType`, type, pathTypes);
    yield* backendFaults(`${at}.backend`, objectAt(path, 'backend'));
  }
}

function* certificateFaults(spec: JsonObject, old: JsonObject | undefined): Faults {
  const secretFaults = (one: JsonObject): readonly string[] =>
    stringAt(one, 'secretName') === '' ? [] : dns1123Subdomain(stringAt(one, 'secretName'));
  const tolerated = objectsAt(specOf(old), 'tls').some((one) => secretFaults(one).length > 0);
  for (const [i, tls] of objectsAt(spec, 'tls').entries()) {
    for (const [j, host] of listAt(tls, 'hosts').map(textOf).entries())
      yield* hostFaults(`spec.tls[${i}].hosts[${j}]`, host);
    if (!tolerated)
      yield* invalidEach(`spec.tls[${i}].secretName`, stringAt(tls, 'secretName'), secretFaults(tls));
  }
}

/** Validates an ingress. Follows Kubernetes `ValidateIngressSpec` (pkg/apis/networking/validation, v1.36). */
function* faults(ingress: JsonObject, old: JsonObject | undefined): Faults {
  const spec = specOf(ingress);
  const rules = objectsAt(spec, 'rules');
  const backend = spec['defaultBackend'];
  if (rules.length === 0 && backend === undefined)
    yield invalid('spec', spec['rules'] ?? null, 'either `defaultBackend` or `rules` must be specified');
  if (isObject(backend)) yield* backendFaults('spec.defaultBackend', backend);
  for (const [i, rule] of rules.entries()) yield* ruleFaults(`spec.rules[${i}]`, rule);
  yield* certificateFaults(spec, old);
  const className = spec['ingressClassName'];
  if (typeof className === 'string')
    yield* invalidEach('spec.ingressClassName', className, dns1123Subdomain(className));
  const annotation = annotationOf(ingress);
  if (!old && typeof className === 'string' && annotation !== undefined && annotation !== className)
    yield invalid(
      `annotations.${classAnnotation}`,
      annotation,
      'must match `ingressClassName` when both are specified',
    );
}

/** Strategy of ingresses. */
export const ingressStrategy: Strategy = strategyOf(builtIn('ingresses', 'networking.k8s.io'), {
  faults,
  metadataChecks: ['changes', 'whole'],
  warnings: (ingress, old) =>
    !old && annotationOf(ingress) !== undefined && specOf(ingress)['ingressClassName'] === undefined
      ? [`annotation "${classAnnotation}" is deprecated, please use 'spec.ingressClassName' instead`]
      : [],
  status: {
    faults: ingressBalancerFaults,
    warnings: balancerWarnings,
  },
});
