import { isRecursiveReadOnly } from '../kube/recursive-read-only.ts';
import {
  containerShouldRestart,
  isRestartableInitContainer,
  restartingAllContainersReason,
} from '../kube/restart-policy.ts';
import type { Container, ContainerState, ContainerStatus, Pod, PodSpec, PodStatus } from '../kube/types.ts';
import type { RuntimeContainerStatus, RuntimePodStatus } from '../provider/runtime-pod.ts';
import { convertContainerStatus, unknownExitCode, vanished } from './container-status.ts';
import { hasRegularCreated } from './phase.ts';

/** Why the last start of a container failed (R181). */
export interface StartFailure {
  readonly reason: string;
  readonly message: string;
}

/** The inputs of {@link containerStatuses}. */
export interface ContainerStatusesInput {
  readonly pod: Pod;
  readonly runtime: RuntimePodStatus;
  /** The previous statuses of this list. */
  readonly previous: readonly ContainerStatus[];
  readonly containers: readonly Container[];
  readonly kind: 'regular' | 'init' | 'ephemeral';
  /** True while a rule restarts all containers of the pod. */
  readonly restartingAll: boolean;
  /** Whether the pod's runtime handler supports recursive read-only mounts; called only for pods that request one. */
  supportsRecursiveReadOnly?(): boolean;
  startFailureOf(container: string): StartFailure | undefined;
}

interface Entry {
  readonly container: Container;
  readonly old: ContainerStatus | undefined;
  /** The instances, newest first; at most two appear in the status (R223). */
  readonly instances: readonly RuntimeContainerStatus[];
}

/**
 * Generates the API statuses of one list of containers from the runtime's instances, from the previous statuses where the runtime shows
 * none, and from failed starts (R219…R226). Regular and ephemeral containers are sorted by name; init containers keep the spec's order.
 *
 * Follows kubelet `convertToAPIContainerStatuses`.
 */
export function containerStatuses(input: ContainerStatusesInput): readonly ContainerStatus[] {
  const { containers, previous, runtime } = input;
  if (containers.length === 0) return none;
  const statuses = containers.map((container) => {
    const entry = {
      container,
      old: previous.findLast(({ name }) => name === container.name),
      instances: newestFirst(runtime.containerStatuses, container.name),
    };
    return withStartFailure(input, entry, statusOf(input, entry));
  });
  return input.kind === 'init' ? statuses : sortedByName(statuses);
}

const none: readonly ContainerStatus[] = [];

/** The init and regular container statuses of a pod status, in this order. */
export const initAndRegular = ({
  initContainerStatuses: init = none,
  containerStatuses: regular = none,
}: PodStatus): readonly ContainerStatus[] => (init.length === 0 ? regular : [...init, ...regular]);

