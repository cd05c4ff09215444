import { findContainer } from '../../../kube/container-fields.ts';
import { uidOf } from '../../../kube/names.ts';
import type {
  PodResourceInfo,
  PodResourceMap,
  ResourceKeeper,
} from '../../../kube/resources/pod-resources.ts';
import type { Container, Pod, ResourceRequirements } from '../../../kube/types.ts';
import type { RuntimePodStatus } from '../../../provider/runtime-pod.ts';
import type { ActuatedResources } from '../actions/pod-actions.ts';

/** Keeps which resources were last handed to the runtime, per pod and container. */
export class ActuatedStore implements ActuatedResources {
  readonly #pods: Map<string, PodResourceInfo>;
  readonly #keeper: ResourceKeeper | undefined;

  /** @param keeper absent: the records end with the agent */
  constructor(keeper?: ResourceKeeper) {
    this.#keeper = keeper;
    this.#pods = new Map(Object.entries(keeper?.before ?? {}));
  }

  snapshot(): PodResourceMap {
    return Object.fromEntries(this.#pods);
  }

  /** Resolves when what is recorded now is safe. */
  async save(): Promise<void> {
    await this.#keeper?.save(() => this.snapshot());
  }

  /**
   * Takes what runs without any record, such as after the records were lost, for what the spec says; else it would all be resized,
   * or even restarted, for nothing.
   */
  adopt(pod: Pod, { containerStatuses }: Pick<RuntimePodStatus, 'containerStatuses'>): void {
    if (this.#pods.has(uidOf(pod))) return;
    for (const { name, state } of containerStatuses) {
      const container = state === 'running' ? findContainer(pod, name) : undefined;
      if (container) this.set(pod, container);
    }
  }

  container(podUid: string, name: string): ResourceRequirements | undefined {
    return this.#pods.get(podUid)?.containers[name];
  }

  pod(podUid: string): ResourceRequirements | undefined {
    return this.#pods.get(podUid)?.pod;
  }

  /** To be told of each container that is created or resized. */
  set(pod: Pod, { name, resources = {} }: Pick<Container, 'name' | 'resources'>): void {
    const uid = uidOf(pod);
    const known = this.#pods.get(uid);
    const whole = known?.pod ?? pod.spec?.resources;
    this.#pods.set(uid, {
      containers: { ...known?.containers, [name]: resources },
      ...(whole && { pod: whole }),
    });
  }

  /** The pod-level resources were applied. */
  setPod(pod: Pod): void {
    const uid = uidOf(pod);
    const { resources } = pod.spec ?? {};
    if (resources) this.#pods.set(uid, { containers: this.#pods.get(uid)?.containers ?? {}, pod: resources });
  }

  /** Forgets pods that are gone. */
  removeOrphans(isGone: (podUid: string) => boolean): void {
    for (const uid of this.#pods.keys()) if (isGone(uid)) this.#pods.delete(uid);
  }
}
