import { isTerminalPhase } from '../../kube/pod-phase.ts';
import { nameOf, namespaceOf, uidOf } from '../../kube/names.ts';
import type { ContainerState, ContainerStatus, Pod, PodCondition } from '../../kube/types.ts';
import type { PodRef } from '../../provider/refs.ts';
import type { ReportedContainer, ReportedStatus } from '../../provider/reported.ts';
import type {
  RuntimeContainerStatus,
  RuntimePod,
  RuntimePodStatus,
  RuntimeSandboxStatus,
} from '../../provider/runtime-pod.ts';

/** The exit code of a container whose end was not seen, as the kubelet reports it. */
const unseenExitCode = 137;
/** The kubelet's reason for it. */
const unseenReason = 'ContainerStatusUnknown';
/** The reason of a pod whose backing pod was deleted by someone else. */
export const deletedReason = 'BackingPodDeleted';
/** How long after a forced deletion containers may still be shown as running, ms: the backing node may never report their end. */
export const forcedEndMs = 30_000;

/** A backing pod, and what the provider knows besides. */
export interface ObservedBacking {
  readonly identity: PodRef;
  readonly pod: Pod;
  /** True once the backing cluster has no such pod any more. */
  readonly gone: boolean;
  /** True when this agent deleted it. */
  readonly stopped: boolean;
  /** When it was observed, ms since the epoch. */
  readonly observedAt: number;
}

const allStatuses = ({ status }: Pod): readonly ContainerStatus[] => [
  ...(status?.initContainerStatuses ?? []),
  ...(status?.containerStatuses ?? []),
  ...(status?.ephemeralContainerStatuses ?? []),
];

/** ms since the epoch; undefined for no time, or the epoch itself, by which the kubelet says that it does not know. */
const instantOf = (time: string | undefined): number | undefined => Date.parse(time ?? '') || undefined;

/**
 * True once nothing of a backing pod runs, and nothing will: its phase is terminal, or it was deleted and its node has confirmed that, or had
 * the time to after a forced deletion.
 */
export function isOver({ pod, gone }: Pick<ObservedBacking, 'pod' | 'gone'>, now: number): boolean {
  if (gone || isTerminalPhase(pod.status?.phase)) return true;
  const { deletionTimestamp, deletionGracePeriodSeconds } = pod.metadata ?? {};
  if (deletionTimestamp === undefined) return false;
  if ((pod.spec?.nodeName ?? '') === '') return true;
  if (deletionGracePeriodSeconds !== 0) return false;
  const runs = allStatuses(pod).some(({ state }) => state?.running != null);
  return !runs || now >= (instantOf(deletionTimestamp) ?? 0) + forcedEndMs;
}

/** A backing pod as the runtime status of its pod: its containers by instance, the pod as the sandbox. */
export function podStatusOf(observed: ObservedBacking, now: number): RuntimePodStatus {
  const over = isOver(observed, now);
  const { identity, pod, observedAt } = observed;
  const containerStatuses = allStatuses(pod).flatMap((status) => instancesOf(status, pod, over));
  const ips = over ? [] : ipsOf(pod);
  return {
    ...identity,
    ips,
    containerStatuses,
    activeContainerStatuses: over ? [] : containerStatuses,
    sandboxStatuses: [sandboxOf(pod, over)],
    observedAt,
    reported: reportedOf(observed, over),
  };
}

/** A backing pod as a listing shows it. */
export function runtimePodOf(observed: ObservedBacking, now: number): RuntimePod {
  const { identity, pod } = observed;
  const over = isOver(observed, now);
  const sandbox = sandboxOf(pod, over);
  const createdAt = instantOf(pod.metadata?.creationTimestamp);
  return {
    ...identity,
    ...(createdAt !== undefined && { createdAt }),
    containers: allStatuses(pod)
      .flatMap((status) => instancesOf(status, pod, over))
      .map(({ id, name, state, image, imageId, createdAt: since }) => ({
        ...{ id, name, state, image, imageId },
        ...(since !== undefined && { createdAt: since }),
      })),
    sandboxes: [
      { id: sandbox.id, name: '', state: over ? 'exited' : 'running', createdAt: sandbox.createdAt },
    ],
  };
}

const ipsOf = ({ status }: Pod): readonly string[] => {
  const ips = (status?.podIPs ?? []).map(({ ip }) => ip);
  return ips.length > 0 ? ips : [status?.podIP ?? ''].filter((ip) => ip !== '');
};

