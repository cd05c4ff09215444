import { validateMetadataUpdate } from '../metadata-rules.ts';
import { ownMember, tableOf } from '../../../base/own.ts';
import {
  type JsonObject,
  listAt,
  nameOf,
  objectAt,
  objectsAt,
  sameJson,
  specOf,
  statusOf,
  stringAt,
  valueAt,
  without,
  withSpec,
} from '../../../apimachinery/json.ts';
import { builtIn } from '../../../apimachinery/kinds.ts';
import {
  addressFaults,
  serviceFaults,
  serviceUpdateFaults,
  serviceWarnings,
} from '../validation/service-validation.ts';
import { balancersOf, balancerWarnings, serviceBalancerFaults } from '../validation/balancer-rules.ts';
import { causeOf, fault, type FieldFault, invalid } from '../../../apimachinery/status-error.ts';
import { commonStrategy, mainRules, specPaths } from '../strategies.ts';
import type { Strategy } from '../strategy.ts';
import type { WriteContext } from '../../request/write-context.ts';

const services = builtIn('services');

function portsOf(service: JsonObject): JsonObject[] {
  return objectsAt(objectAt(service, 'spec'), 'ports').map((port) => ({
    ...port,
    protocol: stringAt(port, 'protocol') || 'TCP',
    targetPort:
      port['targetPort'] === undefined || port['targetPort'] === '' || port['targetPort'] === 0
        ? port['port']
        : port['targetPort'],
  }));
}

/** Members whose default depends on the type of the service. */
const typeDefaults: Readonly<Record<string, JsonObject>> = tableOf({
  ExternalName: {},
  ClusterIP: { internalTrafficPolicy: 'Cluster' },
  NodePort: { internalTrafficPolicy: 'Cluster', externalTrafficPolicy: 'Cluster' },
  LoadBalancer: {
    internalTrafficPolicy: 'Cluster',
    externalTrafficPolicy: 'Cluster',
    allocateLoadBalancerNodePorts: true,
  },
});

function serviceDefaults(service: JsonObject): JsonObject {
  const original = objectAt(service, 'spec');
  const ports = portsOf(service);
  const spec = {
    ...original,
    type: stringAt(original, 'type') || 'ClusterIP',
    ...(ports.length > 0 && { ports }),
  };
  const defaults: JsonObject = {
    ...(typeDefaults[spec.type] ?? typeDefaults['ClusterIP']),
    ...(spec.type === 'ClusterIP' &&
      listAt(original, 'externalIPs').length > 0 && { externalTrafficPolicy: 'Cluster' }),
    sessionAffinity: 'None',
  };
  const missing = Object.entries(defaults).filter(
    ([key]) => ownMember(original, key) === undefined || ownMember(original, key) === '',
  );
  const filled = { ...service, spec: withAffinity({ ...spec, ...Object.fromEntries(missing) }) };
  return spec.type === 'LoadBalancer' && balancersOf(service).length > 0 ? withModes(filled) : filled;
}

/** Sets how the traffic for the addresses of load balancers is delivered, by default as to a virtual address. */
function withModes(service: JsonObject): JsonObject {
  const ingress = balancersOf(service).map((one) =>
    stringAt(one, 'ip') === '' || one['ipMode'] !== undefined ? one : { ...one, ipMode: 'VIP' },
  );
  const status = statusOf(service);
  return {
    ...service,
    status: { ...status, loadBalancer: { ...objectAt(status, 'loadBalancer'), ingress } },
  };
}

/** Sets the default session affinity timeout of three hours; drops the configuration when affinity is None. */
function withAffinity(spec: JsonObject): JsonObject {
  const hasTimeout = valueAt(spec, 'sessionAffinityConfig', 'clientIP', 'timeoutSeconds') !== undefined;
  if (spec['sessionAffinity'] === 'None') return without(spec, 'sessionAffinityConfig');
  return hasTimeout || spec['sessionAffinity'] !== 'ClientIP'
    ? spec
    : { ...spec, sessionAffinityConfig: { clientIP: { timeoutSeconds: 10_800 } } };
}

/** @throws {StatusError} 422 */
function refuse(service: JsonObject, faults: readonly FieldFault[]): void {
  if (faults.length > 0) throw invalid('Service', undefined, nameOf(service), faults);
}

/** Sets `clusterIPs` from `clusterIP`. */
function withBothAddresses(service: JsonObject): JsonObject {
  const spec = specOf(service);
  const first = stringAt(spec, 'clusterIP');
  return first !== '' && listAt(spec, 'clusterIPs').length === 0
    ? withSpec(service, { clusterIPs: [first] })
    : service;
}

/**
 * Sets the IP families of a service. A headless service without a selector is dual-stack by default; otherwise there is one family here.
 *
 * Follows `initIPFamilyFields` (pkg/registry/core/service/storage). @throws {StatusError} 422
 */
