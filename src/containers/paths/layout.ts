import { join } from 'node:path';
import { fileName } from '../../base/files/below.ts';

/** The kinds of volumes that have a directory on the node, by their names in it. */
export const volumePlugins = {
  emptyDir: 'kubernetes.io~empty-dir',
  configMap: 'kubernetes.io~configmap',
  secret: 'kubernetes.io~secret',
  downwardAPI: 'kubernetes.io~downward-api',
  projected: 'kubernetes.io~projected',
} as const;

/** Where local persistent volumes are mounted, each by its own name. */
export const localVolumePlugin = 'kubernetes.io~local-volume';

/** Where what file servers export is mounted. */
export const nfsPlugin = 'kubernetes.io~nfs';

/** Where a pod's things lie under the root directory: the kubelet's own layout, so that either finds what the other left.
 * Names that cannot be those of files throw `invalid_argument`: they come from whoever makes pods.
 */
export const layout: {
  readonly podsDir: (root: string) => string;
  readonly podDir: (root: string, uid: string) => string;
  readonly volumesDir: (root: string, uid: string) => string;
  readonly volumeDir: (root: string, uid: string, plugin: string, volume: string) => string;
  readonly containerDir: (root: string, uid: string, container: string) => string;
  readonly etcHosts: (root: string, uid: string) => string;
  readonly subPaths: (root: string, uid: string) => string;
  /** Which ids on the host the pod's users have. */
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