function sandboxOf(pod: Pod, over: boolean): RuntimeSandboxStatus {
  const [ip = '', ...additionalIps] = ipsOf(pod);
  return {
    id: `kubernetes://${uidOf(pod)}`,
    state: over ? 'SANDBOX_NOTREADY' : 'SANDBOX_READY',
    attempt: 0,
    createdAt: instantOf(pod.metadata?.creationTimestamp) ?? 0,
    networkMode: pod.spec?.hostNetwork === true ? 'NODE' : 'POD',
    network: { ip, ...(additionalIps.length > 0 && { additionalIps }) },
  };
}

/** The instances of a container that the backing cluster shows, newest first. */
function instancesOf(status: ContainerStatus, pod: Pod, over: boolean): readonly RuntimeContainerStatus[] {
  const { state = {}, lastState = {}, restartCount } = status;
  const current = instanceOf(status, state, { pod, over, restartCount });
  // while a container waits for its next start, its count includes the instance that has ended
  const before = Math.max(0, restartCount - (current ? 1 : 0));
  const previous = instanceOf(status, lastState, { pod, over: true, restartCount: before });
  return [current, previous].filter((instance) => instance !== undefined);
}

interface Instance {
  readonly pod: Pod;
  readonly over: boolean;
  readonly restartCount: number;
}

function instanceOf(
  status: ContainerStatus,
  { running, terminated }: ContainerState,
  of: Instance,
): RuntimeContainerStatus | undefined {
  if (terminated) return endedInstance(status, terminated, of);
  if (!running) return undefined;
  const shared = sharedOf(status, { containerId: status.containerID, startedAt: running.startedAt }, of);
  if (!of.over) return { ...shared, state: 'running', exitCode: 0, reason: '', message: '' };
  return {
    ...shared,
    state: 'exited',
    exitCode: unseenExitCode,
    reason: unseenReason,
    message: 'The backing pod ended before the end of this container could be read',
  };
}

function endedInstance(
  status: ContainerStatus,
  terminated: NonNullable<ContainerState['terminated']>,
  of: Instance,
): RuntimeContainerStatus {
  const { exitCode, message = '', startedAt } = terminated;
  const finishedAt = instantOf(terminated.finishedAt);
  return {
    ...sharedOf(status, { containerId: terminated.containerID ?? status.containerID, startedAt }, of),
    state: 'exited',
    exitCode,
    reason: terminated.reason ?? (exitCode === 0 ? 'Completed' : 'Error'),
    message,
    ...(finishedAt !== undefined && { finishedAt }),
  };
}

/** What instances have in common, in whatever state. */
function sharedOf(
  { name, image, imageID }: ContainerStatus,
  {
    containerId,
    startedAt,
  }: { readonly containerId: string | undefined; readonly startedAt: string | undefined },
  { pod, restartCount }: Instance,
): Pick<
  RuntimeContainerStatus,
  'id' | 'name' | 'image' | 'imageId' | 'imageRef' | 'restartCount' | 'startedAt'
> {
  const at = instantOf(startedAt);
  return {
    id: instanceId(pod, name, { containerId, restartCount }),
    ...{ name, image, imageId: imageID, imageRef: imageID, restartCount },
    ...(at !== undefined && { createdAt: at, startedAt: at }),
  };
}