function withFamilies(service: JsonObject): JsonObject {
  const spec = specOf(service);
  const open = spec['clusterIP'] === 'None' && Object.keys(objectAt(spec, 'selector')).length === 0;
  const policy = stringAt(spec, 'ipFamilyPolicy') || (open ? 'RequireDualStack' : 'SingleStack');
  const chosen = withSpec(service, { ipFamilyPolicy: policy });
  refuse(chosen, addressFaults(chosen));
  refuse(chosen, policy === 'SingleStack' ? tooMany(chosen) : []);
  const [first = 'IPv4', ...more] = listAt(spec, 'ipFamilies');
  if (!open) {
    refuse(chosen, beyondCluster(chosen));
    return withSpec(chosen, { ipFamilies: [first, ...more] });
  }
  const other = policy === 'SingleStack' || more.length > 0 ? more : [first === 'IPv4' ? 'IPv6' : 'IPv4'];
  return withSpec(chosen, { ipFamilies: [first, ...other] });
}

const policyField = 'spec.ipFamilyPolicy';

/** Rejects several families of a single-stack service. */
function tooMany(service: JsonObject): FieldFault[] {
  const spec = specOf(service);
  const several = (key: string, what: string): FieldFault[] =>
    listAt(spec, key).length > 1
      ? [
          fault.invalid(
            policyField,
            spec['ipFamilyPolicy'],
            `must be 'RequireDualStack' or 'PreferDualStack' when multiple ${what} are specified`,
          ),
        ]
      : [];
  return [...several('clusterIPs', 'cluster IPs'), ...several('ipFamilies', 'IP families')];
}

/** Rejects families that this single-stack cluster does not have. */
function beyondCluster(service: JsonObject): FieldFault[] {
  const spec = specOf(service);
  const both = spec['ipFamilyPolicy'] === 'RequireDualStack';
  return [
    ...(both
      ? [
          fault.invalid(
            policyField,
            'RequireDualStack',
            'this cluster is not configured for dual-stack services',
          ),
        ]
      : []),
    ...listAt(spec, 'ipFamilies').flatMap((family, i) =>
      family === 'IPv4'
        ? []
        : [fault.invalid(`spec.ipFamilies[${i}]`, family, 'not configured on this cluster')],
    ),
  ];
}

/**
 * Allocates the addresses and ports that a service requests, or any free ones, before the rest is validated. @throws {StatusError} 422
 * when one is not available
 */
function allocated(service: JsonObject, { world }: WriteContext): JsonObject {
  if (specOf(service)['type'] === 'ExternalName') return service;
  const next = withFamilies(service);
  const spec = specOf(next);
  const name = nameOf(service);
  const requested = stringAt(spec, 'clusterIP');
  const address = requested === 'None' ? 'None' : world.services.allocate(name, requested);
  const balanced = spec['type'] === 'LoadBalancer';
  const byNodes =
    spec['type'] === 'NodePort' || (balanced && spec['allocateLoadBalancerNodePorts'] !== false);
  const ports = objectsAt(spec, 'ports').map((port) =>
    byNodes || (balanced && Number(port['nodePort'] ?? 0) !== 0)
      ? { ...port, nodePort: world.services.nodePort(name, port['nodePort'] as number | undefined) }
      : port,
  );
  const health = healthPort(spec) === undefined ? undefined : spec['healthCheckNodePort'];
  return withSpec(next, {
    ...(ports.length > 0 && { ports }),
    clusterIP: address,
    clusterIPs: [address],
    ...(healthPort(spec) !== undefined && {
      healthCheckNodePort: world.services.nodePort(name, Number(health ?? 0), 'health'),
    }),
  });
}

/** Returns any port for services with a health check node port. */
const healthPort = (spec: JsonObject): number | undefined =>
  spec['type'] === 'LoadBalancer' && spec['externalTrafficPolicy'] === 'Local' ? 30_000 : undefined;

const addressKeys = ['clusterIP', 'clusterIPs', 'ipFamilies', 'ipFamilyPolicy'];

/** Keeps allocated addresses and ports that a writer leaves out, as long as the service's type has them. */
function withAllocated(service: JsonObject, old: JsonObject): JsonObject {
  const [spec, before] = [specOf(service), specOf(old)];
  if (spec['type'] === 'ExternalName') {
    const same = before['type'] !== 'ExternalName';
    const gone = addressKeys.filter((key) => same && sameJson(ownMember(spec, key), ownMember(before, key)));
    return withSpec(withPorts(service, old), Object.fromEntries(gone.map((key) => [key, undefined])));
  }
  const dropped = addressKeys.filter(
    (key) => ownMember(spec, key) === undefined && ownMember(before, key) !== undefined,
  );
  const standing = before['type'] === 'ExternalName' ? [] : dropped;
  return withBothAddresses(
    withPorts(
      withSpec(service, Object.fromEntries(standing.map((key) => [key, ownMember(before, key)]))),
      old,
    ),
  );
}

