import type { ContainerStatus, Pod } from '../../kube/types.ts';
import type { EciContainer, EciContainerGroup, EciContainerState } from './container-group.ts';

/**
 * reportedGroup is the group that the pod's status in the API server names, as it was last reported; undefined while no container of the pod
 * ever ran.
 */
export function reportedGroup({ status = {}, metadata }: Pod): EciContainerGroup | undefined {
  const { initContainerStatuses = [], containerStatuses = [] } = status;
  const ids = [...initContainerStatuses, ...containerStatuses].map(
    ({ containerID = '' }) => /^eci:\/\/([^/]+)\//.exec(containerID)?.[1],
  );
  const groupId = ids.find((id) => id !== undefined);
  if (groupId === undefined) return undefined;
  return {
    ContainerGroupId: groupId,
    Status: 'Running',
    CreationTime: status.startTime ?? metadata?.creationTimestamp ?? '',
    IntranetIp: status.podIP ?? '',
    InitContainers: initContainerStatuses.map(reportedContainer),
    Containers: containerStatuses.map(reportedContainer),
  };
}

const reportedContainer = ({ name, image, ready, restartCount, state }: ContainerStatus): EciContainer => ({
  Name: name,
  Image: image,
  Ready: ready,
  RestartCount: restartCount,
  CurrentState: reportedState(state ?? {}),
});

function reportedState({ running, terminated }: NonNullable<ContainerStatus['state']>): EciContainerState {
  if (running) return { State: 'Running', StartTime: running.startedAt ?? '' };
  if (!terminated) return { State: 'Waiting' };
  return {
    State: 'Terminated',
    StartTime: terminated.startedAt ?? '',
    FinishTime: terminated.finishedAt ?? '',
    ExitCode: terminated.exitCode,
    Reason: terminated.reason ?? '',
    Message: terminated.message ?? '',
  };
}
