import type { ContainerStatus, Pod, PodPhase, PodStatus } from '../kube/types.ts';
import type { ReportedContainer, ReportedStatus } from '../provider/reported.ts';
import {
  emptyPodStatus,
  type RuntimeContainerStatus,
  type RuntimePod,
  type RuntimePodStatus,
} from '../provider/runtime-pod.ts';

/** The status of a container whose end was not observed, in the kubelet's words. */
export const unknownEnd = {
  exitCode: 137,
  reason: 'ContainerStatusUnknown',
  message: 'The container could not be located when the pod was terminated',
} as const;

const phases: ReadonlySet<string> = new Set(['Pending', 'Running', 'Succeeded', 'Failed']);

/** What identifies a pod, and what its containers are called. */
export interface PodShape {
  readonly uid: string;
  readonly name: string;
  readonly namespace: string;
  readonly provider: string;
  /** Absent: of the pod no spec is known. */
  readonly pod: Pod | undefined;
}

/**
 * A pod status that a provider gave, as the agent's runtime status. Providers may say anything: what has not the type that it should have counts
 * as not said, and a container of no name is left out.
 */
export function runtimeStatusOf(shape: PodShape, reported: PodStatus | undefined): RuntimePodStatus {
  const { uid, name, namespace, provider, pod } = shape;
  const status = objectOf(reported);
  if (!status) return emptyPodStatus({ uid, name, namespace });
  const phase = phaseOf(status);
  const listed = allContainers(status);
  const containers = listed.length > 0 ? listed : impliedBy(phase, shape, status);
  const containerStatuses = containers.flatMap((one) => instancesOf(one, shape));
  const active = containers.flatMap((one) => instancesOf(one, shape).slice(0, 1));
  const ips = addressesOf(status);
  const ended = phase === 'Succeeded' || phase === 'Failed';
  const isUp = !ended || containerStatuses.some(({ state }) => state === 'running');
  return {
    uid,
    name,
    namespace,
    ips,
    containerStatuses,
    activeContainerStatuses: active,
    sandboxStatuses: [
      {
        id: `${provider}://${uid}`,
        state: isUp ? 'SANDBOX_READY' : 'SANDBOX_NOTREADY',
        attempt: 0,
        createdAt: timeOf(status.startTime) ?? 0,
        networkMode: pod?.spec?.hostNetwork === true ? 'NODE' : 'POD',
        network: { ip: ips[0] ?? '', additionalIps: ips.slice(1) },
      },
    ],
    reported: reportedOf(status, containers),
  };
}

/** The pod as a listing shows it. */
export const listedOf = (status: RuntimePodStatus): RuntimePod => ({
  uid: status.uid,
  name: status.name,
  namespace: status.namespace,
  containers: status.activeContainerStatuses.map(({ id, name, state, image, imageId, createdAt }) => ({
    id,
    name,
    state,
    image,
    imageId,
    ...(createdAt !== undefined && { createdAt }),
  })),
  sandboxes: status.sandboxStatuses.map(({ id, state }) => ({
    id,
    name: '',
    state: state === 'SANDBOX_READY' ? 'running' : 'exited',
  })),
});

/** The status of a pod that is gone: nothing of it runs, and ends that were not observed are unknown. */
export const goneStatus = (status: RuntimePodStatus, reported: ReportedStatus): RuntimePodStatus => {
  const ended = (one: RuntimeContainerStatus): RuntimeContainerStatus =>
    one.state === 'running' ? { ...one, ...unknownEnd, state: 'exited' } : one;
  return {
    ...status,
    containerStatuses: status.containerStatuses.map(ended),
    activeContainerStatuses: status.activeContainerStatuses.map(ended),
    sandboxStatuses: status.sandboxStatuses.map((one) => ({ ...one, state: 'SANDBOX_NOTREADY' })),
    reported,
  };
};

/** Whether the pod has ended by itself: its phase says so, or its containers have all exited. */
export const hasEnded = ({ reported, containerStatuses }: RuntimePodStatus): boolean =>
  reported?.phase === 'Succeeded' ||
  reported?.phase === 'Failed' ||
  (containerStatuses.length > 0 && containerStatuses.every(({ state }) => state === 'exited'));

/** Whether something of the pod runs or may run yet. */
export const isUp = (status: RuntimePodStatus): boolean =>
  status.containerStatuses.some(({ state }) => state === 'running') ||
  status.sandboxStatuses.some(({ state }) => state === 'SANDBOX_READY');

/** The value, if it is an object of whatever members. */
const objectOf = <T extends object>(value: T | null | undefined): T | undefined =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined;
const listOf = <T>(value: readonly T[] | undefined): readonly T[] =>
  Array.isArray(value) ? (value as readonly T[]) : [];
const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');
const numberOf = (value: unknown, otherwise: number): number =>
  typeof value === 'number' && Number.isFinite(value) ? value : otherwise;

