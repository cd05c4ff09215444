import type {
  RuntimeContainer,
  RuntimeContainerStatus,
  RuntimePod,
  RuntimePodStatus,
  RuntimeSandboxStatus,
} from '../../provider/runtime-pod.ts';
import type { ReportedContainer, ReportedStatus } from '../../provider/reported.ts';
import {
  type EciContainer,
  type EciContainerGroup,
  type EciContainerState,
  hasEnded,
  instantOf,
} from './container-group.ts';
import type { GroupIdentity } from './ownership.ts';

/** The exit code of a container whose end was not seen, as the kubelet reports it. */
const unseenExitCode = 137;
/** The kubelet's reason for it. */
const unseenReason = 'ContainerStatusUnknown';

/** A group of this node, and what the provider knows of it besides. */
export interface ObservedGroup {
  readonly identity: GroupIdentity;
  readonly group: EciContainerGroup;
  /** True from the moment at which the group is known to be gone: what was last seen running has ended unseen. */
  readonly gone: boolean;
  /** When it was observed, ms since the epoch. */
  readonly observedAt: number;
}

/** podStatusOf is the group in the agent's terms: its containers by instance, the group as the sandbox. */
export function podStatusOf({ identity, group, gone, observedAt }: ObservedGroup): RuntimePodStatus {
  const containerStatuses = containersOf(group).flatMap((container) => instancesOf(container, group, gone));
  const ips = [group.IntranetIp, group.Ipv6Address].filter((ip) => ip !== undefined && ip !== '') as string[];
  const reported = reportedOf(group, gone);
  const sandbox = sandboxOf(group, gone, ips);
  return {
    ...identity,
    ips,
    containerStatuses,
    activeContainerStatuses: sandbox.state === 'SANDBOX_READY' ? containerStatuses : [],
    sandboxStatuses: [sandbox],
    observedAt,
    reported,
  };
}

/** runtimePodOf is the group as a listing shows it. */
export function runtimePodOf({ identity, group, gone }: ObservedGroup): RuntimePod {
  const createdAt = instantOf(group.CreationTime);
  const containers = containersOf(group)
    .flatMap((container) => instancesOf(container, group, gone))
    .map(({ id, name, state, image, createdAt: since }): RuntimeContainer => ({
      id,
      name,
      state,
      image,
      ...(since !== undefined && { createdAt: since }),
    }));
  const state = isUp(group, gone) ? 'running' : 'exited';
  const sandbox: RuntimeContainer = {
    id: idOf(group),
    name: '',
    state,
    ...(createdAt !== undefined && { createdAt }),
  };
  return { ...identity, containers, sandboxes: [sandbox], ...(createdAt !== undefined && { createdAt }) };
}

const containersOf = ({ InitContainers, Containers }: EciContainerGroup): readonly EciContainer[] => [
  ...(InitContainers ?? []),
  ...(Containers ?? []),
];

const idOf = ({ ContainerGroupId }: EciContainerGroup): string => `eci://${ContainerGroupId}`;

/** True until the group has ended or is gone. */
const isUp = (group: EciContainerGroup, gone: boolean): boolean => !gone && !hasEnded(group);

function sandboxOf(group: EciContainerGroup, gone: boolean, ips: readonly string[]): RuntimeSandboxStatus {
  const [ip = '', ...additionalIps] = ips;
  return {
    id: idOf(group),
    state: isUp(group, gone) ? 'SANDBOX_READY' : 'SANDBOX_NOTREADY',
    attempt: 0,
    createdAt: instantOf(group.CreationTime) ?? 0,
    networkMode: 'POD',
    network: { ip, ...(additionalIps.length > 0 && { additionalIps }) },
  };
}

/** The lives of a container that the service shows, the newest first. */
function instancesOf(
  container: EciContainer,
  group: EciContainerGroup,
  gone: boolean,
): RuntimeContainerStatus[] {
  const { CurrentState = {}, PreviousState, RestartCount = 0 } = container;
  const ended = gone || hasEnded(group);
  const current = instanceOf(container, group, { state: CurrentState, restartCount: RestartCount, ended });
  const waits = current === undefined;
  // a container that waits for its next start has a count that includes it only when it has started
  const previous =
    PreviousState &&
    instanceOf(container, group, {
      state: PreviousState,
      restartCount: waits ? RestartCount : Math.max(0, RestartCount - 1),
      ended: true,
    });
  return [current, previous].filter((instance) => instance !== undefined);
}