/** The ID of a container of the backing runtime, under this provider's scheme. */
function instanceId(
  pod: Pod,
  name: string,
  {
    containerId = '',
    restartCount,
  }: { readonly containerId: string | undefined; readonly restartCount: number },
): string {
  const id = containerId.replace(/^[^:]*:\/\//, '');
  return `kubernetes://${id === '' ? `${uidOf(pod)}/${name}/${restartCount}` : id}`;
}

function reportedOf(observed: ObservedBacking, over: boolean): ReportedStatus {
  const { pod } = observed;
  const { hostIP } = pod.status ?? {};
  return {
    ...endOf(observed, over),
    ...(hostIP !== undefined && { hostIp: hostIP }),
    conditions: conditionsOf(pod),
    containers: Object.fromEntries([...reportedContainers(pod)]),
  };
}

/** The reason of a pod that is not ready because the phase of its backing pod is Unknown. */
const unknownReason = 'BackingPodUnknown';

/** The conditions that the pod takes over. A backing pod whose phase is Unknown is not ready, whatever was last said of it. */
function conditionsOf({ status }: Pod): readonly PodCondition[] {
  const own = (status?.conditions ?? []).filter(isPassedOn);
  if (status?.phase !== 'Unknown') return own;
  const message = 'The backing cluster has lost contact with the pod';
  return [
    ...own.filter(({ type }) => type === 'DisruptionTarget'),
    ...['Ready', 'ContainersReady'].map(
      (type) => ({ type, status: 'False', reason: unknownReason, message }) as const,
    ),
  ];
}

/** Conditions of the backing pod that hold for the pod too. */
const isPassedOn = ({ type, status }: PodCondition): boolean =>
  type === 'Ready' || type === 'ContainersReady' || (type === 'DisruptionTarget' && status === 'True');

/** How the pod ended, and why. */
function endOf(
  observed: ObservedBacking,
  over: boolean,
): Pick<ReportedStatus, 'phase' | 'reason' | 'message'> {
  const { pod, stopped } = observed;
  const { phase, reason, message } = pod.status ?? {};
  const reported = { ...(reason && { reason }), ...(message && { message }) };
  if (!over) return reported;
  const isOwnEnd =
    stopped || !isDeleted(observed) || hasFailedFor(reported.reason, phase) || hasSucceeded(pod);
  if (!isOwnEnd) return { phase: 'Failed', reason: deletedReason, message: whyDeleted(pod) };
  return phase === 'Failed' || phase === 'Succeeded' ? { phase, ...reported } : reported;
}

const isDeleted = ({ pod, gone }: ObservedBacking): boolean =>
  gone || pod.metadata?.deletionTimestamp !== undefined;

/** True for a pod whose node says why it has failed: that is more than a deletion says. */
const hasFailedFor = (reason: string | undefined, phase: string | undefined): boolean =>
  phase === 'Failed' && reason !== undefined;

/** True for a pod that has done its work. One that runs for ever and ends well because it was deleted has not. */
const hasSucceeded = ({ spec, status }: Pod): boolean =>
  status?.phase === 'Succeeded' && spec?.restartPolicy !== 'Always';

function whyDeleted(pod: Pod): string {
  const disruption = pod.status?.conditions?.find(
    ({ type, status }) => type === 'DisruptionTarget' && status === 'True',
  );
  const because = disruption ? [disruption.reason, disruption.message].filter(Boolean) : [];
  return [`pod ${namespaceOf(pod)}/${nameOf(pod)} was deleted in the backing cluster`, ...because].join(': ');
}

function* reportedContainers(pod: Pod): Generator<[string, ReportedContainer]> {
  const shown = new Map(allStatuses(pod).map((status) => [status.name, status]));
  const { initContainers = [], containers = [] } = pod.spec ?? {};
  for (const { name } of [...initContainers, ...containers])
    if (!shown.has(name)) yield [name, { waiting: whyUnscheduled(pod) ?? { reason: defaultWaiting } }];
  for (const status of shown.values()) {
    const reported = reportedContainer(status);
    if (reported) yield [status.name, reported];
  }
}

const defaultWaiting = 'ContainerCreating';

function reportedContainer({
  state = {},
  ready,
  started = true,
}: ContainerStatus): ReportedContainer | undefined {
  const { waiting, running } = state;
  if (running) return { ready, started };
  if (!waiting) return undefined;
  const { reason = defaultWaiting, message } = waiting;
  return { waiting: { reason, ...(message && { message }) } };
}

/** Why the backing cluster has not placed the pod. */
function whyUnscheduled({ status }: Pod): ReportedContainer['waiting'] | undefined {
  const scheduled = status?.conditions?.find(({ type }) => type === 'PodScheduled');
  if (scheduled?.status !== 'False' || scheduled.reason === 'SchedulingGated') return undefined;
  const { reason, message } = scheduled;
  return { reason: reason ?? 'Unschedulable', ...(message && { message }) };
}

/** A backing pod that is gone without a trace, made from what its pod last reported. */
export function lostBacking(pod: Pod, place: { readonly name: string; readonly namespace: string }): Pod {
  return {
    metadata: place,
    spec: pod.spec ?? { containers: [] },
    status: {
      ...(pod.status?.initContainerStatuses && { initContainerStatuses: pod.status.initContainerStatuses }),
      ...(pod.status?.containerStatuses && { containerStatuses: pod.status.containerStatuses }),
    },
  };
}

/** True for a pod whose status shows containers of this provider. */
export const wasStarted = (pod: Pod): boolean =>
  allStatuses(pod).some(({ containerID, lastState, state }) =>
    [containerID, state?.terminated?.containerID, lastState?.terminated?.containerID].some((id) =>
      (id ?? '').startsWith('kubernetes://'),
    ),
  );
