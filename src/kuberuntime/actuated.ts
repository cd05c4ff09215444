import { uidOf } from '../kube/names.ts';
import type { Container, Pod, ResourceRequirements } from '../kube/types.ts';
import type { ActuatedResources } from './resize-actions.ts';

/** Keeps in memory which resources were last handed to the runtime, per pod and container. */
export class ActuatedStore implements ActuatedResources {
  readonly #containers = new Map<string, Map<string, ResourceRequirements>>();
  readonly #pods = new Map<string, ResourceRequirements>();

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
