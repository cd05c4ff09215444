import {
  asksForRestartOfAll,
  containerShouldRestart,
  isRestartableInitContainer,
} from '../kube/restart-policy.ts';
import type { Container, ContainerStatus, Pod, PodStatus, Probe } from '../kube/types.ts';
import { isTerminalPhase } from '../kube/pod-phase.ts';
import { type ProbeResult, type ProbeType, restartGraceMs } from './update-pod-status.ts';

/** The state of a probe worker between attempts. */
export interface WorkerState {
  /** `type://id`; `''` before there is a container. */
  readonly containerId: string;
  readonly lastResult: ProbeResult;
  /** How many times in a row the last result occurred. */
  readonly resultRun: number;
  /** True while probing is suspended until the container is replaced. */
  readonly onHold: boolean;
}

/** The state of a new worker. */
export const newWorker: WorkerState = { containerId: '', lastResult: 'Success', resultRun: 0, onHold: false };

/** The probe that a worker runs, with its pod and container. */
export interface ProbeTarget {
  readonly type: ProbeType;
  readonly pod: Pod;
  readonly container: Container;
  readonly probe: Probe;
}

/** A change of the stored probe results. */
export type ResultChange =
  { readonly remove: string } | { readonly set: string; readonly result: ProbeResult };

/** The decision at the beginning of an attempt. */
export interface AttemptStart {
  readonly state: WorkerState;
  /** The changes to apply, in order. */
  readonly changes: readonly ResultChange[];
  /** `probe`: run the probe; `wait`: skip this attempt; `end`: stop the worker. */
  readonly next: 'probe' | 'wait' | 'end';
}

/** The inputs of {@link beginAttempt}. */
export interface AttemptContext {
  /** The pod's newest status; absent when it has none yet. */
  readonly status: PodStatus | undefined;
  readonly now: number;
  /** When the probe manager was created, ms since the epoch. */
  readonly managerStartedAt: number;
}

const initialResults: Readonly<Record<ProbeType, ProbeResult>> = {
  readiness: 'Failure',
  liveness: 'Success',
  startup: 'Unknown',
};

/**
 * Decides at the beginning of an attempt whether to run the probe (R236…R239). Pure.
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

/** Sets the initial result of a new container; the counters of the old one continue. */
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
  // R236: a container that ran before this agent started keeps the readiness shown in the API
  if (!(startedAt < context.managerStartedAt - restartGraceMs))
    changes.push({ set: containerId, result: initialResults[target.type] });
  return { state: { ...before, containerId, onHold: false }, changes };
}

/** True for a sidecar. It must be an init container, because a regular container may have its own restart policy too. */
const isSidecar = ({ pod, container }: ProbeTarget): boolean =>
  isRestartableInitContainer(container) &&
  (pod.spec?.initContainers?.some(({ name }) => name === container.name) ?? false);

interface Decision {
  readonly next: AttemptStart['next'];
  readonly set?: ProbeResult;
}

interface RunningContainer {
  readonly status: PodStatus;
  readonly container: ContainerStatus;
  readonly now: number;
}

function decide(
  target: ProbeTarget,
  state: WorkerState,
  { status, container, now }: RunningContainer,
): Decision {
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

/** True while a rule restarts all containers of the pod, also those whose restart policy would not restart them. */
function restartsAll({ spec }: Pod, status: PodStatus): boolean {
  const began = status.conditions?.find(({ type }) => type === 'AllContainersRestarting');
  if (began?.status === 'True') return true;
  const statuses = [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])];
  return [...(spec?.initContainers ?? []), ...(spec?.containers ?? [])].some((container) => {
    const terminated = statuses.find(({ name }) => name === container.name)?.state?.terminated;
    return terminated !== undefined && asksForRestartOfAll(container, terminated.exitCode);
  });
}

/** The decision after the probe has run. */
export interface AttemptEnd {
  readonly state: WorkerState;
  /** The new result; absent when it does not change. */
  readonly set?: ProbeResult;
}

/**
 * Decides what the outcome of a probe changes: nothing until it has occurred as many times in a row as its threshold requires.
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
