import type { ContainerState, ContainerStatus } from '../../../src/kube/types.ts';
import type {
  RuntimeContainerState,
  RuntimeContainerStatus,
  RuntimePodStatus,
} from '../../../src/provider/runtime-pod.ts';

/** A container as the API is told of it. */
export const statusOf = (
  name: string,
  state: ContainerState,
  lastState: ContainerState = {},
  started?: boolean,
): ContainerStatus => ({
  name,
  image: 'i',
  imageID: '',
  ready: false,
  restartCount: 0,
  state,
  lastState,
  ...(started !== undefined && { started }),
});

/** A container as it may be told of, with nothing in it that need not be there. */
export const bareStatusOf = (name: string, state?: ContainerState): ContainerStatus => ({
  name,
  image: 'i',
  imageID: '',
  ready: false,
  restartCount: 0,
  ...(state && { state }),
});

/** A container as the runtime shows it: made at 0, started after a second, ended after two. */
export const instanceOf = (
  name: string,
  state: RuntimeContainerState,
  extra: Partial<RuntimeContainerStatus> = {},
): RuntimeContainerStatus => ({
  id: `fake://${name}`,
  name,
  state,
  createdAt: 0,
  startedAt: 1000,
  finishedAt: 2000,
  exitCode: 0,
  image: 'i',
  imageId: 'i',
  imageRef: 'i@x',
  hash: 1,
  restartCount: 0,
  reason: '',
  message: '',
  ...extra,
});

/** A pod as the runtime shows it, with one ready sandbox to which all containers belong. */
export const runtimeOf = (containerStatuses: readonly RuntimeContainerStatus[]): RuntimePodStatus => ({
  uid: 'u',
  name: 'p',
  namespace: 'ns',
  ips: [],
  containerStatuses,
  activeContainerStatuses: containerStatuses,
  sandboxStatuses: [{ id: 's', state: 'SANDBOX_READY', attempt: 0, createdAt: 0, networkMode: 'POD' }],
});
