import { namespaceOf, nameOf } from '../../kube/names.ts';
import type { Container, Pod } from '../../kube/types.ts';
import type { ProviderAdmission } from '../../provider/powers.ts';
import { findImage, type HostImage } from './images.ts';
import { noCommandMessage } from './launch.ts';
import { securityFaults } from './admission-security.ts';
import { volumeFaults } from './admission-volumes.ts';

/** What admission must know of the host. */
export interface ProcessAdmissionHost {
  readonly images: ReadonlyMap<string, HostImage>;
  /** Of the agent; only root may run containers as someone else. */
  readonly uid: number;
  readonly gid: number;
  /** Whether containers can have a terminal; default: no. */
  readonly hasTerminals?: boolean;
}

/** The `status.reason` of a pod that asks for what processes cannot give. */
export const unsupportedReason = 'UnsupportedByProcessProvider';
/** Kubelet's reason for ports that are taken (its `NodePorts` predicate). */
export const portsReason = 'NodePorts';

/**
 * May this pod run as plain processes of the host? Whatever cannot be honoured is named, all of it at once; nothing is silently
 * dropped. What is merely not enforced (resource limits) is a warning.
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

/** Init containers first, in the order they run. */
export function containersOf(pod: Pod): readonly Container[] {
  return [...(pod.spec?.initContainers ?? []), ...(pod.spec?.containers ?? [])];
}

/** What a whole pod can ask for that a process has no place for. */
function podFaults(pod: Pod): readonly string[] {
  const { spec } = pod;
  const asked: readonly (readonly [boolean, string])[] = [
    [(spec?.hostAliases ?? []).length > 0, "spec.hostAliases: /etc/hosts is the host's own"],
    [spec?.hostUsers === false, 'spec.hostUsers=false: there are no user namespaces'],
    [spec?.runtimeClassName !== undefined, 'spec.runtimeClassName: there are no runtime classes'],
    [spec?.dnsPolicy === 'None', "spec.dnsPolicy=None: /etc/resolv.conf is the host's own"],
    [(spec?.resourceClaims ?? []).length > 0, 'spec.resourceClaims: there are no devices to claim'],
    [spec?.os?.name === 'windows', 'spec.os.name=windows: the host runs Linux'],
  ];
  return asked.filter(([is]) => is).map(([, fault]) => fault);
}

function containerFaults(
  container: Container,
  { images, hasTerminals = false }: ProcessAdmissionHost,
): readonly string[] {
  const { name, image = '' } = container;
  const says = (fault: string): string => `container "${name}": ${fault}`;
  const mapped = findImage(images, image);
  const runs = (container.command ?? []).length > 0 || hasWords(mapped, container.args ?? []);
  const asked: readonly (readonly [boolean, string])[] = [
    [!runs, noCommandMessage(name, image, images)],
    [
      container.tty === true && !hasTerminals,
      says('tty: a terminal needs the programs script (bsdutils) and stty (coreutils) on the host'),
    ],
    [
      (container.volumeDevices ?? []).length > 0,
      says('volumeDevices: block devices cannot be given to a process'),
    ],
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
  return asked.filter(([is]) => is).map(([, fault]) => fault);
}

function hasWords(image: HostImage | undefined, args: readonly string[]): boolean {
  if (!image) return false;
  return [...(image.entrypoint ?? []), ...(args.length > 0 ? args : (image.cmd ?? []))].length > 0;
}

function isAnyAddress(address: string): boolean {
  return address === '' || address === '0.0.0.0' || address === '::';
}

/** Every declared port of a pod is a port of the host. Init containers that end before the others count too: sidecars stay. */
function portsOf(pod: Pod): ReadonlySet<string> {
  return new Set(
    containersOf(pod).flatMap((container) =>
      (container.ports ?? []).map(({ protocol, containerPort }) => `${protocol ?? 'TCP'} ${containerPort}`),
    ),
  );
}

function portClash(pod: Pod, others: readonly Pod[]): string | undefined {
  const wanted = portsOf(pod);
  if (wanted.size === 0) return undefined;
  for (const other of others) {
    const taken = [...portsOf(other)].find((port) => wanted.has(port));
    if (taken === undefined) continue;
    return `port ${taken} is declared by pod ${namespaceOf(other)}/${nameOf(other)} already; processes share the host's ports`;
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