function instanceOf(
  { Name: name = '', Image: image = '' }: EciContainer,
  group: EciContainerGroup,
  { state, restartCount, ended }: { state: EciContainerState; restartCount: number; ended: boolean },
): RuntimeContainerStatus | undefined {
  const startedAt = instantOf(state.StartTime);
  const finishedAt = instantOf(state.FinishTime);
  const shared = {
    id: `${idOf(group)}/${name}#${String(restartCount)}`,
    name,
    image,
    imageId: '',
    imageRef: image,
    hash: 0,
    restartCount,
    ...(startedAt !== undefined && { createdAt: startedAt, startedAt }),
  };
  const kind = (state.State ?? '').toLowerCase();
  if (kind === 'terminated')
    return {
      ...shared,
      state: 'exited',
      exitCode: state.ExitCode ?? unseenExitCode,
      reason: state.ExitCode === undefined ? unseenReason : exitReason(state),
      message: state.Message ?? '',
      ...(finishedAt !== undefined && { finishedAt }),
    };
  if (kind !== 'running') return undefined;
  if (!ended) return { ...shared, state: 'running', exitCode: 0, reason: '', message: '' };
  return {
    ...shared,
    state: 'exited',
    exitCode: unseenExitCode,
    reason: unseenReason,
    message: 'The container group was gone before the end of this container could be read',
  };
}

/** The first text that is not empty: the service sends empty texts for absent members. */
const firstText = (...texts: readonly (string | undefined)[]): string | undefined =>
  texts.find((text) => text !== undefined && text !== '');

function exitReason({ Reason, DetailStatus, ExitCode }: EciContainerState): string {
  return firstText(Reason, DetailStatus) ?? (ExitCode === 0 ? 'Completed' : 'Error');
}

/** What the service says of the group beyond its containers: why it waits, whether it is ready, how it ended. */
function reportedOf(group: EciContainerGroup, gone: boolean): ReportedStatus {
  return {
    ...endOf(group, gone),
    containers: Object.fromEntries(
      containersOf(group).map((container) => [container.Name ?? '', reportedContainer(container, group)]),
    ),
  };
}

function endOf(
  group: EciContainerGroup,
  gone: boolean,
): Pick<ReportedStatus, 'phase' | 'reason' | 'message'> {
  const { Status } = group;
  const because = lastWarning(group);
  if (Status === 'ScheduleFailed')
    return {
      phase: 'Failed',
      reason: 'ECIScheduleFailed',
      message: because ?? 'the group could not be scheduled',
    };
  if (Status === 'Expired')
    return {
      phase: 'Failed',
      reason: 'ECIExpired',
      message: because ?? 'the group has expired, its spot instance was reclaimed',
    };
  if (Status === 'Failed' || Status === 'Succeeded') return { phase: Status };
  if (!gone) return {};
  return {
    phase: 'Failed',
    reason: 'ECIGroupGone',
    message: `container group ${group.ContainerGroupId} is gone from the cloud`,
  };
}

function reportedContainer(
  { CurrentState = {}, Ready }: EciContainer,
  group: EciContainerGroup,
): ReportedContainer {
  const kind = (CurrentState.State ?? '').toLowerCase();
  if (kind === 'running') return { ready: Ready === true, started: true };
  if (kind === 'terminated') return {};
  const reason = firstText(CurrentState.Reason, CurrentState.DetailStatus) ?? 'ContainerCreating';
  const message = firstText(CurrentState.Message, lastWarning(group));
  return { waiting: { reason, ...(message && { message }) } };
}

/** The message of the newest warning of the group. */
function lastWarning({ Events = [] }: EciContainerGroup): string | undefined {
  const warnings = Events.filter(({ Type }) => Type === 'Warning');
  const newest = warnings.reduce<(typeof warnings)[number] | undefined>(
    (latest, event) =>
      (instantOf(event.LastTimestamp) ?? 0) >= (instantOf(latest?.LastTimestamp) ?? 0) ? event : latest,
    undefined,
  );
  if (!newest) return undefined;
  return newest.Reason ? `${newest.Reason}: ${newest.Message ?? ''}` : newest.Message;
}
