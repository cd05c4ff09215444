import { isRestartableInitContainer } from '../kube/restart-policy.ts';
import type { ContainerStatus, Pod, PodStatus } from '../kube/types.ts';

/** The three kinds of probes. */
export type ProbeType = 'liveness' | 'readiness' | 'startup';

/** The last result of a probe; `Unknown` before the first one. */
export type ProbeResult = 'Success' | 'Failure' | 'Unknown';

/** The probe results that a pod status needs. */
export interface ProbeView {
  /** When the probe manager was created, ms since the epoch. */
  readonly startedAt: number;
  resultOf(type: ProbeType, containerId: string): ProbeResult | undefined;
  hasWorker(type: ProbeType, container: string): boolean;
}

/** A pod status with the probe results, and the probes that should run at once. */
export interface ProbedStatus {
  readonly status: PodStatus;
  /** The names of the containers whose readiness probe should run at once: they run and are not known to be ready. */
  readonly probeNow: readonly string[];
}

/**
 * Sets `started` and `ready` in the container statuses of a pod (R240). Pure.
 *
 * Follows kubelet `prober.UpdatePodStatus`.
 */
export function updatePodStatus(pod: Pod, status: PodStatus, view: ProbeView): ProbedStatus {
  const { initContainerStatuses: init, containerStatuses } = status;
  const inits = pod.spec?.initContainers ?? [];
  const sidecars = new Map(inits.map((container) => [container.name, isRestartableInitContainer(container)]));
  const lasting = [...(containerStatuses ?? []), ...(init ?? []).filter(({ name }) => sidecars.get(name))];
  return {
    status: {
      ...status,
      ...(containerStatuses && {
        containerStatuses: containerStatuses.map((container) => probed(pod, container, view)),
      }),
      ...(init && { initContainerStatuses: probedInit(pod, init, sidecars, view) }),
    },
    probeNow: lasting.filter((container) => wantsProbe(container, view)).map(({ name }) => name),
  };
}

const wantsProbe = (status: ContainerStatus, view: ProbeView): boolean =>
  view.hasWorker('readiness', status.name) &&
  view.resultOf('readiness', status.containerID ?? '') !== 'Success' &&
  isStarted(status, view);

function probedInit(
  pod: Pod,
  statuses: readonly ContainerStatus[],
  sidecars: ReadonlyMap<string, boolean>,
  view: ProbeView,
): readonly ContainerStatus[] {
  return statuses.map((container) =>
    sidecars.get(container.name)
      ? probed(pod, container, view)
      : withInitReady(withStarted(container, isStarted(container, view)), sidecars),
  );
}

const withStarted = (status: ContainerStatus, started: boolean): ContainerStatus =>
  status.started === started ? status : { ...status, started };

/** Sets `ready` of an init container: true once it has exited with 0. */
function withInitReady(status: ContainerStatus, names: ReadonlyMap<string, boolean>): ContainerStatus {
  const done = names.has(status.name) && status.state?.terminated?.exitCode === 0;
  return done && !status.ready ? { ...status, ready: true } : status;
}

function probed(pod: Pod, status: ContainerStatus, view: ProbeView): ContainerStatus {
  const started = isStarted(status, view);
  const ready = started ? isReady(pod, status, view) : status.ready;
  return status.started === started && status.ready === ready ? status : { ...status, started, ready };
}

function isStarted(status: ContainerStatus, view: ProbeView): boolean {
  if (!status.state?.running) return false;
  const result = view.resultOf('startup', status.containerID ?? '');
  if (result !== undefined) return result === 'Success';
  // R226: after a restart of the agent the previous value stands until the probe has run
  return status.started === true || !view.hasWorker('startup', status.name);
}

/** Containers that started more than this before the probe manager, ms, were started by an earlier run of the agent. */
export const restartGraceMs = 10_000;

function isReady(pod: Pod, status: ContainerStatus, view: ProbeView): boolean {
  const result = view.resultOf('readiness', status.containerID ?? '');
  if (result === 'Success') return true;
  const probing = view.hasWorker('readiness', status.name);
  if (probing && result !== undefined) return false;
  const startedAt = Date.parse(status.state?.running?.startedAt ?? '');
  const fromBefore = startedAt < view.startedAt - restartGraceMs;
  return fromBefore ? !hasReadinessProbe(pod, status.name) || wasReady(pod) : !probing;
}

const hasReadinessProbe = (pod: Pod, name: string): boolean =>
  [...(pod.spec?.containers ?? []), ...(pod.spec?.initContainers ?? [])].some(
    (container) => container.name === name && container.readinessProbe !== undefined,
  );

const wasReady = (pod: Pod): boolean =>
  pod.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') ?? false;
