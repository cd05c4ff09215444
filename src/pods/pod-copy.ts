import { fnv1a32 } from '../base/fnv.ts';
import type { Container, Pod } from '../kube/types.ts';
import type { ContainerOptions, ExtraMount } from '../provider/middleware.ts';

type Volumes = NonNullable<Pod['spec']>['volumes'];

/**
 * Returns the container with `mounts`, and the pod's volumes with one hostPath volume for each of their paths. A volume's name is made of
 * its path, so that it is the same in each copy. A mount at a path of the container's own replaces it.
 */
export function withExtraMounts(
  container: Container,
  volumes: Volumes,
  mounts: readonly ExtraMount[],
): { readonly container: Container; readonly volumes: Volumes } {
  const paths = new Set(mounts.map(({ mountPath }) => mountPath));
  const byName = new Map((volumes ?? []).map((volume) => [volume.name, volume]));
  for (const { hostPath } of mounts) byName.set(volumeName(hostPath), hostVolume(hostPath));
  const own = (container.volumeMounts ?? []).filter(({ mountPath }) => !paths.has(mountPath));
  const added = mounts.map(({ hostPath, mountPath, readOnly = true }) => ({
    name: volumeName(hostPath),
    mountPath,
    readOnly,
  }));
  return {
    container: { ...container, volumeMounts: [...own, ...added] },
    volumes: [...byName.values()],
  };
}

const volumeName = (hostPath: string): string =>
  `middleware-${fnv1a32(hostPath).toString(16).padStart(8, '0')}`;
const hostVolume = (path: string): NonNullable<Volumes>[number] => ({
  name: volumeName(path),
  hostPath: { path },
});

/** Returns the container with the changes of a middleware. */
export function withContainerOptions(container: Container, options: ContainerOptions): Container {
  const { env, envFrom, ...rest } = options;
  const replaced = new Set((env ?? []).map(({ name }) => name));
  return {
    ...container,
    ...rest,
    ...(env && { env: [...(container.env ?? []).filter(({ name }) => !replaced.has(name)), ...env] }),
    ...(envFrom && { envFrom: [...envFrom, ...(container.envFrom ?? [])] }),
  };
}
