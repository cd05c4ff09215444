import { join } from 'node:path';
import { fileName } from '../../base/files/below.ts';

/** Directory names of the volume plug-ins with a directory on the node. */
export const volumePlugins = {
  emptyDir: 'kubernetes.io~empty-dir',
  configMap: 'kubernetes.io~configmap',
  secret: 'kubernetes.io~secret',
  downwardAPI: 'kubernetes.io~downward-api',
  projected: 'kubernetes.io~projected',
} as const;

/** Directory of mounted local persistent volumes. */
export const localVolumePlugin = 'kubernetes.io~local-volume';

/** Directory of mounted NFS volumes. */
export const nfsPlugin = 'kubernetes.io~nfs';

/**
 * Paths below the root directory, in the kubelet's layout, so that agent and kubelet find each other's files.
 * Names come from pod specs; those that are not valid file names throw `invalid_argument`.
 */
export const layout: {
  readonly podsDir: (root: string) => string;
  readonly podDir: (root: string, uid: string) => string;
  readonly volumesDir: (root: string, uid: string) => string;
  readonly volumeDir: (root: string, uid: string, plugin: string, volume: string) => string;
  readonly containerDir: (root: string, uid: string, container: string) => string;
  readonly etcHosts: (root: string, uid: string) => string;
  readonly subPaths: (root: string, uid: string) => string;
  /** File with the user namespace mapping of a pod. */
  readonly userNamespace: (root: string, uid: string) => string;
} = {
  podsDir: (root) => join(root, 'pods'),
  podDir: (root, uid) => inPod(root, uid),
  volumesDir: (root, uid) => inPod(root, uid, 'volumes'),
  volumeDir: (root, uid, plugin, volume) =>
    inPod(root, uid, 'volumes', plugin, fileName(volume, 'the name of a volume')),
  containerDir: (root, uid, container) =>
    inPod(root, uid, 'containers', fileName(container, 'the name of a container')),
  etcHosts: (root, uid) => inPod(root, uid, 'etc-hosts'),
  subPaths: (root, uid) => inPod(root, uid, 'volume-subpaths'),
  userNamespace: (root, uid) => inPod(root, uid, 'userns'),
};

const inPod = (root: string, uid: string, ...rest: readonly string[]): string =>
  join(root, 'pods', fileName(uid, 'the uid of a pod'), ...rest);
