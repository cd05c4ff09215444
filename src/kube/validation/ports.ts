import type { Container, Pod } from '../types.ts';
import { duplicate, type Faults, invalid, invalidEach, oneOf, required } from './field-error.ts';
import { portNameRule } from './name-rules.ts';
import { portNumber } from './shared.ts';

type Port = NonNullable<Container['ports']>[number];

/** Validates the ports of one container; names must be unique. */
export function* validatePorts(field: string, ports: readonly Port[]): Faults {
  const names = new Set<string>();
  for (const [i, { name = '', containerPort, hostPort = 0, protocol = '' }] of ports.entries()) {
    const at = `${field}[${i}]`;
    if (name !== '') yield* portName(`${at}.name`, name, names);
    const port = (containerPort as number | undefined) ?? 0;
    if (port === 0) yield required(`${at}.containerPort`);
    else yield* portNumber(`${at}.containerPort`, port);
    if (hostPort !== 0) yield* portNumber(`${at}.hostPort`, hostPort);
    if (protocol === '') yield required(`${at}.protocol`);
    else yield* oneOf(`${at}.protocol`, protocol, ['SCTP', 'TCP', 'UDP']);
  }
}

function* portName(field: string, name: string, names: Set<string>): Faults {
  const faults = portNameRule(name);
  yield* invalidEach(field, name, faults);
  if (faults.length > 0) return;
  if (names.has(name)) yield duplicate(field, name);
  names.add(name);
}

/** Rejects duplicate host ports. */
export function* validateUniqueHostPorts(field: string, containers: readonly Container[]): Faults {
  const used = new Set<string>();
  for (const [i, { ports = [] }] of containers.entries())
    for (const [j, { protocol = '', hostIP = '', hostPort = 0 }] of ports.entries()) {
      if (hostPort === 0) continue;
      const key = `${protocol}/${hostIP}/${hostPort}`;
      if (used.has(key)) yield duplicate(`${field}[${i}].ports[${j}].hostPort`, key);
      used.add(key);
    }
}

/**
 * Checks that host-network containers have hostPort = containerPort; init containers are not checked.
 *
 * @param portsRequired whether a host port may not be absent
 */
export function* validateHostNetworkPorts(pod: Pod, portsRequired = true): Faults {
  if (!(pod.spec?.hostNetwork ?? false)) return;
  for (const [i, { ports = [] }] of (pod.spec?.containers ?? []).entries())
    yield* hostPorts(`spec.containers[${i}].ports`, ports, portsRequired);
}

function* hostPorts(field: string, ports: readonly Partial<Port>[], portsRequired: boolean): Faults {
  for (const [i, { containerPort = 0, hostPort = 0 }] of ports.entries())
    if (hostPort !== containerPort && (portsRequired || hostPort !== 0))
      yield invalid(
        `${field}[${i}].hostPort`,
        hostPort,
        'must match `containerPort` when `hostNetwork` is true',
      );
}
