import { tableOf } from '../../base/own.ts';
import { isAbsolute, join } from 'node:path';
import { cleanPath } from '../../go/clean-path.ts';
import { AgentError, messageOf } from '../../base/errors.ts';
import { goQuote } from '../../go/go-quote.ts';
import { isRecursiveReadOnly } from '../../kube/recursive-read-only.ts';
import { expandSubPath } from '../../kube/sub-path-expr.ts';
import type { Container, Pod } from '../../kube/types.ts';
import { type Mount, MountPropagation } from '../../provider/cri-messages.ts';

type VolumeMount = NonNullable<Container['volumeMounts']>[number];

/** A volume of the pod that is set up on the node. */
export interface MountedVolume {
  readonly path: string;
  readonly readOnly?: boolean;
  /** True when the volume supports SELinux relabelling and is not relabelled yet. */
  readonly relabel?: boolean;
}

export interface MountInput {
  readonly container: Container;
  readonly volumes: ReadonlyMap<string, MountedVolume>;
  /** The container's environment variables, for `subPathExpr`. */
  readonly envs: readonly { readonly name: string; readonly value: string }[];
  readonly supportsRecursiveReadOnly: boolean;
}

/** A mount of a container and the subpath of its volume. */
export interface PlannedMount {
  readonly mount: Mount;
  readonly name: string;
  readonly volumePath: string;
  /** Empty: the whole volume. Otherwise `mount.hostPath` must be made safe against links before use. */
  readonly subPath: string;
}

const propagations: Readonly<Record<string, MountPropagation>> = tableOf({
  None: MountPropagation.PROPAGATION_PRIVATE,
  HostToContainer: MountPropagation.PROPAGATION_HOST_TO_CONTAINER,
  Bidirectional: MountPropagation.PROPAGATION_BIDIRECTIONAL,
});

const bad = (message: string): AgentError => new AgentError('invalid_argument', message);

function propagationOf({ mountPropagation: mode }: VolumeMount): MountPropagation {
  const propagation = propagations[mode ?? 'None'];
  if (propagation === undefined) throw bad(`invalid MountPropagation mode: ${goQuote(mode ?? '')}`);
  return propagation;
}

function recursiveReadOnly(mount: VolumeMount, supported: boolean): boolean {
  try {
    return isRecursiveReadOnly(mount, supported);
  } catch (reason) {
    throw bad(`failed to resolve recursive read-only mode: ${messageOf(reason)}`);
  }
}

function subPath(mount: VolumeMount, envs: ReadonlyMap<string, string>): string {
  const path = mount.subPathExpr
    ? expandSubPath(mount.subPathExpr, (name) => envs.get(name))
    : (mount.subPath ?? '');
  if (isAbsolute(path)) throw bad(`error SubPath \`${path}\` must not be an absolute path`);
  if (path.split('/').includes('..'))
    throw bad(`unable to provision SubPath \`${path}\`: must not contain '..'`);
  return path;
}

/**
 * Returns the mounts of a container in the order of its volumeMounts. Follows kubelet `makeMounts`, without `/etc/hosts`.
 *
 * @throws {AgentError} `invalid_argument` for a mount that is not valid
 */
export function containerMounts(input: MountInput): readonly PlannedMount[] {
  const envs = new Map(input.envs.map(({ name, value }) => [name, value]));
  return (input.container.volumeMounts ?? []).map((wish) => {
    const volume = input.volumes.get(wish.name);
    if (!volume)
      throw bad(
        `cannot find volume ${goQuote(wish.name)} to mount into container ${goQuote(input.container.name)}`,
      );
    const path = subPath(wish, envs);
    const propagation = propagationOf(wish);
    const recursive = recursiveReadOnly(wish, input.supportsRecursiveReadOnly);
    return {
      name: wish.name,
      volumePath: volume.path,
      subPath: path,
      mount: {
        containerPath: isAbsolute(wish.mountPath) ? wish.mountPath : cleanPath(`/${wish.mountPath}`),
        hostPath: path === '' ? volume.path : cleanPath(join(volume.path, path)),
        readonly: wish.readOnly === true || volume.readOnly === true,
        recursiveReadOnly: recursive,
        selinuxRelabel: volume.relabel === true,
        propagation,
      },
    };
  });
}

/**
 * True when the managed `/etc/hosts` is mounted: once the pod has an address, or at once on the host network (where sandboxes report none),
 * and only when the container does not mount `/etc/hosts` itself.
 *
 * Follows kubelet `shouldMountHostsFile`.
 */
export const mountsHostsFile = (
  { spec }: Pod,
  { volumeMounts }: Container,
  podIps: readonly string[],
): boolean =>
  (podIps.length > 0 || spec?.hostNetwork === true) &&
  !(volumeMounts ?? []).some(({ mountPath }) => mountPath === '/etc/hosts');

/** Returns the mount of the managed `/etc/hosts`; it is always the last. */
export const hostsFileMount = (hostPath: string): Mount => ({
  containerPath: '/etc/hosts',
  hostPath,
  readonly: false,
  selinuxRelabel: true,
});
