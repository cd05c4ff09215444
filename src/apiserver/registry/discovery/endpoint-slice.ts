import { isIPv4, isIPv6 } from 'node:net';
import {
  duplicate,
  type Faults,
  type FieldError,
  invalid,
  invalidEach,
  required,
  tooMany,
  unsupported,
} from '../../../kube/validation/field-error.ts';
import {
  dns1123Label,
  dns1123Subdomain,
  labelValueRule,
  type NameRule,
  qualifiedNameRule,
} from '../../../kube/validation/name-rules.ts';
import { ipAddress, labels } from '../../../kube/validation/shared.ts';
import { canonicalIp } from '../../../kube/ip.ts';
import {
  type JsonObject,
  listAt,
  metadataOf,
  objectAt,
  objectsAt,
  sameJson,
  stringAt,
  textOf,
  without,
} from '../../../apimachinery/json.ts';
import { ownMember } from '../../../base/own.ts';
import { builtIn } from '../../../apimachinery/kinds.ts';
import { strategyOf } from '../kind-strategy.ts';
import type { Strategy } from '../strategy.ts';
import { canonicalAddress, ipWarnings, specialAddress } from '../validation/address-rules.ts';
import { immutable } from '../validation/value-rules.ts';

const addressTypes = ['FQDN', 'IPv4', 'IPv6'];
const protocols = ['SCTP', 'TCP', 'UDP'];
const most = { addresses: 100, ports: 20_000, endpoints: 1000, hints: 8 } as const;

function defaults(slice: JsonObject): JsonObject {
  const ports = objectsAt(slice, 'ports');
  return ports.length === 0
    ? slice
    : {
        ...slice,
        ports: ports.map((port) => ({
          ...port,
          name: port['name'] ?? '',
          protocol: port['protocol'] ?? 'TCP',
        })),
      };
}

function* typeFaults(type: string): Faults {
  if (type === '') yield required('addressType');
  else if (!addressTypes.includes(type)) yield unsupported('addressType', type, addressTypes);
}

function* portFaults(ports: readonly JsonObject[]): Faults {
  if (ports.length > most.ports) {
    yield tooMany('ports', ports.length, most.ports);
    return;
  }
  const names = new Set<string>();
  for (const [i, port] of ports.entries()) {
    const [field, name, protocol] = [`ports[${i}]`, stringAt(port, 'name'), textOf(port['protocol'])];
    if (name !== '') yield* invalidEach(`${field}.name`, name, dns1123Label(name));
    if (names.has(name)) yield duplicate(`${field}.name`, name);
    names.add(name);
    if (!protocols.includes(protocol)) yield unsupported(`${field}.protocol`, protocol, protocols);
    const application = port['appProtocol'];
    if (typeof application === 'string')
      yield* invalidEach(`${field}.appProtocol`, application, qualifiedNameRule(application));
  }
}

/** Validates a domain name of at least two labels. */
function* fullDomain(field: string, domain: string): Faults {
  if (domain === '') {
    yield required(field);
    return;
  }
  const name = domain.replace(/\.$/, '');
  const wrong = dns1123Subdomain(name);
  if (wrong.length > 0) yield invalid(field, name, wrong.join(','));
  else if (!name.includes('.'))
    yield invalid(field, name, 'should be a domain with at least two segments separated by dots');
  else {
    const long = name.split('.').find((label) => dns1123Label(label).length > 0);
    if (long !== undefined) yield invalid(field, long, dns1123Label(long).join(','));
  }
}

function* ipFaults(list: string, i: number, ip: string, version: 4 | 6): Faults {
  const field = `${list}[${i}]`;
  const wrong = [...(version === 6 ? canonicalAddress : ipAddress)(field, ip)];
  yield* wrong;
  if (wrong.length > 0) return;
  if (!(version === 4 ? isIPv4 : isIPv6)(canonicalIp(ip)))
    yield invalid(list, ip, `must be an IPv${version} address`);
  yield* specialAddress(field, ip);
}

function* addressFaults(field: string, addresses: readonly string[], type: string): Faults {
  if (addresses.length === 0) yield required(field, 'must contain at least 1 address');
  else if (addresses.length > most.addresses) yield tooMany(field, addresses.length, most.addresses);
  for (const [i, address] of addresses.entries())
    if (type === 'FQDN') yield* fullDomain(`${field}[${i}]`, address);
    else if (type === 'IPv4') yield* ipFaults(field, i, address, 4);
    else if (type === 'IPv6') yield* ipFaults(field, i, address, 6);
}