function timeOf(value: unknown): number | undefined {
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? undefined : value.getTime();
  const at = typeof value === 'string' ? Date.parse(value) : Number.NaN;
  return Number.isNaN(at) ? undefined : at;
}

const phaseOf = ({ phase }: PodStatus): PodPhase | undefined =>
  typeof phase === 'string' && phases.has(phase) ? (phase as PodPhase) : undefined;

const allContainers = (status: PodStatus): readonly ContainerStatus[] =>
  [status.initContainerStatuses, status.containerStatuses, status.ephemeralContainerStatuses]
    .flatMap((list) => listOf(list))
    .filter((one) => textOf(objectOf(one)?.name) !== '');

/** Providers that know a phase alone: a pod that runs has containers that run. */
function impliedBy(
  phase: PodPhase | undefined,
  { pod }: PodShape,
  { startTime }: PodStatus,
): readonly ContainerStatus[] {
  if (phase !== 'Running') return [];
  return (pod?.spec?.containers ?? []).map(({ name, image = '' }) => ({
    name,
    image,
    imageID: '',
    ready: true,
    restartCount: 0,
    state: { running: { ...(startTime != null && { startedAt: startTime }) } },
  }));
}

/** Instances of one container, the present one first. */
function instancesOf(container: ContainerStatus, shape: PodShape): readonly RuntimeContainerStatus[] {
  const state = objectOf(container.state) ?? {};
  const last = objectOf(container.lastState)?.terminated;
  const restarts = Math.max(0, numberOf(container.restartCount, 0));
  const own = textOf(container.containerID);
  const id = (count: number): string =>
    `${shape.provider}://${shape.uid}/${container.name}${count > 0 ? `/${count}` : ''}`;
  const base = {
    name: container.name,
    image: textOf(container.image),
    imageId: textOf(container.imageID),
    imageRef: textOf(container.imageID),
    hash: 0,
    exitCode: 0,
    reason: '',
    message: '',
  };
  const before = last && {
    ...base,
    ...endOf(last),
    id: textOf(last.containerID) || id(Math.max(0, restarts - 1)),
  };
  const created = { restartCount: restarts, id: own || id(restarts) };
  if (state.running) {
    const startedAt = timeOf(state.running.startedAt);
    const now: RuntimeContainerStatus = {
      ...base,
      ...created,
      state: 'running',
      ...(startedAt !== undefined && { startedAt, createdAt: startedAt }),
    };
    return before
      ? [now, { ...before, restartCount: Math.max(0, restarts - 1), createdAt: before.createdAt ?? 0 }]
      : [now];
  }
  if (state.terminated) return [{ ...base, ...endOf(state.terminated), ...created }];
  return before ? [{ ...before, restartCount: restarts }] : [];
}

type Terminated = NonNullable<NonNullable<ContainerStatus['state']>['terminated']>;

function endOf(
  end: Terminated,
): Pick<
  RuntimeContainerStatus,
  'state' | 'exitCode' | 'reason' | 'message' | 'startedAt' | 'finishedAt' | 'createdAt'
> {
  const startedAt = timeOf(end.startedAt);
  const finishedAt = timeOf(end.finishedAt);
  return {
    state: 'exited',
    exitCode: numberOf(end.exitCode, unknownEnd.exitCode),
    reason: textOf(end.reason),
    message: textOf(end.message),
    ...(startedAt !== undefined && { startedAt, createdAt: startedAt }),
    ...(finishedAt !== undefined && { finishedAt }),
  };
}

function addressesOf({ podIPs, podIP }: PodStatus): readonly string[] {
  const all = [textOf(podIP), ...listOf(podIPs).map((one) => textOf(objectOf(one)?.ip))];
  return [...new Set(all.filter((ip) => ip !== ''))];
}

function reportedOf(status: PodStatus, containers: readonly ContainerStatus[]): ReportedStatus {
  const phase = phaseOf(status);
  const [reason, message, hostIp] = [status.reason, status.message, status.hostIP].map(textOf);
  const conditions = listOf(status.conditions).filter((one) => textOf(objectOf(one)?.type) !== '');
  const notes = containers.map((one) => [one.name, noteOf(one)] as const);
  return {
    ...(phase && { phase }),
    ...(reason && { reason }),
    ...(message && { message }),
    ...(hostIp && { hostIp }),
    ...(conditions.length > 0 && { conditions }),
    ...(notes.length > 0 && { containers: Object.fromEntries(notes) }),
  };
}

function noteOf({ ready, started, state }: ContainerStatus): ReportedContainer {
  const waiting = objectOf(objectOf(state)?.waiting);
  const [reason, message] = [textOf(waiting?.reason), textOf(waiting?.message)];
  return {
    ...(typeof ready === 'boolean' && { ready }),
    ...(typeof started === 'boolean' && { started }),
    ...(waiting && { waiting: { ...(reason && { reason }), ...(message && { message }) } }),
  };
}
