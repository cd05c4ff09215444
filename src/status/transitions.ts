import {
  containerShouldRestart,
  isRestartableInitContainer,
  mayRestartAllContainers,
} from '../kube/restart-policy.ts';
import type { Container, ContainerStatus, Pod, PodCondition, PodSpec, PodStatus } from '../kube/types.ts';
import { conditionOf, withTransitionTime } from './condition-list.ts';
import { vanished } from './container-status.ts';
import { isStaticPod } from '../kube/names.ts';
import { isTerminalPhase } from '../kube/pod-phase.ts';

/**
 * Why a status may not follow another one; `undefined` when it may. A container that has ended and is not restarted never runs again
 * (R196).
 *
 * Follows kubelet `checkContainerStateTransition`.
 */
export function illegalTransition(old: PodStatus, next: PodStatus, spec: PodSpec): string | undefined {
  if (spec.restartPolicy === undefined || spec.restartPolicy === 'Always') return undefined;
  if (mayRestartAllContainers(spec)) return undefined;
  return (
    regularTransition(spec, old.containerStatuses ?? [], next.containerStatuses ?? []) ??
    initTransition(spec, old.initContainerStatuses ?? [], next.initContainerStatuses ?? [])
  );
}

function regularTransition(
  spec: PodSpec,
  old: readonly ContainerStatus[],
  next: readonly ContainerStatus[],
): string | undefined {
  const byName = new Map(spec.containers.toReversed().map((container) => [container.name, container]));
  for (const status of old) {
    const container = byName.get(status.name);
    if (!endedForGood(status, container, spec)) continue;
    const fault = revived(status.name, next);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

/** Checks the init statuses, which are matched with the spec by position. */
function initTransition(
  spec: PodSpec,
  old: readonly ContainerStatus[],
  next: readonly ContainerStatus[],
): string | undefined {
  for (const [i, status] of old.entries()) {
    const container = spec.initContainers?.[i];
    if (container?.name !== status.name)
      return `found mismatch between pod spec and status, container: ${status.name}`;
    if (isRestartableInitContainer(container) || !endedForGood(status, container, spec)) continue;
    const fault = revived(status.name, next, 'init container');
    if (fault !== undefined) return fault;
  }
  return undefined;
}

function endedForGood(status: ContainerStatus, container: Container | undefined, spec: PodSpec): boolean {
  const { terminated } = status.state ?? {};
  if (!terminated) return false;
  const { exitCode } = terminated;
  // the pod's restart policy applies whatever the container's own policy is
  if (exitCode !== 0 && spec.restartPolicy === 'OnFailure') return false;
  return !container || !containerShouldRestart(container, spec, exitCode);
}

const revived = (name: string, next: readonly ContainerStatus[], what = 'container'): string | undefined =>
  next.some((status) => status.name === name && !status.state?.terminated)
    ? `terminated ${what} ${name} attempted illegal transition to non-terminated state`
    : undefined;

const timedConditions: ReadonlySet<string> = new Set([
  'ContainersReady',
  'Ready',
  'Initialized',
  'PodReadyToStartContainers',
  'PodScheduled',
  'DisruptionTarget',
  'AllContainersRestarting',
]);

/** True when a condition differs from the previous one in its time only; the old object is then reused. */
const isRepeated = (next: PodCondition, old: PodCondition): boolean =>
  next.reason === old.reason &&
  next.message === old.message &&
  next.observedGeneration === old.observedGeneration &&
  next.lastProbeTime === old.lastProbeTime;

/**
 * Sets the times of a status: a condition's transition time becomes `now` (RFC 3339) only when its status changed; the start time is set
 * once (R197).
 */
export function withTimes(status: PodStatus, old: PodStatus, now: string): PodStatus {
  const conditions = status.conditions?.map((condition) => {
    if (!timedConditions.has(condition.type)) return condition;
    const before = conditionOf(old.conditions, condition.type);
    if (before?.status !== condition.status) return withTransitionTime(condition, now);
    return isRepeated(condition, before) ? before : withTransitionTime(condition, before.lastTransitionTime);
  });
  const startTime = old.startTime ?? status.startTime ?? now;
  return { ...status, ...(conditions && { conditions }), startTime };
}

const hasRun = ({ state, lastState }: ContainerStatus): boolean =>
  !state?.waiting || lastState?.terminated !== undefined;

/**
 * True when there is evidence that the pod's init containers have completed. Follows kubelet `hasPodInitialized`.
 */
export function hasPodInitialized({ spec, status }: Pod): boolean {
  const containers = spec?.initContainers ?? [];
  if (containers.length === 0) return true;
  if (status?.containerStatuses?.some(hasRun)) return true;
  const statuses = status?.initContainerStatuses ?? [];
  const last = statuses.at(-1);
  const container = containers[statuses.length - 1];
  return last !== undefined && container?.name === last.name && isInitDone(container, last);
}

function isInitDone(container: Container, { state, lastState, started }: ContainerStatus): boolean {
  if (isRestartableInitContainer(container)) return state?.running !== undefined && started === true;
  return lastState?.terminated?.exitCode === 0 || state?.terminated?.exitCode === 0;
}

/**
 * The number of init containers, counted from the first, that have tried to start; the first one always counts. Follows kubelet
 * `initializedContainers`.
 */
export function triedToStart(statuses: readonly ContainerStatus[]): number {
  const last = statuses.findLastIndex(hasRun);
  return Math.max(last + 1, Math.min(1, statuses.length));
}

/**
 * The final status of a pod whose end is certain, whatever was observed: every container has an end and the phase is terminal (R204).
 *
 * Follows kubelet `TerminatePod`.
 */
export function terminatedStatus(pod: Pod, status: PodStatus): PodStatus {
  const { containerStatuses, initContainerStatuses } = status;
  const tried = triedToStart(initContainerStatuses ?? []);
  return {
    ...status,
    ...(containerStatuses && hasPodInitialized(pod) && { containerStatuses: containerStatuses.map(withEnd) }),
    ...(initContainerStatuses && {
      initContainerStatuses: initContainerStatuses.map((s, i) => (i < tried ? withEnd(s) : s)),
    }),
    ...(!isStaticPod(pod) && !isTerminalPhase(status.phase) && { phase: 'Failed' }),
  };
}

const withEnd = (status: ContainerStatus): ContainerStatus =>
  status.state?.terminated ? status : { ...status, state: vanished('terminated') };
