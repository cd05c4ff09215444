import type { ContainerStatus, PodCondition, PodPhase, PodStatus } from '../kube/types.ts';
import type { ReportedContainer, ReportedStatus } from '../provider/reported.ts';
import type { RuntimePodStatus } from '../provider/runtime-pod.ts';
import { conditionOf, replaceOrAppend } from './condition-list.ts';
import { isTerminalPhase } from '../kube/pod-phase.ts';

/**
 * The terminal phase that a backend reports, if any. It is ignored while a container of the pod runs.
 */
export function reportedEnd({ reported, containerStatuses }: RuntimePodStatus): PodPhase | undefined {
  if (!isTerminalPhase(reported?.phase)) return undefined;
  return containerStatuses.some(({ state }) => state === 'running') ? undefined : reported.phase;
}

/** The reason and message that the backend reports. */
export const reportedReason = ({
  reason,
  message,
}: ReportedStatus): Pick<PodStatus, 'reason' | 'message'> => ({
  ...(reason && { reason }),
  ...(message && { message }),
});

/**
 * Adds what the backend reports to the container statuses: why they wait, and whether they have started and are ready.
 *
 * @param probedByAgent true when the agent runs the pod's probes: a container is then ready only when both the agent and the backend say so
 */
export function withReportedContainers(
  status: PodStatus,
  { containers }: ReportedStatus,
  probedByAgent: boolean,
): PodStatus {
  if (!containers) return status;
  const merged = (lists: readonly ContainerStatus[] | undefined): readonly ContainerStatus[] | undefined =>
    lists?.map((one) => withReported(one, containers[one.name] ?? {}, probedByAgent));
  const regular = merged(status.containerStatuses);
  const init = merged(status.initContainerStatuses);
  return {
    ...status,
    ...(regular && { containerStatuses: regular }),
    ...(init && { initContainerStatuses: init }),
  };
}

function withReported(
  status: ContainerStatus,
  { waiting, ready, started }: ReportedContainer,
  probedByAgent: boolean,
): ContainerStatus {
  const { state = {} } = status;
  if (state.running) {
    const isUp = (own: boolean | undefined, backend: boolean): boolean =>
      backend && (own === true || !probedByAgent);
    return {
      ...status,
      ...(ready !== undefined && { ready: isUp(status.ready, ready) }),
      ...(started !== undefined && { started: isUp(status.started, started) }),
    };
  }
  if (!waiting) return status;
  return { ...status, ...(state.terminated && { lastState: state }), state: { waiting }, ready: false };
}

/**
 * Sets ContainersReady and Ready to False where the backend reports them so: a pod whose containers are ready may still not be ready. Adds
 * DisruptionTarget where the backend reports it, unless the pod has it already.
 */
export function withReportedConditions(
  conditions: readonly PodCondition[],
  reported: ReportedStatus,
): readonly PodCondition[] {
  const disruption = conditionOf(reported.conditions, 'DisruptionTarget');
  const isNew =
    disruption?.status === 'True' && conditionOf(conditions, 'DisruptionTarget')?.status !== 'True';
  return ['ContainersReady', 'Ready'].reduce(
    (list, type) => {
      const condition = conditionOf(reported.conditions, type);
      const own = conditionOf(list, type);
      if (condition?.status !== 'False' || own?.status !== 'True') return list;
      const { reason, message } = condition;
      return replaceOrAppend(list, {
        ...own,
        status: 'False',
        ...(reason && { reason }),
        ...(message && { message }),
      });
    },
    isNew ? replaceOrAppend(conditions, disruption) : conditions,
  );
}
