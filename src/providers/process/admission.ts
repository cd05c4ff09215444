import { namespaceOf, nameOf } from '../../kube/names.ts';
import type { Container, Pod } from '../../kube/types.ts';
import type { ProviderAdmission } from '../../provider/powers.ts';
import { findImage, type HostImage } from './images.ts';
import { noCommandMessage } from './launch.ts';
import { securityFaults } from './admission-security.ts';
import { volumeFaults } from './admission-volumes.ts';

/** Properties of the host that admission depends on. */
export interface ProcessAdmissionHost {
  readonly images: ReadonlyMap<string, HostImage>;
  /** The agent's user id; only root may run containers as another user. */
  readonly uid: number;
  readonly gid: number;
  /** True when containers can have a terminal; default: false. */
  readonly hasTerminals?: boolean;
}

/** `status.reason` of a pod with settings that processes cannot have. */
export const unsupportedReason = 'UnsupportedByProcessProvider';
/** The kubelet's reason for conflicting host ports (its `NodePorts` predicate). */
export const portsReason = 'NodePorts';

/**
 * Decides whether a pod can run as plain processes of the host. All unsupported settings are named in one message; none is silently
 * ignored. Settings that are only not enforced (resource limits) give a warning.
 */
export function admitProcessPod(
  pod: Pod,
  others: readonly Pod[],
  host: ProcessAdmissionHost,
): ProviderAdmission {
  const faults = [
    ...podFaults(pod),
    ...containersOf(pod).flatMap((container) => containerFaults(container, host)),
    ...securityFaults(pod, host),
    ...volumeFaults(pod),
  ];
  if (faults.length > 0) return { admit: false, reason: unsupportedReason, message: faults.join('; ') };
  const clash = portClash(pod, others);
  if (clash !== undefined) return { admit: false, reason: portsReason, message: clash };
  const warnings = limitWarnings(pod);
  return { admit: true, ...(warnings.length > 0 && { warnings }) };
}

/** Returns init containers in order, then regular containers. */
export function containersOf(pod: Pod): readonly Container[] {
  return [...(pod.spec?.initContainers ?? []), ...(pod.spec?.containers ?? [])];
}

/** Returns pod-level settings that a process cannot have. */
function podFaults(pod: Pod): readonly string[] {
  const { spec } = pod;
  const checks: readonly (readonly [boolean, string])[] = [
    [(spec?.hostAliases ?? []).length > 0, "spec.hostAliases: /etc/hosts is the host's own"],
    [spec?.hostUsers === false, 'spec.hostUsers=false: there are no user namespaces'],
    [spec?.runtimeClassName !== undefined, 'spec.runtimeClassName: there are no runtime classes'],
    [spec?.dnsPolicy === 'None', "spec.dnsPolicy=None: /etc/resolv.conf is the host's own"],
    [(spec?.resourceClaims ?? []).length > 0, 'spec.resourceClaims: there are no devices to claim'],
    [spec?.os?.name === 'windows', 'spec.os.name=windows: the host runs Linux'],
  ];
  return checks.filter(([is]) => is).map(([, fault]) => fault);
}

function containerFaults(
  container: Container,
  { images, hasTerminals = false }: ProcessAdmissionHost,
): readonly string[] {
  const { name, image = '' } = container;
  const says = (fault: string): string => `container "${name}": ${fault}`;
  const mapped = findImage(images, image);
  const runs = (container.command ?? []).length > 0 || hasWords(mapped, container.args ?? []);
  const checks: readonly (readonly [boolean, string])[] = [
    [!runs, noCommandMessage(name, image, images)],
    [
      container.tty === true && !hasTerminals,
      says('tty: a terminal needs the programs script (bsdutils) and stty (coreutils) on the host'),
    ],
    [(container.volumeDevices ?? []).length > 0, says('volumeDevices: a process cannot have block devices')],
    ...(container.ports ?? []).flatMap((port) => [
      [
        port.hostPort !== undefined && port.hostPort !== port.containerPort,
        says(
          `hostPort ${port.hostPort ?? 0} differs from containerPort ${port.containerPort}: processes share the host's network, make them equal`,
        ),
      ] as const,
      [
        port.hostIP !== undefined && !isAnyAddress(port.hostIP),
        says(`hostIP ${port.hostIP ?? ''}: the process itself chooses the address that it listens on`),
      ] as const,
    ]),
  ];
  return checks.filter(([is]) => is).map(([, fault]) => fault);
}

function hasWords(image: HostImage | undefined, args: readonly string[]): boolean {
  if (!image) return false;
  return [...(image.entrypoint ?? []), ...(args.length > 0 ? args : (image.cmd ?? []))].length > 0;
}

function isAnyAddress(address: string): boolean {
  return address === '' || address === '0.0.0.0' || address === '::';
}

/** Returns all container ports, each of which is a port of the host. Those of init containers count too, as sidecars keep running. */
function portsOf(pod: Pod): ReadonlySet<string> {
  return new Set(
    containersOf(pod).flatMap((container) =>
      (container.ports ?? []).map(({ protocol, containerPort }) => `${protocol ?? 'TCP'} ${containerPort}`),
    ),
  );
}

function portClash(pod: Pod, others: readonly Pod[]): string | undefined {
  const ports = portsOf(pod);
  if (ports.size === 0) return undefined;
  for (const other of others) {
    const conflict = [...portsOf(other)].find((port) => ports.has(port));
    if (conflict === undefined) continue;
    return `port ${conflict} is declared by pod ${namespaceOf(other)}/${nameOf(other)} already; processes share the host's ports`;
  }
  return undefined;
}

function limitWarnings(pod: Pod): readonly string[] {
  return containersOf(pod).flatMap(({ name, resources }) => {
    const limits = Object.keys(resources?.limits ?? {});
    if (limits.length === 0) return [];
    return [`container "${name}": limits on ${limits.join(', ')} are not enforced by the process provider`];
  });
}
