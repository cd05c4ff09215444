import type { JsonObject } from './json.ts';
import { objectAt, objectsAt, stringAt } from './json.ts';
import { builtIn } from './kinds.ts';
import { fault, type FieldFault } from './status-error.ts';
import { commonStrategy, mainRules } from './strategies.ts';
import type { Strategy } from './strategy.ts';

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
const typeDefaults: Readonly<Record<string, JsonObject>> = {
  ExternalName: {},
  ClusterIP: { internalTrafficPolicy: 'Cluster' },
  NodePort: { internalTrafficPolicy: 'Cluster', externalTrafficPolicy: 'Cluster' },
  LoadBalancer: {
    internalTrafficPolicy: 'Cluster',
    externalTrafficPolicy: 'Cluster',
    allocateLoadBalancerNodePorts: true,
  },
};

function serviceDefaults(service: JsonObject): JsonObject {
  const given = objectAt(service, 'spec');
  const ports = portsOf(service);
  const spec = { ...given, type: stringAt(given, 'type') || 'ClusterIP', ...(ports.length > 0 && { ports }) };
  const defaults: JsonObject = {
    ...(typeDefaults[spec.type] ?? typeDefaults['ClusterIP']),
    sessionAffinity: 'None',
    ...(given['sessionAffinity'] === 'ClientIP' && {
      sessionAffinityConfig: { clientIP: { timeoutSeconds: 10_800 } },
    }),
  };
  const missing = Object.entries(defaults).filter(([key]) => given[key] === undefined || given[key] === '');
  return { ...service, spec: { ...spec, ...Object.fromEntries(missing) } };
}

const protocols = ['SCTP', 'TCP', 'UDP'];
const serviceTypes = ['ClusterIP', 'ExternalName', 'LoadBalancer', 'NodePort'];

function serviceFaults(service: JsonObject): FieldFault[] {
  const spec = objectAt(service, 'spec');
  const faults: FieldFault[] = [];
  const ports = objectsAt(spec, 'ports');
  const headless = spec['clusterIP'] === 'None';
  if (ports.length === 0 && !headless && spec['type'] !== 'ExternalName')
    faults.push(fault.required('spec.ports'));
  const names = new Set<string>();
  const seen = new Set<string>();
  ports.forEach((port, i) => {
    const at = `spec.ports[${i}]`;
    const name = stringAt(port, 'name');
    if (name === '' && ports.length > 1) faults.push(fault.required(`${at}.name`));
    else if (name !== '' && names.has(name)) faults.push(fault.duplicate(`${at}.name`, name));
    names.add(name);
    const number = Number(port['port']);
    if (number < 1 || number > 65_535)
      faults.push(fault.invalid(`${at}.port`, port['port'], 'must be between 1 and 65535, inclusive'));
    const target = port['targetPort'];
    if (typeof target === 'number' && (target < 1 || target > 65_535))
      faults.push(fault.invalid(`${at}.targetPort`, target, 'must be between 1 and 65535, inclusive'));
    const protocol = stringAt(port, 'protocol');
    if (!protocols.includes(protocol)) faults.push(fault.unsupported(`${at}.protocol`, protocol, protocols));
    const id = `${protocol}/${number}`;
    if (seen.has(id))
      faults.push(
        fault.duplicate(at, {
          Name: '',
          Protocol: protocol,
          AppProtocol: null,
          Port: number,
          TargetPort: 0,
          NodePort: 0,
        }),
      );
    seen.add(id);
  });
  const type = stringAt(spec, 'type');
  if (!serviceTypes.includes(type)) faults.push(fault.unsupported('spec.type', type, serviceTypes));
  return faults;
}

export const serviceStrategy: Strategy = {
  ...commonStrategy(services),
  defaults: serviceDefaults,
  validateCreate: serviceFaults,
  admitCreate(service, { world }) {
    const spec = objectAt(service, 'spec');
    if (spec['type'] === 'ExternalName' || serviceFaults(service).length > 0) return service;
    const wanted = stringAt(spec, 'clusterIP');
    const address = wanted === 'None' ? 'None' : world.services.allocate(wanted);
    const reachable = spec['type'] === 'NodePort' || spec['type'] === 'LoadBalancer';
    const ports = objectsAt(spec, 'ports').map((port) =>
      reachable
        ? { ...port, nodePort: world.services.nodePort(port['nodePort'] as number | undefined) }
        : port,
    );
    return {
      ...service,
      spec: {
        ...spec,
        ...(ports.length > 0 && { ports }),
        clusterIP: address,
        clusterIPs: [address],
        ipFamilies: ['IPv4'],
        ipFamilyPolicy: stringAt(spec, 'ipFamilyPolicy') || 'SingleStack',
      },
    };
  },
  main: {
    ...mainRules(services, true),
    prepare(service, old) {
      const [spec, before] = [objectAt(service, 'spec'), objectAt(old, 'spec')];
      const kept = ['clusterIP', 'clusterIPs', 'ipFamilies', 'ipFamilyPolicy'].filter(
        (key) => spec[key] === undefined,
      );
      return {
        ...service,
        spec: {
          ...spec,
          ...Object.fromEntries(
            kept.filter((key) => before[key] !== undefined).map((key) => [key, before[key]]),
          ),
        },
        status: old['status'],
      };
    },
    validate(service, old) {
      const [now, before] = [objectAt(service, 'spec')['clusterIP'], objectAt(old, 'spec')['clusterIP']];
      const moved =
        typeof before === 'string' &&
        before !== '' &&
        now !== before &&
        objectAt(service, 'spec')['type'] !== 'ExternalName';
      return [
        ...(moved ? [fault.invalid('spec.clusterIPs[0]', [now], 'may not change once set')] : []),
        ...serviceFaults(service),
      ];
    },
  },
};

const volumes = builtIn('persistentvolumes');
export const volumeStrategy: Strategy = {
  ...commonStrategy(volumes),
  defaults: (volume) => {
    const spec = objectAt(volume, 'spec');
    return {
      ...volume,
      spec: {
        ...spec,
        persistentVolumeReclaimPolicy: stringAt(spec, 'persistentVolumeReclaimPolicy') || 'Retain',
        volumeMode: stringAt(spec, 'volumeMode') || 'Filesystem',
      },
    };
  },
  prepareCreate: (volume) => ({ ...volume, status: { phase: 'Pending' } }),
};

const claims = builtIn('persistentvolumeclaims');
export const claimStrategy: Strategy = {
  ...commonStrategy(claims),
  defaults: (claim) => ({
    ...claim,
    spec: {
      ...objectAt(claim, 'spec'),
      volumeMode: stringAt(objectAt(claim, 'spec'), 'volumeMode') || 'Filesystem',
    },
  }),
  prepareCreate: (claim) => ({ ...claim, status: { phase: 'Pending' } }),
};

const priorities = builtIn('priorityclasses', 'scheduling.k8s.io');
export const priorityStrategy: Strategy = {
  ...commonStrategy(priorities),
  defaults: (one) => ({
    ...one,
    preemptionPolicy: stringAt(one, 'preemptionPolicy') || 'PreemptLowerPriority',
  }),
};
