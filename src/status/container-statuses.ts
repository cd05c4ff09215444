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

/** Why a container could not be started lately (R181). */
export interface StartFailure {
  readonly reason: string;
  readonly message: string;
}

/** What the statuses of one list of containers are made of. */
export interface ContainerStatusesInput {
  readonly pod: Pod;
  readonly runtime: RuntimePodStatus;
  /** The statuses that this list had before. */
  readonly previous: readonly ContainerStatus[];
  readonly containers: readonly Container[];
  readonly kind: 'regular' | 'init' | 'ephemeral';
  /** The pod is starting all its containers anew by a rule. */
  readonly restartingAll: boolean;
  /** Whether the pod's runtime handler can make mounts read-only with all below them; asked where one is to be. */
  supportsRecursiveReadOnly?(): boolean;
  startFailureOf(container: string): StartFailure | undefined;
}

interface Entry {
  readonly container: Container;
  readonly old: ContainerStatus | undefined;
  /** Newest first; more than two are not shown (R223). */
  readonly instances: readonly RuntimeContainerStatus[];
}

/**
 * The API statuses of one list of containers: what the runtime shows, what was known before where it shows nothing, and why a start
 * failed (R219…R226). Regular and ephemeral ones are sorted by name, init ones keep the spec's order.
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

/** What a status tells of init and regular containers, in this order. */
export const initAndRegular = ({
  initContainerStatuses: init = none,
  containerStatuses: regular = none,
}: PodStatus): readonly ContainerStatus[] => (init.length === 0 ? regular : [...init, ...regular]);

/** Statuses by name; the same list when they are in order already. */
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

/** R219: what a container shows before the runtime has anything to say. */
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

/** What becomes of a read-only mount; one that cannot be made as it must says so when the container is to start. */
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

/** R220, R221, R225: a container that the runtime does not show. */
function absentStatus(input: ContainerStatusesInput, entry: Entry): ContainerStatus {
  const { old, container } = entry;
  const base = old?.state?.terminated ? old : { ...defaultStatus(input, entry), ...carriedOver(input, old) };
  const restarted = old && !old.state?.waiting && input.restartingAll;
  if (base === old && !restarted) return old;
  const status = restarted ? restartingStatus(base, old) : base;
  return isPastInit(input, container) ? { ...status, state: doneInit } : status;
}

/** What is kept of the last status of a container that has no record any more. */
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

/** The old instance was removed because a rule restarts the pod: of its record only an end that was told is kept. */
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

/** R225: an ordinary init container without a record, beside regular containers that exist, has ended well. */
function isPastInit({ kind, pod, runtime }: ContainerStatusesInput, container: Container): boolean {
  if (kind !== 'init' || isRestartableInitContainer(container)) return false;
  return hasRegularCreated(pod.spec, runtime);
}

/** R224: a container that is due to start, and could not. */
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

/** Is the container to be started by the next sync? Follows kubelet `ShouldContainerBeRestarted`. */
function shouldStart(pod: Pod, container: Container, latest: RuntimeContainerStatus | undefined): boolean {
  if (pod.metadata?.deletionTimestamp) return false;
  if (!latest) return true;
  if (latest.state === 'running') return false;
  if (latest.state !== 'exited') return true;
  return containerShouldRestart(container, pod.spec ?? emptySpec, latest.exitCode);
}
