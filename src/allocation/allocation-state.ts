import type { Members } from '../base/members.ts';
import { uidOf } from '../kube/names.ts';
import {
  type PodResourceInfo,
  type PodResourceMap,
  podResourcesOf,
  withPodResources,
} from '../kube/resources/pod-resources.ts';
import type { Pod } from '../kube/types.ts';

/** Which resources were given to which pod of this node, by UID. Kubelet's `state.State`. */
export class AllocationState {
  readonly #pods: Map<string, PodResourceInfo>;

  /** @param before what an earlier agent kept */
  constructor(before: PodResourceMap = {}) {
    this.#pods = new Map(Object.entries(before));
  }

  /** What is to be kept for the next agent. */
  snapshot(): PodResourceMap {
    return Object.fromEntries(this.#pods);
  }

  get(uid: string): PodResourceInfo | undefined {
    return this.#pods.get(uid);
  }

  set(uid: string, resources: PodResourceInfo): void {
    this.#pods.set(uid, resources);
  }

  /** The pod with what is allocated to it; the very same pod where that is what it asks for, or nothing is. */
  allocatedPod(pod: Pod): Pod {
    const allocated = this.#pods.get(uidOf(pod));
    return allocated ? withPodResources(pod, allocated) : pod;
  }

  /** The pod gets what it asks for. */
  allocate(pod: Pod): void {
    this.set(uidOf(pod), podResourcesOf(pod));
  }

  remove(uid: string): void {
    this.#pods.delete(uid);
  }

  /** Forgets pods that nobody wants. */
  retain(wanted: Members): void {
    this.#pods.forEach((_, uid) => {
      if (!wanted.has(uid)) this.#pods.delete(uid);
    });
  }
}
