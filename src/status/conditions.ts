import { goQuote } from '../go/go-quote.ts';
import { isRestartableInitContainer, matchingRestartRule } from '../kube/restart-policy.ts';
import type { Container, ContainerStatus, Pod, PodCondition, PodSpec, PodStatus } from '../kube/types.ts';
import type { RuntimeContainerStatus, RuntimePodStatus } from '../provider/runtime-pod.ts';
import { podSandboxChanged } from '../provider/sandbox-changed.ts';
import { conditionOf } from './condition-list.ts';
import { isTerminalPhase } from '../kube/pod-phase.ts';
import { initAndRegular } from './container-statuses.ts';

/** Init and regular container statuses together; `undefined` where neither list exists, which differs from empty. */
export type ContainerStatuses = readonly ContainerStatus[] | undefined;

type ConditionType =
  'ContainersReady' | 'Ready' | 'Initialized' | 'PodReadyToStartContainers' | 'PodScheduled';

/** Makes a condition that the kubelet owns, observed at the pod's generation. The status manager sets its transition time. */
export function ownCondition(
  pod: Pod,
  type: ConditionType,
  status: 'True' | 'False',
  why: { readonly reason?: string; readonly message?: string } = {},
): PodCondition {
  const generation = pod.metadata?.generation;
  return generation ? { type, observedGeneration: generation, status, ...why } : { type, status, ...why };
}

const none: readonly never[] = [];

const specOf = (pod: Pod): PodSpec => pod.spec ?? { containers: [] };

/** Names as Go prints a list of them. */
const listed = (names: readonly string[]): string => `[${names.join(' ')}]`;

interface Lacking {
  readonly unknown: readonly string[];
  readonly lacking: readonly string[];
}

function sortOut(
  containers: readonly Container[],
  statuses: readonly ContainerStatus[],
  done: (container: Container, status: ContainerStatus) => boolean,
): Lacking {
  const unknown: string[] = [];
  const lacking: string[] = [];
  containers.forEach((container) => {
    const status = statuses.findLast(({ name }) => name === container.name);
    if (!status) unknown.push(container.name);
    else if (!done(container, status)) lacking.push(container.name);
  });
  return { unknown, lacking };
}

function messageFor({ unknown, lacking }: Lacking, word: string): string {
  if (unknown.length === 0 && lacking.length === 0) return '';
  const parts = [
    unknown.length > 0 ? `containers with unknown status: ${listed(unknown)}` : '',
    lacking.length > 0 ? `containers with ${word} status: ${listed(lacking)}` : '',
  ];
  return parts.filter(Boolean).join(', ');
}

const terminalReason = (phase: string): string => (phase === 'Failed' ? 'PodFailed' : 'PodCompleted');

/** Ready or ContainersReady of a pod that has reached a terminal phase (R202). */
export const terminalCondition = (pod: Pod, type: 'Ready' | 'ContainersReady', phase: string): PodCondition =>
  ownCondition(pod, type, 'False', { reason: terminalReason(phase) });

/**
 * Generates ContainersReady: True when every regular container and sidecar is ready (R216). Follows kubelet
 * `GenerateContainersReadyCondition`.
 */
export function containersReadyCondition(
  pod: Pod,
  statuses: ContainerStatuses,
  phase: string | undefined,
): PodCondition {
  const type = 'ContainersReady';
  if (!statuses) return ownCondition(pod, type, 'False', { reason: 'UnknownContainerStatuses' });
  const { initContainers = [], containers } = specOf(pod);
  const counting =
    initContainers.length === 0
      ? containers
      : [...initContainers.filter(isRestartableInitContainer), ...containers];
  const found = sortOut(counting, statuses, (_, status) => status.ready);
  if (phase === 'Failed' || (phase === 'Succeeded' && found.unknown.length === 0))
    return terminalCondition(pod, type, phase);
  const message = messageFor(found, 'unready');
  return message === ''
    ? ownCondition(pod, type, 'True')
    : ownCondition(pod, type, 'False', { reason: 'ContainersNotReady', message });
}

/**
 * Generates Ready: True when the containers are ready and every readiness gate is True (R217). Follows kubelet `GeneratePodReadyCondition`.
 */
export function readyCondition(
  pod: Pod,
  conditions: readonly PodCondition[] | undefined,
  statuses: ContainerStatuses,
  phase: string | undefined,
): PodCondition {
  return readyAfter(containersReadyCondition(pod, statuses, phase), pod, conditions);
}

/** Generates Ready from a ContainersReady condition that has already been computed. */
export function readyAfter(
  containersReady: PodCondition,
  pod: Pod,
  conditions: readonly PodCondition[] | undefined,
): PodCondition {
  if (containersReady.status !== 'True') return { ...containersReady, type: 'Ready' };
  const unready = (pod.spec?.readinessGates ?? none).flatMap(({ conditionType }) => {
    const gate = goQuote(conditionType);
    const condition = conditionOf(conditions, conditionType);
    if (!condition) return [`corresponding condition of pod readiness gate ${gate} does not exist.`];
    return condition.status === 'True'
      ? []
      : [`the status of pod readiness gate ${gate} is not "True", but ${condition.status}`];
  });
  return unready.length === 0
    ? ownCondition(pod, 'Ready', 'True')
    : ownCondition(pod, 'Ready', 'False', { reason: 'ReadinessGatesNotReady', message: unready.join(', ') });
}

