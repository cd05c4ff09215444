import { ownMember } from '../../../base/own.ts';
import {
  dns1123Label,
  dns1123Subdomain,
  labelValueRule,
  portNameRule,
  qualifiedNameRule,
} from '../../../kube/validation/name-rules.ts';
import { cidrFaults, ipFaults, ipWarnings, nonSpecialFaults } from './address-rules.ts';
import {
  type JsonObject,
  listAt,
  objectAt,
  objectsAt,
  specOf,
  stringAt,
  textOf,
  valueAt,
} from '../../../apimachinery/json.ts';
import { fault, type FieldFault } from '../../../apimachinery/status-error.ts';

const protocols = ['SCTP', 'TCP', 'UDP'];
const serviceTypes = ['ClusterIP', 'ExternalName', 'LoadBalancer', 'NodePort'];
const addressesOf = (spec: JsonObject): readonly string[] => listAt(spec, 'clusterIPs').map(textOf);
const portRule = 'must be between 1 and 65535, inclusive';
const isPort = (port: unknown): boolean => Number(port) >= 1 && Number(port) <= 65_535;

/** Reports whether a service has no cluster address. */
export const isHeadless = (service: JsonObject): boolean => addressesOf(specOf(service))[0] === 'None';

const isReachable = (spec: JsonObject): boolean =>
  ['NodePort', 'LoadBalancer'].includes(stringAt(spec, 'type')) ||
  (stringAt(spec, 'type') === 'ClusterIP' && listAt(spec, 'externalIPs').length > 0);
const needsHealthPort = (spec: JsonObject): boolean =>
  spec['type'] === 'LoadBalancer' && spec['externalTrafficPolicy'] === 'Local';

function oneOf(spec: JsonObject, key: string, values: readonly string[]): FieldFault[] {
  const value = stringAt(spec, key);
  if (value === '') return [fault.required(`spec.${key}`)];
  return values.includes(value) ? [] : [fault.unsupported(`spec.${key}`, value, values)];
}

function typeFaults(service: JsonObject): FieldFault[] {
  const spec = specOf(service);
  const type = stringAt(spec, 'type');
  const none = (what: string): FieldFault[] =>
    isHeadless(service)
      ? [fault.invalid('spec.clusterIPs[0]', 'None', `may not be set to 'None' for ${what} services`)]
      : [];
  const bare = listAt(spec, 'ports').length === 0 && !isHeadless(service) && type !== 'ExternalName';
  return [
    ...(bare ? [fault.required('spec.ports')] : []),
    ...(type === 'LoadBalancer' || type === 'NodePort' ? none(type) : []),
    ...(type === 'ExternalName' ? externalFaults(spec) : []),
  ];
}

/** Validates that an ExternalName service has no addresses. */
function externalFaults(spec: JsonObject): FieldFault[] {
  const name = stringAt(spec, 'externalName').replace(/\.$/, '');
  const present = ['clusterIPs', 'ipFamilies', 'ipFamilyPolicy'].filter(
    (key) => ownMember(spec, key) !== undefined,
  );
  return [
    ...present.map((key) => fault.forbidden(`spec.${key}`, 'may not be set for ExternalName services')),
    ...(name === ''
      ? [fault.required('spec.externalName')]
      : dns1123Subdomain(name).map((why) => fault.invalid('spec.externalName', name, why))),
  ];
}

function portFaults(spec: JsonObject): FieldFault[] {
  const ports = objectsAt(spec, 'ports');
  const names = new Set<string>();
  return ports.flatMap((port, i) => {
    const at = `spec.ports[${i}]`;
    const name = stringAt(port, 'name');
    const again = names.has(name);
    names.add(name);
    const protocol = stringAt(port, 'protocol');
    const app = port['appProtocol'];
    return [
      ...(name === ''
        ? ports.length > 1
          ? [fault.required(`${at}.name`)]
          : []
        : [
            ...dns1123Label(name).map((why) => fault.invalid(`${at}.name`, name, why)),
            ...(again ? [fault.duplicate(`${at}.name`, name)] : []),
          ]),
      ...(isPort(port['port']) ? [] : [fault.invalid(`${at}.port`, port['port'] ?? 0, portRule)]),
      ...(protocols.includes(protocol) ? [] : [fault.unsupported(`${at}.protocol`, protocol, protocols)]),
      ...targetFaults(port['targetPort'] ?? 0, `${at}.targetPort`),
      ...(typeof app === 'string'
        ? qualifiedNameRule(app).map((why) => fault.invalid(`${at}.appProtocol`, app, why))
        : []),
    ];
  });
}

