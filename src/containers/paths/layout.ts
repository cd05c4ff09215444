import { join } from 'node:path';

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

/** Where a pod's things lie under the root directory: the kubelet's own layout, so that either finds what the other left. */
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
  podDir: (root, uid) => join(root, 'pods', uid),
  volumesDir: (root, uid) => join(root, 'pods', uid, 'volumes'),
  volumeDir: (root, uid, plugin, volume) => join(root, 'pods', uid, 'volumes', plugin, volume),
  containerDir: (root, uid, container) => join(root, 'pods', uid, 'containers', container),
  etcHosts: (root, uid) => join(root, 'pods', uid, 'etc-hosts'),
  subPaths: (root, uid) => join(root, 'pods', uid, 'volume-subpaths'),
  userNamespace: (root, uid) => join(root, 'pods', uid, 'userns'),
};
