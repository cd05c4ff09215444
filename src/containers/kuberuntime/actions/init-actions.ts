import { containerShouldRestart, isRestartableInitContainer } from '../../../kube/restart-policy.ts';
import type { Container, Pod } from '../../../kube/types.ts';
import type { RuntimeContainerStatus, RuntimePodStatus } from '../../../provider/runtime-pod.ts';
import type { ActionInputs, PodActions } from './pod-actions.ts';
import { newestStatus } from './find.ts';
import type { KillReason } from '../grace-period.ts';
import { hashContainer } from '../config/hash.ts';
import { restartsOnFailure } from './restart.ts';
import { computeResize } from './resize-actions.ts';

interface Scan {
  readonly pod: Pod;
  readonly inputs: ActionInputs;
  readonly actions: PodActions;
  /** True when the last init container has finished, or a regular container shows that it had. */
  initialized: boolean;
  /** True when a later container has already run. */
  previously: boolean;
}

interface Seen {
  readonly container: Container;
  readonly index: number;
  readonly status: RuntimeContainerStatus;
  readonly last: boolean;
}

/**
 * Computes which init containers start and which sidecars are killed (R172…R174). Scans from last to first: the last one with any status
 * decides, as records of earlier ones may be gone. Returns whether the regular containers may start.
 * Follows `computeInitContainerActions` (pkg/kubelet/kuberuntime/kuberuntime_container.go).
 */
export function computeInitContainerActions(
  pod: Pod,
  observed: RuntimePodStatus,
  inputs: ActionInputs,
  actions: PodActions,
): boolean {
  const containers = pod.spec?.initContainers ?? [];
  if (containers.length === 0) return true;
  const initialized = hasBeenInitialized(pod, observed);
  const scan: Scan = { pod, inputs, actions, initialized, previously: initialized };
  for (const [index, container] of [...containers.entries()].reverse()) {
    const status = newestStatus(observed, container.name);
    if (!status) {
      if (scan.previously && isRestartableInitContainer(container)) actions.initContainersToStart.push(index);
      continue;
    }
    if (scan.previously && !isRestartableInitContainer(container)) continue;
    inspect(scan, { container, index, status, last: index === containers.length - 1 });
    if (actions.killPod) return false;
    scan.previously = true;
  }
  if (!scan.previously) actions.initContainersToStart.push(0);
  actions.initContainersToStart.reverse();
  return scan.initialized;
}

/**
 * True when a regular container shows that initialization finished (R174); exited ones do not count, as after a reboot they belong to the
 * old sandbox.
 */
const hasBeenInitialized = (pod: Pod, observed: RuntimePodStatus): boolean =>
  (pod.spec?.containers ?? []).some(({ name }) => {
    const state = newestStatus(observed, name)?.state;
    return state === 'created' || state === 'running';
  });

function inspect(scan: Scan, seen: Seen): void {
  switch (seen.status.state) {
    case 'created': // its start failed before: retry
      scan.actions.initContainersToStart.push(seen.index);
      return;
    case 'running':
      running(scan, seen);
      return;
    case 'exited':
      exited(scan, seen);
      return;
    case 'unknown':
      unknown(scan, seen);
  }
}

/** Marks this container as finished: the next one starts, or the pod is initialized. */
function advance(scan: Scan, { index, last }: Seen): void {
  if (last) scan.initialized = true;
  else if (!scan.previously) scan.actions.initContainersToStart.push(index + 1);
}

function running(scan: Scan, seen: Seen): void {
  const { container, status, index } = seen;
  const { pod, inputs, actions } = scan;
  const sidecar = isRestartableInitContainer(container);
  if (sidecar && !keepSidecar(scan, seen)) return;
  if (!sidecar && inputs.features?.['InPlacePodVerticalScalingInitContainers'] === false) return;
  computeResize({ pod, container, status, inputs }, actions, () => actions.initContainersToStart.push(index));
}

/** Handles a running sidecar. @returns false when the scan ends here: it restarts, or its startup probe has no result yet */
function keepSidecar(scan: Scan, seen: Seen): boolean {
  const { container, status } = seen;
  const { liveness, startup } = scan.inputs;
  if (container.startupProbe) {
    const started = startup.get(status.id);
    if (started === 'Failure') restart(scan, seen, 'failed startup probe', 'StartupProbe');
    if (started !== 'Success') return false;
  }
  advance(scan, seen);
  if (status.hash !== hashContainer(container)) {
    restart(scan, seen, 'definition changed', '');
    return false;
  }
  if (!container.livenessProbe) return true;
  const alive = liveness.get(status.id);
  if (alive === 'Failure') restart(scan, seen, 'failed liveness probe', 'LivenessProbe');
  return alive === 'Success' || alive === 'Unknown';
}

function restart(
  { actions }: Scan,
  { container, index, status }: Seen,
  what: string,
  reason: KillReason,
): void {
  const message = `Init container ${container.name} ${what}`;
  actions.containersToKill.set(status.id, { id: status.id, name: container.name, message, reason });
  actions.initContainersToStart.push(index);
}

function exited(scan: Scan, seen: Seen): void {
  const { container, status, index } = seen;
  if (isRestartableInitContainer(container)) {
    scan.actions.initContainersToStart.push(index);
    return;
  }
  if (!hasFailed(status)) {
    advance(scan, seen);
    return;
  }
  const { spec, metadata } = scan.pod;
  if (spec && !metadata?.deletionTimestamp && containerShouldRestart(container, spec, status.exitCode))
    scan.actions.initContainersToStart.push(index);
  else giveUp(scan);
}

/** Kills the pod because an init container failed that may not restart (R173). */
function giveUp({ actions }: Scan): void {
  actions.killPod = true;
  actions.initContainersToStart = [];
}

function unknown(scan: Scan, { container, index, status }: Seen): void {
  const { pod, actions } = scan;
  if (!isRestartableInitContainer(container) && !restartsOnFailure(pod, container)) {
    giveUp(scan);
    return;
  }
  const message = 'Init container is in "unknown" state, try killing it before restart';
  actions.containersToKill.set(status.id, {
    id: status.id,
    name: container.name,
    message,
    reason: 'Unknown',
  });
  actions.initContainersToStart.push(index);
}

/** True when an init container failed; OOM-killed counts even with exit code 0 (`isInitContainerFailed`). */
const hasFailed = ({ state, exitCode, reason }: RuntimeContainerStatus): boolean =>
  (state === 'exited' && exitCode !== 0) || state === 'unknown' || reason === 'OOMKilled';