function targetFaults(target: unknown, at: string): FieldFault[] {
  if (typeof target === 'string') return portNameRule(target).map((why) => fault.invalid(at, target, why));
  return isPort(target) ? [] : [fault.invalid(at, target, portRule)];
}

/** Validates that ports, in the cluster or on nodes, are unique. */
function repeatedPorts(spec: JsonObject): FieldFault[] {
  const ports = objectsAt(spec, 'ports');
  const again = (key: string): number[] => {
    const seen = new Set<string>();
    return ports.flatMap((port, i) => {
      const number = Number(ownMember(port, key) ?? 0);
      const which = `${stringAt(port, 'protocol')}/${number}`;
      const isRepeated = seen.has(which);
      seen.add(which);
      return isRepeated && (key === 'port' || number !== 0) ? [i] : [];
    });
  };
  const inCluster = spec['type'] === 'ClusterIP';
  return [
    ...ports.flatMap((port, i) =>
      inCluster && Number(port['nodePort'] ?? 0) !== 0
        ? [fault.forbidden(`spec.ports[${i}].nodePort`, "may not be used when `type` is 'ClusterIP'")]
        : [],
    ),
    ...again('nodePort').map((i) => fault.duplicate(`spec.ports[${i}].nodePort`, ports[i]?.['nodePort'])),
    ...again('port').map((i) =>
      fault.duplicate(`spec.ports[${i}]`, {
        Name: '',
        Protocol: stringAt(ports[i], 'protocol'),
        AppProtocol: null,
        Port: ports[i]?.['port'] ?? 0,
        TargetPort: 0,
        NodePort: 0,
      }),
    ),
  ];
}

const longestAffinity = 86_400;

function affinityFaults(spec: JsonObject): FieldFault[] {
  const kind = stringAt(spec, 'sessionAffinity');
  const at = 'spec.sessionAffinityConfig';
  const faults = oneOf(spec, 'sessionAffinity', ['ClientIP', 'None']);
  const timeout = valueAt(spec, 'sessionAffinityConfig', 'clientIP', 'timeoutSeconds');
  if (kind === 'None' && spec['sessionAffinityConfig'] !== undefined)
    faults.push(fault.forbidden(at, 'must not be set when session affinity is None'));
  if (kind !== 'ClientIP') return faults;
  const missing = ['', '.clientIP', '.clientIP.timeoutSeconds'].find(
    (path) => valueAt(spec, ...['sessionAffinityConfig', ...path.split('.').slice(1)]) === undefined,
  );
  if (missing !== undefined)
    faults.push(fault.required(`${at}${missing}`, 'when session affinity type is ClientIP'));
  else if (Number(timeout) <= 0 || Number(timeout) > longestAffinity)
    faults.push(
      fault.invalid(
        `${at}.clientIP.timeoutSeconds`,
        timeout,
        `must be greater than 0 and less than ${longestAffinity}`,
      ),
    );
  return faults;
}

const families = ['IPv4', 'IPv6'];
const familyPolicies = ['PreferDualStack', 'RequireDualStack', 'SingleStack'];

/** Validates the addresses of a service and their families. Follows Kubernetes `ValidateServiceClusterIPsRelatedFields`. */
export function addressFaults(service: JsonObject): FieldFault[] {
  const spec = specOf(service);
  if (spec['type'] === 'ExternalName') return [];
  const [first, all] = [stringAt(spec, 'clusterIP'), addressesOf(spec)];
  const at = 'spec.clusterIPs';
  const faults: FieldFault[] = [];
  if (first !== '' && all.length === 0) faults.push(fault.required(at));
  else if (first !== '' && all[0] !== first)
    faults.push(fault.invalid(at, all, 'first value must match `clusterIP`'));
  else if (first === '' && all.length > 0)
    faults.push(fault.invalid(at, all, 'must be empty when `clusterIP` is not specified'));
  const ipFamilies = listAt(spec, 'ipFamilies').map(textOf);
  ipFamilies.forEach((family, i) => {
    if (!families.includes(family)) faults.push(fault.unsupported(`spec.ipFamilies[${i}]`, family, families));
    if (ipFamilies.indexOf(family) < i) faults.push(fault.duplicate(`spec.ipFamilies[${i}]`, family));
  });
  if (spec['ipFamilyPolicy'] !== undefined) faults.push(...oneOf(spec, 'ipFamilyPolicy', familyPolicies));
  return [...faults, ...listFaults(all, ipFamilies)];
}

