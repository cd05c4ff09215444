import type { RuntimeContainerStatus, RuntimePodStatus } from '../../../provider/runtime-pod.ts';

/** The newest instance of a container: statuses come newest first, so the first match counts (`FindContainerStatusByName`). */
export const newestStatus = (
  { containerStatuses }: RuntimePodStatus,
  name: string,
): RuntimeContainerStatus | undefined => containerStatuses.find((status) => status.name === name);