/** Sorts statuses by name; returns the same list when it is sorted already. */
export function sortedByName(statuses: readonly ContainerStatus[]): readonly ContainerStatus[] {
  const inOrder = statuses.every((status, i) => (statuses[i - 1]?.name ?? '') <= status.name);
  return inOrder ? statuses : statuses.toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

function newestFirst(
  statuses: readonly RuntimeContainerStatus[],
  container: string,
): readonly RuntimeContainerStatus[] {
  const own = statuses.filter(({ name }) => name === container);
  return own.length < 2 ? own : own.sort((a, b) => (b.createdAt ?? 0) - (a.createdAt ?? 0));
}

function statusOf(input: ContainerStatusesInput, entry: Entry): ContainerStatus {
  const [newest, before] = entry.instances;
  if (!newest) return absentStatus(input, entry);
  const { container, old } = entry;
  const context = { container, old, restartingAll: input.restartingAll };
  const status = convertContainerStatus(newest, context);
  return before ? { ...status, lastState: convertContainerStatus(before, context).state ?? {} } : status;
}

/** The status of a container before the runtime reports anything about it (R219). */
function defaultStatus(input: ContainerStatusesInput, { container }: Entry): ContainerStatus {
  const { pod } = input;
  const initializing = (pod.spec?.initContainers ?? []).length > 0;
  const volumeMounts = container.volumeMounts?.map((mount) => ({
    name: mount.name,
    mountPath: mount.mountPath,
    ...(mount.readOnly && { readOnly: true, recursiveReadOnly: recursiveReadOnlyOf(input, mount) }),
  }));
  return {
    name: container.name,
    state: { waiting: { reason: initializing ? 'PodInitializing' : 'ContainerCreating' } },
    lastState: {},
    ready: false,
    restartCount: 0,
    image: container.image ?? '',
    imageID: '',
    ...(volumeMounts && volumeMounts.length > 0 && { volumeMounts }),
  };
}

/** How a read-only mount is made. A mount that requires recursion where it is not supported fails when the container starts. */
function recursiveReadOnlyOf(
  input: ContainerStatusesInput,
  mount: NonNullable<Container['volumeMounts']>[number],
): 'Enabled' | 'Disabled' {
  if (mount.recursiveReadOnly === undefined || input.supportsRecursiveReadOnly?.() !== true)
    return 'Disabled';
  try {
    return isRecursiveReadOnly(mount, true) ? 'Enabled' : 'Disabled';
  } catch {
    return 'Disabled';
  }
}

/** The status of a container that the runtime does not show (R220, R221, R225). */
function absentStatus(input: ContainerStatusesInput, entry: Entry): ContainerStatus {
  const { old, container } = entry;
  const base = old?.state?.terminated ? old : { ...defaultStatus(input, entry), ...carriedOver(input, old) };
  const restarted = old && !old.state?.waiting && input.restartingAll;
  if (base === old && !restarted) return old;
  const status = restarted ? restartingStatus(base, old) : base;
  return isPastInit(input, container) ? { ...status, state: doneInit } : status;
}

/** The fields carried over from the previous status of a container that the runtime no longer shows. */
function carriedOver(
  { pod }: ContainerStatusesInput,
  old: ContainerStatus | undefined,
): Partial<ContainerStatus> {
  if (!old) return {};
  const { restartCount, lastState = {}, state } = old;
  if (!state?.running || lastState.terminated) return { restartCount, lastState };
  const restarts = pod.metadata?.deletionTimestamp ? 0 : 1;
  return { restartCount: restartCount + restarts, lastState: vanished('deleted') };
}

const restartingMessage = 'The container is removed because RestartAllContainers in place';

/** The status of a container that was removed because a rule restarts the pod: only an end that was reported before is carried over. */
function restartingStatus(base: ContainerStatus, old: ContainerStatus): ContainerStatus {
  const why = { reason: restartingAllContainersReason, message: restartingMessage };
  return {
    ...base,
    state: { waiting: why },
    lastState: { terminated: { exitCode: unknownExitCode, ...why } },
    restartCount: old.restartCount + 1,
  };
}

const doneInit: ContainerState = {
  terminated: {
    exitCode: 0,
    reason: 'Completed',
    message:
      'Unable to get init container status from container runtime and pod has been initialized, treat it as exited normally',
  },
};

/** True for an ordinary init container without an instance when regular containers exist: it has succeeded (R225). */
function isPastInit({ kind, pod, runtime }: ContainerStatusesInput, container: Container): boolean {
  if (kind !== 'init' || isRestartableInitContainer(container)) return false;
  return hasRegularCreated(pod.spec, runtime);
}

/** Shows the failed start of a container that is due to start (R224). */
function withStartFailure(
  input: ContainerStatusesInput,
  { container }: Entry,
  status: ContainerStatus,
): ContainerStatus {
  const failure = input.startFailureOf(container.name);
  if (!failure || status.state === doneInit) return status;
  const latest = input.runtime.containerStatuses.find(({ name }) => name === container.name);
  const doneWell = input.kind === 'init' && latest?.state === 'exited' && latest.exitCode === 0;
  return doneWell || !shouldStart(input.pod, container, latest) ? status : failedStart(status, failure);
}

const failedStart = (status: ContainerStatus, { reason, message }: StartFailure): ContainerStatus => ({
  ...status,
  ...(status.state?.terminated && { lastState: status.state }),
  state: { waiting: { ...(reason && { reason }), ...(message && { message }) } },
});

const emptySpec: PodSpec = { containers: [] };

/** True when the next sync should start the container. Follows kubelet `ShouldContainerBeRestarted`. */
function shouldStart(pod: Pod, container: Container, latest: RuntimeContainerStatus | undefined): boolean {
  if (pod.metadata?.deletionTimestamp) return false;
  if (!latest) return true;
  if (latest.state === 'running') return false;
  if (latest.state !== 'exited') return true;
  return containerShouldRestart(container, pod.spec ?? emptySpec, latest.exitCode);
}
