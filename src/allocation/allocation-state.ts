import type { Members } from '../base/members.ts';
import { uidOf } from '../kube/names.ts';
import {
  type PodResourceInfo,
  type PodResourceMap,
  podResourcesOf,
  withPodResources,
} from '../kube/resources/pod-resources.ts';
import type { Pod } from '../kube/types.ts';

/** AllocationState holds the allocated resources of this node's pods, by UID. Kubelet's `state.State`. */
export class AllocationState {
  readonly #pods: Map<string, PodResourceInfo>;

  /** @param before the state that an earlier agent stored */
  constructor(before: PodResourceMap = {}) {
    this.#pods = new Map(Object.entries(before));
  }

  /** Returns the state to store for the next agent. */
  snapshot(): PodResourceMap {
    return Object.fromEntries(this.#pods);
  }

  get(uid: string): PodResourceInfo | undefined {
    return this.#pods.get(uid);
  }

  set(uid: string, resources: PodResourceInfo): void {
    this.#pods.set(uid, resources);
  }

  /** Returns the pod with its allocated resources; the same object when they equal its spec, or nothing is allocated. */
  allocatedPod(pod: Pod): Pod {
    const allocated = this.#pods.get(uidOf(pod));
    return allocated ? withPodResources(pod, allocated) : pod;
  }

  /** Allocates the resources in the pod's spec. */
  allocate(pod: Pod): void {
    this.set(uidOf(pod), podResourcesOf(pod));
  }

  remove(uid: string): void {
    this.#pods.delete(uid);
  }

  /** Removes all other pods. */
  retain(remaining: Members): void {
    this.#pods.forEach((_, uid) => {
      if (!remaining.has(uid)) this.#pods.delete(uid);
    });
  }
}
