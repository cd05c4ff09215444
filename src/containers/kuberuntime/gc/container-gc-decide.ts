import type { RuntimePodStatus, RuntimeContainerStatus } from '../../../provider/runtime-pod.ts';
import { runtimeId } from '../config/convert.ts';

/** How many dead containers stay; a negative count means no limit. Kubelet's `GCPolicy`. */
export interface ContainerGcPolicy {
  /** Younger ones stay, ms. */
  readonly minAgeMs: number;
  /** Dead instances kept per pod and container name. */
  readonly maxPerPodContainer: number;
  /** Dead instances kept on the node. */
  readonly maxContainers: number;
}

/** A container as the collection sees it. */
export interface GcContainer {
  readonly id: string;
  readonly podUid: string;
  readonly name: string;
  readonly sandboxId: string;
  readonly running: boolean;
  /** ms since the epoch */
  readonly createdAt: number;
}

/** A sandbox as the collection sees it. */
export interface GcSandbox {
  readonly id: string;
  readonly podUid: string;
  readonly ready: boolean;
  /** ms since the epoch */
  readonly createdAt: number;
}

/** What is known of pods. */
export interface GcPods {
  /** Nothing of unknown pods is removed before. */
  readonly allSourcesReady: boolean;
  /** Also collect from pods that still exist but need no container any more (eviction under disk pressure). */
  readonly evictNonDeletedPods: boolean;
  shouldPodContentBeRemoved(uid: string): boolean;
  shouldPodRuntimeBeRemoved(uid: string): boolean;
}

const newestFirst = (a: { createdAt: number }, b: { createdAt: number }): number => b.createdAt - a.createdAt;

const isGone = (uid: string, pods: GcPods): boolean =>
  pods.shouldPodContentBeRemoved(uid) || (pods.evictNonDeletedPods && pods.shouldPodRuntimeBeRemoved(uid));

/**
 * Which dead containers go: those of pods that are gone, then what is too much per container, then what is too much in all,
 * oldest first. Follows `evictContainers` (pkg/kubelet/kuberuntime/kuberuntime_gc.go).
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

/** By pod and name, each group newest first. */
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
 * Which sandboxes go: not ready, empty, and not the newest of a pod that is still there.
 *
 * @param containers what remains, running ones included
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
 * R42: exited instances to remove after the container `filterId` ended (all names when empty), newest first, without the newest
 * `keep`. An id that is not of this pod removes nothing. Follows `getContainersToDeleteInPod` (pkg/kubelet/pod_container_deletor.go).
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
