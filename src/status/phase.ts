import {
  containerShouldRestart,
  isRestartableInitContainer,
  restartingAllContainersReason,
} from '../kube/restart-policy.ts';
import { isStaticPod } from '../kube/names.ts';
import type { Container, ContainerStatus, Pod, PodPhase, PodSpec } from '../kube/types.ts';
import type { RuntimePodStatus } from '../provider/runtime-pod.ts';

/** The inputs of {@link podPhase} besides the container statuses. */
export interface PhaseContext {
  /** True when all containers have ended and none will be restarted, whatever the restart policy says. */
  readonly podIsTerminal: boolean;
  /** True when the active sandbox has a regular container, started or not. */
  readonly podHasInitialized: boolean;
}

type Terminated = NonNullable<NonNullable<ContainerStatus['state']>['terminated']>;

/**
 * Computes the phase of a pod from its spec and its container statuses (R208…R214). A container that waits for its first start keeps the
 * whole pod Pending; one that waits after an end does not.
 *
 * Follows kubelet `getPhase`.
 *
 * @param statuses regular and init containers, by name
 */
export function podPhase(pod: Pod, statuses: readonly ContainerStatus[], context: PhaseContext): PodPhase {
  const { spec } = pod;
  if (!spec) return 'Pending';
  const init = countInit(spec, statuses);
  if (init.failed > 0) return 'Failed';
  const all = countMain(spec, statuses);
  const initializing = init.pending > 0 || (all.pendingSidecars > 0 && !context.podHasInitialized);
  if (initializing || all.waiting > 0) return 'Pending';
  if (all.unknown > 0) return 'Pending';
  if (all.running > 0) return 'Running';
  if (all.stopped === 0) return 'Pending';
  return stoppedPhase(all, context.podIsTerminal && !isStaticPod(pod));
}

function stoppedPhase(counts: MainCounts, isTerminal: boolean): PodPhase {
  if (!isTerminal && counts.restartable > 0) return 'Running';
  return counts.stopped === counts.succeeded ? 'Succeeded' : 'Failed';
}

type Statuses = readonly ContainerStatus[];

const statusOf = (statuses: Statuses, { name }: Container): ContainerStatus | undefined =>
  statuses.find((status) => status.name === name);

interface InitCounts {
  pending: number;
  failed: number;
}

/** Counts the ordinary init containers by state (R208). */
function countInit(spec: PodSpec, statuses: Statuses): InitCounts {
  const counts: InitCounts = { pending: 0, failed: 0 };
  for (const container of spec.initContainers ?? []) {
    if (isRestartableInitContainer(container)) continue;
    const ended = endOf(statusOf(statuses, container));
    if (!ended) counts.pending++;
    else if (ended.exitCode !== 0 && !restarts(container, spec, ended)) counts.failed++;
  }
  return counts;
}

/** The end of a container that does not run: its current state, or the last one of a waiting container. */
const endOf = (status: ContainerStatus | undefined): Terminated | undefined =>
  status?.state?.terminated ?? (status?.state?.waiting && status.lastState?.terminated);

interface MainCounts {
  unknown: number;
  running: number;
  waiting: number;
  stopped: number;
  succeeded: number;
  restartable: number;
  pendingSidecars: number;
}

function countMain(spec: PodSpec, statuses: Statuses): MainCounts {
  const counts: MainCounts = {
    unknown: 0,
    running: 0,
    waiting: 0,
    stopped: 0,
    succeeded: 0,
    restartable: 0,
    pendingSidecars: 0,
  };
  spec.initContainers?.forEach((container) => {
    if (isRestartableInitContainer(container)) countSidecar(counts, statusOf(statuses, container));
  });
  spec.containers.forEach((container) => {
    countRegular(counts, container, spec, statusOf(statuses, container));
  });
  return counts;
}

/** Counts a sidecar; one that ended is ignored (R209). */
function countSidecar(counts: MainCounts, status: ContainerStatus | undefined): void {
  if (!status) counts.unknown++;
  else if (status.state?.running) {
    counts.running++;
    if (status.started !== true) counts.pendingSidecars++;
  } else if (status.state?.terminated) return;
  else if (status.state?.waiting) {
    if (!status.lastState?.terminated) counts.waiting++;
  } else counts.unknown++;
}

/** Counts a regular container; only a current terminated state counts as success (R210, R213). */
function countRegular(
  counts: MainCounts,
  container: Container,
  spec: PodSpec,
  status: ContainerStatus | undefined,
): void {
  const { state, lastState } = status ?? {};
  const { running, terminated, waiting } = state ?? {};
  if (running) counts.running++;
  else if (terminated) {
    counts.stopped++;
    if (terminated.exitCode === 0) counts.succeeded++;
    if (restarts(container, spec, terminated)) counts.restartable++;
  } else if (!waiting) counts.unknown++;
  else if (lastState?.terminated) {
    counts.stopped++;
    if (restarts(container, spec, lastState.terminated)) counts.restartable++;
  } else counts.waiting++;
}

const restarts = (container: Container, spec: PodSpec, { reason, exitCode }: Terminated): boolean =>
  reason === restartingAllContainersReason || containerShouldRestart(container, spec, exitCode);

/** True when the active sandbox has a regular container, in any state. Follows kubelet `HasAnyActiveRegularContainerStarted`. */
export function hasActiveRegular(spec: PodSpec | undefined, runtime: RuntimePodStatus): boolean {
  const containers = spec?.containers ?? [];
  return runtime.activeContainerStatuses.some(({ name }) => containers.some((one) => one.name === name));
}

/**
 * True when the runtime shows that a regular container was ever created. Only the newest instance of each container counts.
 *
 * Follows kubelet `HasAnyRegularContainerCreated`.
 */
export function hasRegularCreated(spec: PodSpec | undefined, runtime: RuntimePodStatus): boolean {
  return (spec?.containers ?? []).some(({ name }) => {
    const newest = runtime.containerStatuses.find((status) => status.name === name);
    return newest !== undefined && newest.state !== 'unknown';
  });
}