function listFaults(all: readonly string[], ipFamilies: readonly string[]): FieldFault[] {
  const at = 'spec.clusterIPs';
  if (all[0] === 'None')
    return all.length > 1 ? [fault.invalid(at, all, "'None' must be the first and only value")] : [];
  const wrong = all.flatMap((ip, i) => ipFaults(`${at}[${i}]`, ip));
  const many = all.length > 2 ? [fault.invalid(at, all, 'may only hold up to 2 values')] : [];
  if (wrong.length > 0) return [...wrong, ...many];
  const familyOf = (ip: string): string => (ip.includes(':') ? 'IPv6' : 'IPv4');
  const alike = all.length > 1 && new Set(all.map(familyOf)).size < 2;
  return [
    ...many,
    ...(alike ? [fault.invalid(at, all, 'may specify no more than one IP for each IP family')] : []),
    ...all.flatMap((ip, i) => {
      const family = ipFamilies[i];
      return family !== undefined && families.includes(family) && family !== familyOf(ip)
        ? [
            fault.invalid(
              `${at}[${i}]`,
              ip,
              `expected an ${family} value as indicated by \`ipFamilies[${i}]\``,
            ),
          ]
        : [];
    }),
  ];
}

const onlyBalanced = "may only be used when `type` is 'LoadBalancer'";
const rangesAnnotation = 'service.beta.kubernetes.io/load-balancer-source-ranges';

/** Validates the load balancer's source ranges; an annotation is the old form. */
function rangeFaults(service: JsonObject): FieldFault[] {
  const spec = specOf(service);
  const balanced = spec['type'] === 'LoadBalancer';
  const ranges = listAt(spec, 'loadBalancerSourceRanges').map((range) => textOf(range).trim());
  const field = 'spec.LoadBalancerSourceRanges';
  if (ranges.length > 0)
    return [
      ...(balanced ? [] : [fault.forbidden(field, onlyBalanced)]),
      ...ranges.flatMap((range, i) => cidrFaults(`${field}[${i}]`, range)),
    ];
  const annotation = valueAt(service, 'metadata', 'annotations', rangesAnnotation);
  if (annotation === undefined) return [];
  const at = `metadata.annotations[${rangesAnnotation}]`;
  if (!balanced) return [fault.forbidden(at, onlyBalanced)];
  const text = textOf(annotation).trim();
  return text === '' ? [] : text.split(',').flatMap((range) => cidrFaults(at, range.trim()));
}

/** Returns warnings about a valid service. Follows Kubernetes `GetWarningsForService`. */
export function serviceWarnings(service: JsonObject): string[] {
  const spec = specOf(service);
  const text = (key: string): string => stringAt(spec, key);
  const outside = listAt(spec, 'externalIPs').map(textOf);
  const [named, headless] = [text('type') === 'ExternalName', text('clusterIP') === 'None'];
  const hints = 'service.kubernetes.io/topology-aware-hints';
  const when = (is: boolean, ...all: readonly string[]): readonly string[] => (is ? all : []);
  return [
    ...when(
      valueAt(service, 'metadata', 'annotations', hints) !== undefined,
      `annotation ${hints} is deprecated, please use service.kubernetes.io/topology-mode instead`,
    ),
    ...when(
      headless && text('loadBalancerIP') !== '',
      'spec.loadBalancerIP is ignored for headless services',
    ),
    ...when(headless && outside.length > 0, 'spec.externalIPs is ignored for headless services'),
    ...when(
      headless && text('sessionAffinity') !== 'None',
      'spec.SessionAffinity is ignored for headless services',
    ),
    ...outside.flatMap((ip, i) => ipWarnings(`spec.externalIPs[${i}]`, ip)),
    ...when(
      outside.length > 0 && !headless && !named,
      'spec.externalIPs is deprecated and may no longer be implemented in some clusters',
    ),
    ...ipWarnings('spec.loadBalancerIP', text('loadBalancerIP')),
    ...when(named && outside.length > 0, 'spec.externalIPs is ignored when spec.type is "ExternalName"'),
    ...when(
      !named && text('externalName') !== '',
      'spec.externalName is ignored when spec.type is not "ExternalName"',
    ),
    ...when(
      text('trafficDistribution') === 'PreferClose',
      'spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"',
    ),
  ];
}

function balancerFaults(spec: JsonObject): FieldFault[] {
  const balanced = spec['type'] === 'LoadBalancer';
  const allocates = spec['allocateLoadBalancerNodePorts'];
  return [
    ...(allocates !== undefined && !balanced
      ? [fault.forbidden('spec.allocateLoadBalancerNodePorts', onlyBalanced)]
      : []),
    ...(balanced && allocates === undefined ? [fault.required('allocateLoadBalancerNodePorts')] : []),
    ...classFaults(spec),
  ];
}

/** Validates the load balancer class. */
function classFaults(spec: JsonObject): FieldFault[] {
  const name = spec['loadBalancerClass'];
  const field = 'spec.loadBalancerClass';
  if (typeof name !== 'string') return [];
  if (spec['type'] !== 'LoadBalancer') return [fault.forbidden(field, onlyBalanced)];
  return qualifiedNameRule(name).map((why) => fault.invalid(field, name, why));
}

