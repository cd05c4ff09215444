import { kinds } from '../../controller/kinds.ts';
import type { Client } from '../../controller/types.ts';
import { uidOf } from '../workload/objects.ts';
import type { Condition, Pod } from '../workload/types.ts';

/** A change of a pod's status. Conditions are set by their types; new ones come last. */
export interface PodStatusChange {
  readonly phase?: string;
  readonly observedGeneration?: number;
  readonly conditions?: readonly Condition[];
}

/** Changes the status of a pod whatever its kubelet has written meanwhile (`PatchPodStatus`). */
export async function patchPodStatus(
  client: Client,
  pod: Pod,
  change: PodStatusChange,
  signal: AbortSignal,
): Promise<void> {
  const types = [...(pod.status?.conditions ?? []), ...(change.conditions ?? [])].map(({ type }) => type);
  const order = [...new Set(types)].map((type) => ({ type }));
  const status = { ...change, ...(change.conditions && { '$setElementOrder/conditions': order }) };
  const data = (): object => ({ metadata: { uid: uidOf(pod) }, status });
  await client.status.patch(kinds.Pod, pod, { type: 'strategic', data }, { signal });
}
