import { restartingAllContainersReason } from '../kube/restart-policy.ts';
import type { Container, ContainerState, ContainerStatus } from '../kube/types.ts';
import type { RuntimeContainerStatus } from '../provider/runtime-pod.ts';
import { containerResources } from './container-resources.ts';
import { rfc3339 } from '../kube/time.ts';

/** The exit code of a container whose end was not observed. */
export const unknownExitCode = 137;
const unknownReason = 'ContainerStatusUnknown';

const vanishedMessages = {
  deleted: 'The container could not be located when the pod was deleted.  The container used to be Running',
  terminated: 'The container could not be located when the pod was terminated',
} as const;

/** The state of a container that ran and can no longer be found when its pod was deleted or terminated (R204, R221, R222). */
export const vanished = (when: keyof typeof vanishedMessages): ContainerState => ({
  terminated: { exitCode: unknownExitCode, reason: unknownReason, message: vanishedMessages[when] },
});

/** The context for the conversion of one container instance. */
export interface ConversionContext {
  readonly container: Container;
  /** The container's previous status. */
  readonly old: ContainerStatus | undefined;
  /** True while a rule restarts all containers of the pod. */
  readonly restartingAll: boolean;
}

/** Converts one container instance of the runtime into an API container status. Follows kubelet `convertContainerStatus`. */
export function convertContainerStatus(
  instance: RuntimeContainerStatus,
  { old, container, restartingAll }: ConversionContext,
): ContainerStatus {
  const lost = instance.state === 'unknown' && old?.state?.running !== undefined;
  const state = lost ? lostState(restartingAll) : stateOf(instance);
  return {
    name: instance.name,
    state,
    lastState: lastStateOf(instance, old),
    ready: false,
    restartCount: lost ? old.restartCount + 1 : restartCountOf(instance, old),
    image: instance.image,
    imageID: instance.imageRef,
    containerID: instance.id,
    ...carriedOver(instance, old),
    ...containerResources(instance, state, old, container),
    ...(instance.user && { user: { linux: instance.user } }),
    ...(instance.stopSignal !== undefined && { stopSignal: instance.stopSignal }),
  };
}

/** The fields that the runtime does not know, carried over from the previous status (R226). */
function carriedOver(
  instance: RuntimeContainerStatus,
  old: ContainerStatus | undefined,
): Pick<ContainerStatus, 'started' | 'volumeMounts'> {
  if (!old) return {};
  const { started, volumeMounts } = old;
  return {
    ...(instance.state === 'running' && started !== undefined && { started }),
    ...(volumeMounts && { volumeMounts }),
  };
}

function lostState(restartingAll: boolean): ContainerState {
  const state = vanished('terminated');
  return restartingAll && state.terminated
    ? { terminated: { ...state.terminated, reason: restartingAllContainersReason } }
    : state;
}

/** True when the previous status shows the end of an older instance that this one replaced. */
const isReplaced = (instance: RuntimeContainerStatus, old: ContainerStatus | undefined): boolean =>
  old?.state?.terminated !== undefined && old.containerID !== instance.id;

/**
 * The restart count: never less than in the previous status, because a runtime that lost the old instances starts counting again. It grows
 * by one for an instance that runs after a reported end.
 */
function restartCountOf(instance: RuntimeContainerStatus, old: ContainerStatus | undefined): number {
  if (!old) return instance.restartCount;
  const again = instance.state === 'running' && old.state?.terminated !== undefined;
  return Math.max(instance.restartCount, old.restartCount + (again ? 1 : 0));
}

const lastStateOf = (instance: RuntimeContainerStatus, old: ContainerStatus | undefined): ContainerState =>
  (isReplaced(instance, old) ? old?.state : old?.lastState) ?? {};

/** The API state of an instance; an unknown or created container is waiting (R222). */
function stateOf(instance: RuntimeContainerStatus): ContainerState {
  switch (instance.state) {
    case 'running':
      return { running: time('startedAt', instance.startedAt) };
    case 'exited':
      return { terminated: terminatedState(instance) };
    case 'created':
    case 'unknown':
      return { waiting: {} };
  }
}

const terminatedState = (instance: RuntimeContainerStatus): NonNullable<ContainerState['terminated']> => ({
  exitCode: instance.exitCode,
  ...(instance.reason && { reason: instance.reason }),
  ...(instance.message && { message: instance.message }),
  ...time('startedAt', instance.startedAt),
  ...time('finishedAt', instance.finishedAt),
  containerID: instance.id,
});

const time = <Key extends string>(key: Key, at: number | undefined): Partial<Record<Key, string>> =>
  (at === undefined ? {} : { [key]: rfc3339(at) }) as Partial<Record<Key, string>>;
