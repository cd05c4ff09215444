import { asksForRestartOfAll } from '../../../kube/restart-policy.ts';
import type { Container, Pod } from '../../../kube/types.ts';
import type { RuntimeContainerStatus, RuntimePodStatus } from '../../../provider/runtime-pod.ts';
import { podSandboxChanged } from '../../../provider/sandbox-changed.ts';
import { newestStatus } from './find.ts';
import { hashContainer } from '../config/hash.ts';
import { computeInitContainerActions } from './init-actions.ts';
import type { KillReason } from '../grace-period.ts';
import { computeResize, podLevelResized } from './resize-actions.ts';
import { restartsOnFailure, shouldStart } from './restart.ts';
import type { ActionInputs, PodActions, ContainerToReset } from './pod-actions.ts';

/**
 * Compares a pod with its runtime state and returns the actions of a sync (R167…R177). Pure.
 * Follows `computePodActions` (pkg/kubelet/kuberuntime/kuberuntime_manager.go).
 */
export function computePodActions(pod: Pod, observed: RuntimePodStatus, inputs: ActionInputs): PodActions {
  const { changed, attempt, sandboxId } = podSandboxChanged(pod, observed);
  const actions: PodActions = {
    killPod: changed,
    createSandbox: changed,
    sandboxId,
    attempt,
    initContainersToStart: [],
    containersToStart: [],
    ephemeralContainersToStart: [],
    containersToKill: new Map(),
    containersToUpdate: { cpu: [], memory: [] },
    updatePodResources: false,
    updatePodLevelResources: false,
    containersToReset: [],
  };
  if (inputs.restartAllContainers) {
    actions.containersToReset = containersToReset(pod, observed);
    return actions;
  }
  if (changed) {
    startInNewSandbox(pod, observed, actions);
    return actions;
  }
  for (const [index, { name }] of (pod.spec?.ephemeralContainers ?? []).entries())
    if (!newestStatus(observed, name)) actions.ephemeralContainersToStart.push(index);
  const initialized = computeInitContainerActions(pod, observed, inputs, actions);
  if (actions.killPod || !initialized) return actions;
  actions.updatePodLevelResources = podLevelResized(pod, inputs);
  computeRegularActions(pod, observed, inputs, actions);
  return actions;
}

/** Adds the containers to start in a new sandbox, or cancels the new sandbox when none is needed (R168…R170). */
function startInNewSandbox(pod: Pod, observed: RuntimePodStatus, actions: PodActions): void {
  const { containers = [], initContainers = [] } = pod.spec ?? {};
  if (restartsNothing(pod) && actions.attempt !== 0 && observed.containerStatuses.length > 0) {
    actions.createSandbox = false;
    return;
  }
  const toStart: number[] = [];
  for (const [index, container] of containers.entries())
    if (!succeededForGood(pod, container, newestStatus(observed, container.name))) toStart.push(index);
  if (toStart.length === 0 && containers.some(({ name }) => newestStatus(observed, name) !== undefined)) {
    actions.createSandbox = false;
    return;
  }
  if (initContainers.length > 0) actions.initContainersToStart = [0];
  else actions.containersToStart = toStart;
}

/** True when every container of the pod succeeded and none may restart, so that no new sandbox is needed (R170). */
const succeededForGood = (
  pod: Pod,
  container: Container,
  status: RuntimeContainerStatus | undefined,
): boolean =>
  (container.restartPolicy ?? pod.spec?.restartPolicy) === 'OnFailure' &&
  status?.state === 'exited' &&
  status.exitCode === 0;

const restartsNothing = (pod: Pod): boolean => pod.spec?.restartPolicy === 'Never';

/**
 * Returns every instance of each regular, then each init container. The exited instance that requested the restart comes last, so that an
 * interrupted reset is resumed.
 */
function containersToReset(pod: Pod, observed: RuntimePodStatus): ContainerToReset[] {
  const first: ContainerToReset[] = [];
  const last: ContainerToReset[] = [];
  for (const container of [...(pod.spec?.containers ?? []), ...(pod.spec?.initContainers ?? [])])
    for (const { id, name, state, exitCode } of observed.containerStatuses) {
      if (name !== container.name) continue;
      const requestedReset = state === 'exited' && asksForRestartOfAll(container, exitCode);
      (requestedReset ? last : first).push({ id, name, kill: state !== 'exited' });
    }
  return [...first, ...last];
}

function computeRegularActions(
  pod: Pod,
  observed: RuntimePodStatus,
  inputs: ActionInputs,
  actions: PodActions,
): void {
  let running = 0;
  for (const [index, container] of (pod.spec?.containers ?? []).entries()) {
    const status = newestStatus(observed, container.name);
    if (status?.state === 'running') {
      if (keepRunning({ pod, container, index, status }, inputs, actions)) running++;
    } else if (shouldStart(pod, container, status)) {
      actions.containersToStart.push(index);
      if (status?.state === 'unknown') {
        const message = `Container is in "unknown" state, try killing it before restart`;
        actions.containersToKill.set(status.id, {
          id: status.id,
          name: status.name,
          message,
          reason: 'Unknown',
        });
      }
    }
  }
  if (running > 0 || actions.containersToStart.length > 0) return;
  actions.killPod = true;
  actions.initContainersToStart = []; // a sidecar must not keep a finished pod alive (R177)
}

interface Running {
  readonly pod: Pod;
  readonly container: Container;
  readonly index: number;
  readonly status: RuntimeContainerStatus;
}

/** Decides whether a running container stays; otherwise adds its kill, and its restart if any, to the actions (R176). */
function keepRunning(running: Running, inputs: ActionInputs, actions: PodActions): boolean {
  const { pod, container, index, status } = running;
  const fault = faultOf(container, status, inputs);
  if (!fault)
    return computeResize({ pod, container, status, inputs }, actions, () =>
      actions.containersToStart.push(index),
    );
  const { id, name } = status;
  const restart = fault.restart ?? restartsOnFailure(pod, container);
  const message = `Container ${container.name} ${fault.what}${restart ? ', will be restarted' : ''}`;
  if (restart) actions.containersToStart.push(index);
  actions.containersToKill.set(id, { id, name, message, reason: fault.reason });
  return false;
}

interface Fault {
  readonly what: string;
  readonly reason: KillReason;
  readonly restart?: boolean;
}

function faultOf(
  container: Container,
  { id, hash }: RuntimeContainerStatus,
  { liveness, startup }: ActionInputs,
): Fault | undefined {
  if (hash !== hashContainer(container)) return { what: 'definition changed', reason: '', restart: true };
  if (liveness.get(id) === 'Failure') return { what: 'failed liveness probe', reason: 'LivenessProbe' };
  if (startup.get(id) === 'Failure') return { what: 'failed startup probe', reason: 'StartupProbe' };
  return undefined;
}
