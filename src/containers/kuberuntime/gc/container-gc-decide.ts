import type { RuntimePodStatus, RuntimeContainerStatus } from '../../../provider/runtime-pod.ts';
import { runtimeId } from '../config/convert.ts';

/** Limits of dead containers; a negative count means no limit. Kubelet's `GCPolicy`. */
export interface ContainerGcPolicy {
  /** Minimum age of a container to be removed, ms. */
  readonly minAgeMs: number;
  /** Dead instances to keep per pod and container name. */
  readonly maxPerPodContainer: number;
  /** Dead instances to keep on the node. */
  readonly maxContainers: number;
}

/** A container as seen by garbage collection. */
export interface GcContainer {
  readonly id: string;
  readonly podUid: string;
  readonly name: string;
  readonly sandboxId: string;
  readonly running: boolean;
  /** ms since the epoch */
  readonly createdAt: number;
}

/** A sandbox as seen by garbage collection. */
export interface GcSandbox {
  readonly id: string;
  readonly podUid: string;
  readonly ready: boolean;
  /** ms since the epoch */
  readonly createdAt: number;
}

/** State of the pods for garbage collection. */
export interface GcPods {
  /** False until every pod source has reported; nothing of unknown pods is removed before. */
  readonly allSourcesReady: boolean;
  /** Also collect from pods that exist but need no container any more (eviction under disk pressure). */
  readonly evictNonDeletedPods: boolean;
  shouldPodContentBeRemoved(uid: string): boolean;
  shouldPodRuntimeBeRemoved(uid: string): boolean;
}

const newestFirst = (a: { createdAt: number }, b: { createdAt: number }): number => b.createdAt - a.createdAt;

const isGone = (uid: string, pods: GcPods): boolean =>
  pods.shouldPodContentBeRemoved(uid) || (pods.evictNonDeletedPods && pods.shouldPodRuntimeBeRemoved(uid));

/**
 * Returns the dead containers to remove: those of deleted pods, then those above the limit per container, then those above the limit per
 * node, oldest first. Follows `evictContainers` (pkg/kubelet/kuberuntime/kuberuntime_gc.go).
 */
export function containersToCollect<T extends GcContainer>(
  containers: readonly T[],
  policy: ContainerGcPolicy,
  pods: GcPods,
  now: number,
): readonly T[] {
  const collected: T[] = [];
  let groups = groupsOf(containers.filter((one) => !one.running && now - one.createdAt >= policy.minAgeMs));
  const keepNewest = (count: number): void => {
    for (const group of groups) collected.push(...group.splice(count).reverse());
  };
  if (pods.allSourcesReady) {
    for (const group of groups.filter(([first]) => first && isGone(first.podUid, pods)))
      collected.push(...group.splice(0).reverse());
    groups = groups.filter(({ length }) => length > 0);
  }
  if (policy.maxPerPodContainer >= 0) keepNewest(policy.maxPerPodContainer);
  if (policy.maxContainers < 0 || totalOf(groups) <= policy.maxContainers) return collected;
  keepNewest(Math.max(1, Math.floor(policy.maxContainers / groups.length)));
  const left = groups.flat().toSorted(newestFirst);
  if (left.length > policy.maxContainers) collected.push(...left.slice(policy.maxContainers).reverse());
  return collected;
}

/** Groups containers by pod and name, each group newest first. */
function groupsOf<T extends GcContainer>(containers: readonly T[]): T[][] {
  const groups = new Map<string, T[]>();
  for (const container of containers.toSorted(newestFirst)) {
    const key = `${container.podUid}/${container.name}`;
    const group = groups.get(key);
    if (group) group.push(container);
    else groups.set(key, [container]);
  }
  return [...groups.values()];
}

const totalOf = (groups: readonly (readonly GcContainer[])[]): number =>
  groups.reduce((total, { length }) => total + length, 0);

/**
 * Returns the sandboxes to remove: not ready, without containers, and not the newest of an existing pod.
 *
 * @param containers the remaining containers, including running ones
 */
export function sandboxesToCollect(
  sandboxes: readonly GcSandbox[],
  containers: readonly Pick<GcContainer, 'sandboxId'>[],
  pods: GcPods,
): readonly GcSandbox[] {
  const inUse = new Set(containers.map(({ sandboxId }) => sandboxId));
  const seen = new Set<string>();
  const collected: GcSandbox[] = [];
  for (const sandbox of sandboxes.toSorted(newestFirst)) {
    const newest = !seen.has(sandbox.podUid);
    seen.add(sandbox.podUid);
    if (sandbox.ready || inUse.has(sandbox.id) || (newest && !isGone(sandbox.podUid, pods))) continue;
    collected.unshift(sandbox);
  }
  return collected;
}

/**
 * Returns the exited instances to remove after the container `filterId` ended (of all names when empty), newest first, except the newest
 * `keep` (R42). An id that is not of this pod gives none. Follows `getContainersToDeleteInPod` (pkg/kubelet/pod_container_deletor.go).
 *
 * @param filterId the runtime's own id
 */
export function containersToDelete(
  filterId: string,
  { containerStatuses }: Pick<RuntimePodStatus, 'containerStatuses'>,
  keep: number,
): readonly RuntimeContainerStatus[] {
  const named = containerStatuses.find(({ id }) => runtimeId(id) === filterId);
  if (filterId !== '' && !named) return [];
  return containerStatuses
    .filter(({ name, state }) => state === 'exited' && (!named || name === named.name))
    .toSorted((a, b) => (b.createdAt ?? 0) - (a.createdAt ?? 0))
    .slice(Math.max(0, keep));
}