function trafficFaults(spec: JsonObject): FieldFault[] {
  const [external, health] = [
    stringAt(spec, 'externalTrafficPolicy'),
    Number(spec['healthCheckNodePort'] ?? 0),
  ];
  const faults: FieldFault[] = [];
  if (isReachable(spec)) faults.push(...oneOf(spec, 'externalTrafficPolicy', ['Cluster', 'Local']));
  else if (external !== '')
    faults.push(
      fault.invalid(
        'spec.externalTrafficPolicy',
        external,
        'may only be set for externally-accessible services',
      ),
    );
  const at = 'spec.healthCheckNodePort';
  if (!needsHealthPort(spec) && health !== 0)
    faults.push(
      fault.invalid(
        at,
        health,
        "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'",
      ),
    );
  else if (needsHealthPort(spec) && health === 0) faults.push(fault.required(at));
  if (spec['internalTrafficPolicy'] !== undefined)
    faults.push(...oneOf(spec, 'internalTrafficPolicy', ['Cluster', 'Local']));
  if (spec['trafficDistribution'] !== undefined)
    faults.push(...oneOf(spec, 'trafficDistribution', ['PreferClose', 'PreferSameZone', 'PreferSameNode']));
  return faults;
}

const selectorFaults = (spec: JsonObject): FieldFault[] =>
  Object.entries(objectAt(spec, 'selector')).flatMap(([key, value]) => [
    ...qualifiedNameRule(key).map((why) => fault.invalid('spec.selector', key, why)),
    ...labelValueRule(textOf(value)).map((why) => fault.invalid('spec.selector', value, why)),
  ]);

function outsideFaults(field: string, ip: string): FieldFault[] {
  const faults = ipFaults(field, ip);
  return faults.length > 0 ? faults : nonSpecialFaults(field, ip);
}

/** Validates a service with its defaults. Follows Kubernetes `ValidateService` (pkg/apis/core/validation, v1.36). */
export function serviceFaults(service: JsonObject): FieldFault[] {
  const spec = specOf(service);
  const outside = listAt(spec, 'externalIPs').map(textOf);
  return [
    ...typeFaults(service),
    ...portFaults(spec),
    ...selectorFaults(spec),
    ...affinityFaults(spec),
    ...addressFaults(service),
    ...outside.flatMap((ip, i) => outsideFaults(`spec.externalIPs[${i}]`, ip)),
    ...oneOf(spec, 'type', serviceTypes),
    ...repeatedPorts(spec),
    ...rangeFaults(service),
    ...balancerFaults(spec),
    ...trafficFaults(spec),
  ];
}

/** Validates that the first address and its family do not change once set. */
function movedFaults(service: JsonObject, old: JsonObject): FieldFault[] {
  const [spec, before] = [specOf(service), specOf(old)];
  if ([spec, before].some((one) => one['type'] === 'ExternalName')) return [];
  const headless = [service, old].filter(isHeadless).length;
  if (headless === 2) return [];
  const first = (key: string, unset: string): FieldFault[] => {
    const [now, had] = [listAt(spec, key), listAt(before, key)];
    const at = `spec.${key}[0]`;
    if (had.length === 0 || now[0] === had[0]) return [];
    return [
      now.length === 0 ? fault.invalid(at, null, unset) : fault.invalid(at, now, 'may not change once set'),
    ];
  };
  return [
    ...first('clusterIPs', 'primary clusterIP can not be unset'),
    ...(headless > 0 ? [] : first('ipFamilies', 'primary ipFamily can not be unset')),
  ];
}

/** Validates an update of a service. Follows Kubernetes `ValidateServiceUpdate`. */
export function serviceUpdateFaults(service: JsonObject, old: JsonObject): FieldFault[] {
  const [spec, before] = [specOf(service), specOf(old)];
  const faults = movedFaults(service, old);
  const [name, hadName] = [spec['loadBalancerClass'], before['loadBalancerClass']];
  const balanced = [spec, before].every((one) => one['type'] === 'LoadBalancer');
  if (balanced && name !== hadName)
    faults.push(fault.invalid('spec.loadBalancerClass', name ?? null, 'may not change once set'));
  faults.push(...classFaults(spec)); // an update checks it twice
  const checked = needsHealthPort(spec) && needsHealthPort(before);
  if (checked && spec['healthCheckNodePort'] !== before['healthCheckNodePort'])
    faults.push(fault.forbidden('spec.healthCheckNodePort', 'field is immutable'));
  return [...faults, ...serviceFaults(service)];
}
