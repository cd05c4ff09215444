import type { Burst } from '../api/cache/burst.ts';
import type { Pod } from '../kube/types.ts';

/** The changes of one node's pods. */
export interface NodeChanges {
  readonly set: Pod[];
  readonly gone: Pod[];
}

/** Divides a burst of changes by node; without the pods that others than the node's kubelet run. */
export function changesByNode(
  { objects, changes }: Burst<Pod>,
  isPlayed: (pod: Pod) => boolean,
): ReadonlyMap<string, NodeChanges> {
  const byNode = new Map<string, NodeChanges>();
  const of = ({ spec }: Pod): NodeChanges => {
    const name = spec?.nodeName ?? '';
    const existing = byNode.get(name);
    if (existing) return existing;
    const fresh: NodeChanges = { set: [], gone: [] };
    byNode.set(name, fresh);
    return fresh;
  };
  for (const pod of changes?.set ?? objects) if (!isPlayed(pod)) of(pod).set.push(pod);
  for (const pod of changes?.gone ?? []) if (!isPlayed(pod)) of(pod).gone.push(pod);
  return byNode;
}
