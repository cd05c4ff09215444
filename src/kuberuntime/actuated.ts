import { findContainer } from '../kube/container-fields.ts';
import { uidOf } from '../kube/names.ts';
import type { Container, Pod, ResourceRequirements } from '../kube/types.ts';
import type { RuntimePodStatus } from '../provider/runtime-pod.ts';
import type { ActuatedResources } from './resize-actions.ts';

/** What a store holds, by pod UID; plain JSON, to be kept in a file. */
export type ActuatedSnapshot = Readonly<
  Record<
    string,
    {
      readonly containers: Readonly<Record<string, ResourceRequirements>>;
      readonly pod?: ResourceRequirements;
    }
  >
>;

/** Keeps which resources were last handed to the runtime, per pod and container. */
export class ActuatedStore implements ActuatedResources {
  readonly #containers = new Map<string, Map<string, ResourceRequirements>>();
  readonly #pods = new Map<string, ResourceRequirements>();

  /** @param before what an earlier agent kept */
  constructor(before: ActuatedSnapshot = {}) {
    for (const [uid, { containers, pod }] of Object.entries(before)) {
      this.#containers.set(uid, new Map(Object.entries(containers)));
      if (pod) this.#pods.set(uid, pod);
    }
  }

  snapshot(): ActuatedSnapshot {
    const entries = [...this.#containers].map(([uid, containers]) => {
      const pod = this.#pods.get(uid);
      return [uid, { containers: Object.fromEntries(containers), ...(pod && { pod }) }] as const;
    });
    return Object.fromEntries(entries);
  }

  /**
   * Takes what runs without any record, such as after the records were lost, for what the spec says; else it would all be resized,
   * or even restarted, for nothing.
   */
  adopt(pod: Pod, { containerStatuses }: Pick<RuntimePodStatus, 'containerStatuses'>): void {
    const uid = uidOf(pod);
    if (this.#containers.has(uid)) return;
    for (const { name, state } of containerStatuses) {
      const container = state === 'running' ? findContainer(pod, name) : undefined;
      if (container) this.set(pod, container);
    }
  }

  container(podUid: string, name: string): ResourceRequirements | undefined {
    return this.#containers.get(podUid)?.get(name);
  }

  pod(podUid: string): ResourceRequirements | undefined {
    return this.#pods.get(podUid);
  }

  /** To be told of each container that is created or resized. */
  set(pod: Pod, { name, resources = {} }: Pick<Container, 'name' | 'resources'>): void {
    const uid = uidOf(pod);
    const containers = this.#containers.get(uid) ?? new Map<string, ResourceRequirements>();
    this.#containers.set(uid, containers.set(name, resources));
    if (pod.spec?.resources && !this.#pods.has(uid)) this.#pods.set(uid, pod.spec.resources);
  }

  /** The pod-level resources were applied. */
  setPod(pod: Pod): void {
    if (pod.spec?.resources) this.#pods.set(uidOf(pod), pod.spec.resources);
  }

  /** Forgets a pod that is gone. */
  delete(podUid: string): void {
    this.#containers.delete(podUid);
    this.#pods.delete(podUid);
  }
}
