import { posix } from 'node:path';
import type { Container, Pod, Volume } from '../../kube/types.ts';

/** Annotation that says how a pod finds its mounts: below `$PODTENDER_ROOT` or by `$PODTENDER_MOUNT_…`. */
export const mountsAnnotation = 'podtender.io/mounts';

/** Volume kinds whose files the agent writes. */
const payloads = ['configMap', 'secret', 'downwardAPI', 'projected'] as const;
const kinds = [...payloads, 'emptyDir', 'hostPath'] as const;

type Mount = NonNullable<Container['volumeMounts']>[number];

/**
 * Returns settings of a pod's volumes that a process cannot have. A process sees the host's file system, so a mount is supported only
 * at its own host path (`hostPath`), or with the annotation {@link mountsAnnotation} `relative`, which says that the pod looks for it
 * below its root directory.
 */
export function volumeFaults(pod: Pod): readonly string[] {
  const volumes = new Map((pod.spec?.volumes ?? []).map((volume) => [volume.name, volume]));
  const relative = pod.metadata?.annotations?.[mountsAnnotation] === 'relative';
  const containers = [...(pod.spec?.initContainers ?? []), ...(pod.spec?.containers ?? [])];
  return [
    ...[...volumes.values()].flatMap(kindFaults),
    ...containers.flatMap(({ name, volumeMounts = [] }) =>
      volumeMounts.flatMap((mount) =>
        mountFaults(mount, volumes.get(mount.name), relative).map((fault) => `container "${name}": ${fault}`),
      ),
    ),
  ];
}

function kindFaults(volume: Volume): readonly string[] {
  if (kinds.some((kind) => volume[kind] !== undefined)) return [];
  const { name, ...source } = volume;
  const kind = Object.keys(source)[0] ?? 'no kind';
  return [`volume "${name}": the process provider has no ${kind}; there are ${kinds.join(', ')}`];
}

function mountFaults(mount: Mount, volume: Volume | undefined, relative: boolean): readonly string[] {
  const { name, mountPath, readOnly, mountPropagation = 'None' } = mount;
  const isPayload = payloads.some((kind) => volume?.[kind] !== undefined);
  const where = `mount of "${name}" at ${mountPath}`;
  return [
    ...(mountPath.split('/').includes('..') ? [`${where}: ".." in a mountPath is refused`] : []),
    ...(relative || isHostPath(mount, volume) || isApiToken(mount)
      ? []
      : [
          `${where}: processes see the host's file system, so nothing can be put there; mount a hostPath at its own path, ` +
            `or annotate the pod with ${mountsAnnotation}: relative and look below $PODTENDER_ROOT`,
        ]),
    ...(readOnly && !isPayload ? [`${where}: readOnly cannot be enforced`] : []),
    ...(mountPropagation === 'None'
      ? []
      : [`${where}: mountPropagation=${mountPropagation}: there are no mounts`]),
  ];
}

/**
 * API servers mount the service account token into every container, requested or not. That is no reason to reject all
 * pods: the token is below the root directory like other mounts.
 */
function isApiToken({ name, mountPath }: Mount): boolean {
  return name.startsWith('kube-api-access-') && mountPath === '/var/run/secrets/kubernetes.io/serviceaccount';
}

/** True when the mount path is the host path of the volume. */
function isHostPath(mount: Mount, volume: Volume | undefined): boolean {
  const path = volume?.hostPath?.path;
  if (path === undefined || mount.subPathExpr !== undefined) return false;
  return posix.join(path, mount.subPath ?? '', '/') === posix.join(mount.mountPath, '/');
}
