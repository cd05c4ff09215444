import type { RuntimeContainerStatus, RuntimePodStatus } from '../../../provider/runtime-pod.ts';

/** Returns the newest instance of a container: statuses are sorted newest first (`FindContainerStatusByName`). */
export const newestStatus = (
  { containerStatuses }: RuntimePodStatus,
  name: string,
): RuntimeContainerStatus | undefined => containerStatuses.find((status) => status.name === name);
