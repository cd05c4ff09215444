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

/** ActuatedStore records the resources last applied by the runtime, per pod and container. */
export class ActuatedStore implements ActuatedResources {
  readonly #pods: Map<string, PodResourceInfo>;
  readonly #keeper: ResourceKeeper | undefined;

  /** @param keeper persists the records; absent: they are lost when the agent ends */
  constructor(keeper?: ResourceKeeper) {
    this.#keeper = keeper;
    this.#pods = new Map(Object.entries(keeper?.before ?? {}));
  }

  snapshot(): PodResourceMap {
    return Object.fromEntries(this.#pods);
  }

  /** Persists all records. Resolves when they are stored. */
  async save(): Promise<void> {
    await this.#keeper?.save(() => this.snapshot());
  }

  /**
   * Records what runs without a record as having the spec's resources, as after the records were lost; otherwise every container would be
   * resized, or even restarted, without need.
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

  /** Records the resources of a container that was created or resized. */
  set(pod: Pod, { name, resources = {} }: Pick<Container, 'name' | 'resources'>): void {
    const uid = uidOf(pod);
    const record = this.#pods.get(uid);
    const whole = record?.pod ?? pod.spec?.resources;
    this.#pods.set(uid, {
      containers: { ...record?.containers, [name]: resources },
      ...(whole && { pod: whole }),
    });
  }

  /** Records the pod-level resources after they were applied. */
  setPod(pod: Pod): void {
    const uid = uidOf(pod);
    const { resources } = pod.spec ?? {};
    if (resources) this.#pods.set(uid, { containers: this.#pods.get(uid)?.containers ?? {}, pod: resources });
  }

  /** Removes the records of deleted pods. */
  removeOrphans(isGone: (podUid: string) => boolean): void {
    for (const uid of this.#pods.keys()) if (isGone(uid)) this.#pods.delete(uid);
  }
}