/** Validates hints of one kind. @param rule the rule of their names */
function* hintFaults(field: string, hints: readonly JsonObject[], rule: NameRule): Faults {
  const seen = new Set<string>();
  for (const [i, hint] of hints.entries()) {
    const name = stringAt(hint, 'name');
    if (seen.has(name)) yield duplicate(`${field}[${i}].name`, name);
    seen.add(name);
    yield* invalidEach(`${field}[${i}].name`, name, rule(name));
  }
}

function* allHints(field: string, hints: JsonObject): Faults {
  for (const [key, rule] of [
    ['forZones', labelValueRule],
    ['forNodes', dns1123Subdomain],
  ] as const) {
    const list = objectsAt(hints, key);
    if (list.length > most.hints) {
      yield tooMany(`${field}.${key}`, list.length, most.hints);
      return;
    }
    yield* hintFaults(`${field}.${key}`, list, rule);
  }
}

function* endpointFaults(endpoints: readonly JsonObject[], type: string): Faults {
  if (endpoints.length > most.endpoints) {
    yield tooMany('endpoints', endpoints.length, most.endpoints);
    return;
  }
  for (const [i, endpoint] of endpoints.entries()) {
    const field = `endpoints[${i}]`;
    yield* addressFaults(`${field}.addresses`, listAt(endpoint, 'addresses').map(textOf), type);
    const { nodeName, hostname } = endpoint;
    if (typeof nodeName === 'string')
      yield* invalidEach(`${field}.nodeName`, nodeName, dns1123Subdomain(nodeName));
    const topology = objectAt(endpoint, 'deprecatedTopology') as Readonly<Record<string, string>>;
    yield* labels(`${field}.deprecatedTopology`, topology);
    if (typeof hostname === 'string')
      yield* invalidEach(`${field}.hostname`, hostname, dns1123Label(hostname));
    yield* allHints(`${field}.hints`, objectAt(endpoint, 'hints'));
  }
}

/** Validates a slice. Follows Kubernetes `ValidateEndpointSlice` (pkg/apis/discovery/validation, v1.36). */
function* faults(slice: JsonObject, old: JsonObject | undefined): Faults {
  const type = stringAt(slice, 'addressType');
  yield* typeFaults(type);
  yield* portFaults(objectsAt(slice, 'ports'));
  const found: readonly FieldError[] = [...endpointFaults(objectsAt(slice, 'endpoints'), type)];
  // endpoints that older versions accepted may stay
  if (found.length > 0 && !(old && sameJson(slice['endpoints'], old['endpoints']))) yield* found;
  if (old) yield* immutable('addressType', type, stringAt(old, 'addressType'));
}

const byControllers = new Set([
  'endpointslice-controller.k8s.io',
  'endpointslicemirroring-controller.k8s.io',
]);

function warnings(slice: JsonObject, old: JsonObject | undefined): readonly string[] {
  const manager = textOf(
    ownMember(objectAt(metadataOf(slice), 'labels'), 'endpointslice.kubernetes.io/managed-by'),
  );
  const domains = !old && slice['addressType'] === 'FQDN';
  return [
    ...(domains ? ['spec.addressType: FQDN endpoints are deprecated'] : []),
    ...(byControllers.has(manager)
      ? []
      : objectsAt(slice, 'endpoints').flatMap((endpoint, i) =>
          listAt(endpoint, 'addresses').flatMap((address, j) =>
            ipWarnings(`endpoints[${i}].addresses[${j}]`, textOf(address)),
          ),
        )),
  ];
}

/** Drops the topology of endpoints, which this version only shows. */
function withoutTopology(slice: JsonObject, old: JsonObject | undefined): JsonObject {
  const endpoints = objectsAt(slice, 'endpoints');
  const unchanged = old && sameJson(slice['endpoints'], old['endpoints']);
  if (unchanged || endpoints.every((one) => one['deprecatedTopology'] === undefined)) return slice;
  return { ...slice, endpoints: endpoints.map((one) => without(one, 'deprecatedTopology')) };
}

/** Strategy of endpoint slices: changed labels count, too. */
export const endpointSliceStrategy: Strategy = strategyOf(builtIn('endpointslices', 'discovery.k8s.io'), {
  defaults,
  prepare: withoutTopology,
  counted: ({ metadata, ...rest }) => [rest, objectAt(metadata as JsonObject | undefined, 'labels')],
  faults,
  metadataChecks: ['whole'],
  warnings,
});