/**
 * Generates Initialized: it stays True once it was True or a regular container has started (R218). Follows kubelet
 * `GeneratePodInitializedCondition`.
 */
export function initializedCondition(
  pod: Pod,
  old: PodStatus,
  statuses: ContainerStatuses,
  phase: string | undefined,
): PodCondition {
  const type = 'Initialized';
  const { initContainers = [], containers } = specOf(pod);
  if (!statuses && initContainers.length > 0)
    return ownCondition(pod, type, 'False', { reason: 'UnknownContainerStatuses' });
  const found = sortOut(initContainers, statuses ?? [], (container, status) =>
    isRestartableInitContainer(container) ? status.started === true : status.ready,
  );
  if (phase === 'Succeeded' && found.unknown.length === 0)
    return ownCondition(pod, type, 'True', { reason: 'PodCompleted' });
  const wasTrue = (old.conditions ?? []).some((one) => one.type === type && one.status === 'True');
  if (wasTrue || hasStarted(containers, statuses ?? [])) return ownCondition(pod, type, 'True');
  const message = messageFor(found, 'incomplete');
  return message === ''
    ? ownCondition(pod, type, 'True')
    : ownCondition(pod, type, 'False', { reason: 'ContainersNotInitialized', message });
}

/** True when any of these containers runs or has run. Follows kubelet `HasAnyRegularContainerStarted`. */
function hasStarted(containers: readonly Container[], statuses: readonly ContainerStatus[]): boolean {
  return statuses.some(
    ({ name, state }) =>
      (state?.running ?? state?.terminated) && containers.some((container) => container.name === name),
  );
}

/** True once the pod has a sandbox with a network (R154). Follows kubelet `GeneratePodReadyToStartContainersCondition`. */
export const readyToStartContainersCondition = (pod: Pod, runtime: RuntimePodStatus): PodCondition =>
  ownCondition(pod, 'PodReadyToStartContainers', podSandboxChanged(pod, runtime).changed ? 'False' : 'True');

/**
 * Generates AllContainersRestarting: True from an exit for which a rule restarts all containers, until the last of the old ones is gone.
 *
 * Follows kubelet `GenerateAllContainersRestartingCondition`.
 */
export function allContainersRestartingCondition(
  pod: Pod,
  old: PodStatus,
  runtime: RuntimePodStatus,
  phase: string | undefined,
): PodCondition {
  const type = 'AllContainersRestarting';
  if (isTerminalPhase(phase)) return { type, status: 'False', reason: terminalReason(phase) };
  if (!restartsAllContainers(pod, old, runtime) || isCleanedUp(pod, runtime))
    return { type, status: 'False' };
  return {
    type,
    status: 'True',
    reason: 'RestartAllContainersStarted',
    message: 'container exited with restart policy rule',
  };
}

/**
 * True while the pod restarts all its containers: from an exit for which a rule says so, until a status was generated without any old
 * instance.
 *
 * Follows kubelet `ShouldAllContainersRestart`.
 */
export function restartsAllContainers(pod: Pod, old: PodStatus, runtime: RuntimePodStatus): boolean {
  if (conditionOf(old.conditions, 'AllContainersRestarting')?.status === 'True') return true;
  return containersIn(pod).some((container) => {
    if (!container.restartPolicyRules) return false;
    const newest = newestOf(container, runtime);
    if (newest?.state !== 'exited') return false;
    const ends = [newest.exitCode, previousExitCode(container.name, old)];
    return ends.some((code) => code !== undefined && asksForAll(container, code));
  });
}

const asksForAll = (container: Container, exitCode: number): boolean =>
  matchingRestartRule(container, exitCode) === 'RestartAllContainers';

/** The exit code of a container in the previous status. */
const previousExitCode = (name: string, old: PodStatus): number | undefined =>
  initAndRegular(old).find((status) => status.name === name)?.state?.terminated?.exitCode;

/** True when no old instance of any container is left. Follows kubelet `AllContainersRestartCleanedUp`. */
const isCleanedUp = (pod: Pod, runtime: RuntimePodStatus): boolean =>
  containersIn(pod).every((container) => newestOf(container, runtime) === undefined);

const newestOf = ({ name }: Container, runtime: RuntimePodStatus): RuntimeContainerStatus | undefined =>
  runtime.containerStatuses.find((status) => status.name === name);

function containersIn(pod: Pod): readonly Container[] {
  const { initContainers = [], containers } = specOf(pod);
  return initContainers.length === 0 ? containers : [...initContainers, ...containers];
}

/**
 * True when the Ready condition in the API differs from the one that the readiness gates call for (R63).
 *
 * Follows kubelet `NeedToReconcilePodReadiness`.
 */
export function needsReadinessReconcile(pod: Pod): boolean {
  if ((pod.spec?.readinessGates ?? []).length === 0) return false;
  const { conditions, containerStatuses, phase } = pod.status ?? {};
  const current = conditionOf(conditions, 'Ready');
  const expected = readyCondition(pod, conditions, containerStatuses, phase);
  return (
    current !== undefined &&
    (current.status !== expected.status || (current.message ?? '') !== (expected.message ?? ''))
  );
}