/** Drops node ports for types without them, and keeps them otherwise. */
function withPorts(service: JsonObject, old: JsonObject): JsonObject {
  const byNodes = (spec: JsonObject): boolean =>
    ['NodePort', 'LoadBalancer'].includes(stringAt(spec, 'type'));
  const [now, before] = [specOf(service), specOf(old)];
  const had = objectsAt(before, 'ports');
  const ports = objectsAt(now, 'ports').map((port) => {
    const same = had.find(
      (other) => other['port'] === port['port'] && other['protocol'] === port['protocol'],
    );
    const { nodePort, ...rest } = port;
    if (!byNodes(now)) return byNodes(before) && nodePort === same?.['nodePort'] ? rest : port;
    return nodePort === undefined && same?.['nodePort'] !== undefined
      ? { ...port, nodePort: same['nodePort'] }
      : port;
  });
  const dropped = byNodes(before) && !byNodes(now);
  const balancer = before['type'] === 'LoadBalancer' && now['type'] !== 'LoadBalancer';
  const unless = (key: string, gone: boolean): JsonObject =>
    gone && sameJson(ownMember(now, key), ownMember(before, key)) ? { [key]: undefined } : {};
  return withSpec(service, {
    ...(ports.length > 0 && { ports }),
    ...unless('externalTrafficPolicy', dropped && listAt(now, 'externalIPs').length === 0),
    ...unless('healthCheckNodePort', balancer),
    ...unless('internalTrafficPolicy', now['type'] === 'ExternalName' && before['type'] !== 'ExternalName'),
    ...unless('allocateLoadBalancerNodePorts', balancer),
    ...unless('loadBalancerClass', balancer),
  });
}

/** Strategy of services: the server allocates addresses and node ports, which stay. */
export const serviceStrategy: Strategy = {
  ...commonStrategy(services),
  defaults: serviceDefaults,
  validateCreate: serviceFaults,
  allocate: (service, context) => allocated(withBothAddresses(service), context),
  beforeStore: (service, { world }) => world.services.claim?.(service),
  warnings: serviceWarnings,
  main: {
    ...mainRules(services, true),
    prepare: (service, old) => ({ ...withAllocated(service, old), status: old['status'] }),
    allocate(service, old, context) {
      const even = evened(service, old);
      refuse(even, addressFaults(even));
      return reallocated(even, old, context);
    },
    validatesMetadata: true,
    validate: (service, old) => [
      ...validateMetadataUpdate(service, old, services),
      ...serviceUpdateFaults(service, old),
    ],
    warnings: serviceWarnings,
  },
  subresources: {
    status: {
      reset: specPaths(services.type),
      prepare: (service, old) => ({ ...service, spec: old['spec'] }),
      validate: (service, old) => [...serviceBalancerFaults(service, old)].map(causeOf),
      warnings: balancerWarnings,
    },
  },
};

/** Applies a change of `clusterIP` to the first of `clusterIPs`. Follows Kubernetes `NormalizeClusterIPs`. */
function evened(service: JsonObject, old: JsonObject): JsonObject {
  const [spec, before] = [specOf(service), specOf(old)];
  const [now, had] = [stringAt(spec, 'clusterIP'), stringAt(before, 'clusterIP')];
  const all = listAt(spec, 'clusterIPs');
  if (now === '' || had === '' || now === had || !sameJson(all, listAt(before, 'clusterIPs'))) return service;
  return withSpec(service, { clusterIPs: [now, ...all.slice(1)] });
}

/** Allocates what the new type of a service needs. */
function reallocated(service: JsonObject, old: JsonObject, { world }: WriteContext): JsonObject {
  const [spec, before] = [specOf(service), specOf(old)];
  if (
    spec['type'] === 'ExternalName' ||
    serviceUpdateFaults(service, old).some(({ field }) => !field.includes('healthCheckNodePort'))
  )
    return service;
  const name = nameOf(service);
  const address =
    stringAt(spec, 'clusterIP') || (before['type'] === 'ExternalName' ? world.services.allocate(name) : '');
  const ports = objectsAt(spec, 'ports').map((port) =>
    ['NodePort', 'LoadBalancer'].includes(stringAt(spec, 'type')) &&
    spec['allocateLoadBalancerNodePorts'] !== false &&
    Number(port['nodePort'] ?? 0) === 0
      ? { ...port, nodePort: world.services.nodePort(name) }
      : port,
  );
  const next = withSpec(service, {
    ...(ports.length > 0 && { ports }),
    ...(address !== '' && { clusterIP: address, clusterIPs: [address] }),
    ...(healthPort(spec) !== undefined &&
      spec['healthCheckNodePort'] === undefined && { healthCheckNodePort: world.services.nodePort(name) }),
  });
  return spec['ipFamilies'] === undefined ? withFamilies(next) : next;
}
