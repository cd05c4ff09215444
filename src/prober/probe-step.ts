import {
  asksForRestartOfAll,
  containerShouldRestart,
  isRestartableInitContainer,
} from '../kube/restart-policy.ts';
import type { Container, ContainerStatus, Pod, PodStatus, Probe } from '../kube/types.ts';
import { isTerminalPhase } from '../kube/pod-phase.ts';
import { type ProbeResult, type ProbeType, restartGraceMs } from './update-pod-status.ts';

/** What a worker remembers between attempts. */
export interface WorkerState {
  /** `type://id`; `''` before there is a container. */
  readonly containerId: string;
  readonly lastResult: ProbeResult;
  /** How often in a row the last result came. */
  readonly resultRun: number;
  /** Nothing is probed until there is a new container. */
  readonly onHold: boolean;
}

/** The state of a new worker. */
export const newWorker: WorkerState = { containerId: '', lastResult: 'Success', resultRun: 0, onHold: false };

/** What a worker is for. */
export interface ProbeTarget {
  readonly type: ProbeType;
  readonly pod: Pod;
  readonly container: Container;
  readonly probe: Probe;
}

/** A change of the table of results. */
export type ResultChange =
  { readonly remove: string } | { readonly set: string; readonly result: ProbeResult };

/** What an attempt comes to before anything is run. */
export interface AttemptStart {
  readonly state: WorkerState;
  /** In order. */
  readonly changes: readonly ResultChange[];
  /** `probe`: run it; `wait`: not this time; `end`: the worker has no more to do. */
  readonly next: 'probe' | 'wait' | 'end';
}

/** What an attempt is decided by. */
export interface AttemptContext {
  /** The pod's status as last known; absent: none yet. */
  readonly status: PodStatus | undefined;
  readonly now: number;
  /** When the probe manager was made, ms since the epoch. */
  readonly managerStartedAt: number;
}

const initialResults: Readonly<Record<ProbeType, ProbeResult>> = {
  readiness: 'Failure',
  liveness: 'Success',
  startup: 'Unknown',
};

/**
 * The decision at the begin of an attempt (R236…R239). Pure.
 *
 * Follows kubelet `worker.doProbe`, up to the probe itself.
 */
export function beginAttempt(
  target: ProbeTarget,
  before: WorkerState,
  context: AttemptContext,
): AttemptStart {
  const { status } = context;
  if (!status) return { state: before, changes: [], next: 'wait' };
  if (isTerminalPhase(status.phase)) return { state: before, changes: [], next: 'end' };
  const container = statusOf(status, target.container.name);
  if (!container) return { state: before, changes: [], next: 'wait' };
  const { state, changes } = forContainer(target, before, container, context);
  const end = decide(target, state, { status, container, now: context.now });
  return {
    state,
    changes: end.set ? [...changes, { set: state.containerId, result: end.set }] : changes,
    next: end.next,
  };
}

function statusOf(status: PodStatus, name: string): ContainerStatus | undefined {
  for (const list of [status.containerStatuses, status.initContainerStatuses]) {
    const found = list?.find((container) => container.name === name);
    if (found?.containerID) return found;
  }
  return undefined;
}

/** A new container starts with a result of its own; the counters of the old one go on. */
function forContainer(
  target: ProbeTarget,
  before: WorkerState,
  container: ContainerStatus,
  context: AttemptContext,
): { readonly state: WorkerState; readonly changes: readonly ResultChange[] } {
  const containerId = container.containerID ?? '';
  if (before.containerId === containerId) return { state: before, changes: [] };
  const changes: ResultChange[] = before.containerId === '' ? [] : [{ remove: before.containerId }];
  if (target.type === 'startup' && isSidecar(target) && container.started)
    changes.push({ set: containerId, result: 'Success' });
  const startedAt = Date.parse(container.state?.running?.startedAt ?? '');
  // R236: what ran before this agent keeps the standing that the API shows
  if (!(startedAt < context.managerStartedAt - restartGraceMs))
    changes.push({ set: containerId, result: initialResults[target.type] });
  return { state: { ...before, containerId, onHold: false }, changes };
}

/** A regular container may have a restart policy of its own, too. */
const isSidecar = ({ pod, container }: ProbeTarget): boolean =>
  isRestartableInitContainer(container) &&
  (pod.spec?.initContainers?.some(({ name }) => name === container.name) ?? false);

interface Decision {
  readonly next: AttemptStart['next'];
  readonly set?: ProbeResult;
}

interface Known {
  readonly status: PodStatus;
  readonly container: ContainerStatus;
  readonly now: number;
}

function decide(target: ProbeTarget, state: WorkerState, { status, container, now }: Known): Decision {
  const { type, pod, probe } = target;
  if (state.onHold) return { next: 'wait' };
  const { running, terminated } = container.state ?? {};
  if (!running) {
    const gone = terminated && !restarts(target, terminated.exitCode, status);
    return { next: gone ? 'end' : 'wait', set: 'Failure' };
  }
  if (pod.metadata?.deletionTimestamp && type !== 'readiness') return { next: 'end', set: 'Success' };
  if (runsForSeconds(running.startedAt, now) < (probe.initialDelaySeconds ?? 0)) return { next: 'wait' };
  // R238: startup probes until the container has started, the others from then on
  return { next: (container.started === true) === (type === 'startup') ? 'wait' : 'probe' };
}

const runsForSeconds = (startedAt: string | undefined, now: number): number =>
  Math.trunc((now - Date.parse(startedAt ?? '')) / 1000);

const restarts = ({ pod, container }: ProbeTarget, exitCode: number, status: PodStatus): boolean =>
  (pod.spec !== undefined && containerShouldRestart(container, pod.spec, exitCode)) ||
  restartsAll(pod, status);

/** Is every container of the pod started anew, also those that would not restart by themselves? */
function restartsAll({ spec }: Pod, status: PodStatus): boolean {
  const began = status.conditions?.find(({ type }) => type === 'AllContainersRestarting');
  if (began?.status === 'True') return true;
  const statuses = [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])];
  return [...(spec?.initContainers ?? []), ...(spec?.containers ?? [])].some((container) => {
    const terminated = statuses.find(({ name }) => name === container.name)?.state?.terminated;
    return terminated !== undefined && asksForRestartOfAll(container, terminated.exitCode);
  });
}

/** What an attempt comes to after the probe has answered. */
export interface AttemptEnd {
  readonly state: WorkerState;
  /** The result that now stands; absent: as before. */
  readonly set?: ProbeResult;
}

/**
 * What an answer changes: nothing until it came as often in a row as its threshold says.
 *
 * Follows kubelet `worker.doProbe`, after the probe.
 */
export function endAttempt(
  { type, probe }: ProbeTarget,
  before: WorkerState,
  result: 'Success' | 'Failure',
): AttemptEnd {
  const resultRun = before.lastResult === result ? before.resultRun + 1 : 1;
  const state = { ...before, lastResult: result, resultRun };
  const threshold = result === 'Failure' ? (probe.failureThreshold ?? 3) : (probe.successThreshold ?? 1);
  if (resultRun < threshold) return { state };
  const settled = type === 'startup' || (type === 'liveness' && result === 'Failure');
  return { state: settled ? { ...state, onHold: true, resultRun: 0 } : state, set: result };
}
