import { type ApiClient, isConflict, isNotFound } from '../../api/client.ts';
import { configMapResource, podResource, secretResource } from '../../api/resources.ts';
import type { Clock } from '../../base/clock.ts';
import { nameOf, namespaceOf, uidOf } from '../../kube/names.ts';
import type { Pod } from '../../kube/types.ts';
import type { PodRef } from '../../provider/refs.ts';
import { isOver } from './backing-status.ts';
import { namesOfCarried } from './carried.ts';
import { type BackingOwner, isOwned, statusFinalizer } from './ownership.ts';
import type { PodStore } from './pod-store.ts';

export interface RemoverDeps {
  readonly client: ApiClient;
  readonly clock: Clock;
  readonly owner: BackingOwner;
  readonly store: PodStore;
  /** Where a pod's backing pod is; undefined for a namespace that is not mapped. */
  readonly placeOf: (pod: PodRef) => { readonly name: string; readonly namespace: string } | undefined;
}

/** Between two looks at a backing pod that is being deleted, ms; what changes is seen by the watch. */
const lookMs = 250;
/** How often the removal of a finalizer is repeated when others change the pod at the same time. */
const mostConflicts = 5;

/** Remover deletes backing pods and waits until their node has confirmed that they have stopped. */
export class Remover {
  readonly #deps: RemoverDeps;

  constructor(deps: RemoverDeps) {
    this.#deps = deps;
  }

  /**
   * Deletes a pod's backing pod and resolves when nothing of it runs. Its last state stays readable.
   *
   * @param grace seconds; undefined for the pod's own
   * @throws {ApiError} the deletion was refused, or the backing cluster does not answer
   */
  async stop(ref: PodRef, grace: number | undefined, signal: AbortSignal): Promise<void> {
    const { client, clock, store } = this.#deps;
    const entry = await this.#entry(ref, signal);
    if (!entry || isOver(entry, clock.now())) return;
    store.stopping(ref.uid);
    const { pod } = entry;
    try {
      await client.delete(
        podResource,
        { name: nameOf(pod), namespace: namespaceOf(pod) },
        {
          ...(grace !== undefined && { gracePeriodSeconds: grace }),
          preconditions: { uid: uidOf(pod) },
          signal,
        },
      );
    } catch (reason) {
      if (!isNotFound(reason) && !isConflict(reason)) throw reason;
      await this.#look(ref, signal);
    }
    await this.#untilOver(ref, signal);
  }

  /** Removes a pod's backing pod and all that was carried along, and forgets it. */
  async remove(ref: PodRef, signal: AbortSignal): Promise<void> {
    await this.stop(ref, undefined, signal);
    const { client, store } = this.#deps;
    const entry = store.get(ref.uid);
    if (!entry) return;
    const { pod } = entry;
    if (!entry.gone) {
      const place = { name: nameOf(pod), namespace: namespaceOf(pod) };
      if (pod.metadata?.deletionTimestamp === undefined)
        await this.#ignoringNotFound(
          client.delete(podResource, place, { preconditions: { uid: uidOf(pod) }, signal }),
        );
      await this.#removeCarried(pod, ref, signal);
      await this.#release(place, uidOf(pod), signal);
    }
    store.forget(ref.uid);
  }

  /** The pod's entry; one that the watch has not shown yet is read. */
  async #entry(ref: PodRef, signal: AbortSignal): Promise<ReturnType<PodStore['get']>> {
    const { store } = this.#deps;
    if (!store.get(ref.uid)) await this.#look(ref, signal);
    return store.get(ref.uid);
  }

  /** Reads the backing pod now. */
  async #look(ref: PodRef, signal: AbortSignal): Promise<void> {
    const { client, clock, store, owner, placeOf } = this.#deps;
    const backing = store.get(ref.uid)?.pod;
    const place = backing ? { name: nameOf(backing), namespace: namespaceOf(backing) } : placeOf(ref);
    if (!place) return;
    try {
      const pod = await client.get<Pod>(podResource, place, { signal });
      if (isOwned(pod, owner, ref.uid)) store.seen(pod, clock.now());
    } catch (reason) {
      if (!isNotFound(reason)) throw reason;
      if (backing) store.deleted(backing, clock.now());
    }
  }

  async #untilOver(ref: PodRef, signal: AbortSignal): Promise<void> {
    const { store, clock } = this.#deps;
    for (let entry = store.get(ref.uid); entry && !isOver(entry, clock.now()); entry = store.get(ref.uid))
      await clock.sleep(lookMs, signal);
  }

  async #removeCarried(pod: Pod, { uid }: PodRef, signal: AbortSignal): Promise<void> {
    const { client, owner } = this.#deps;
    for (const { kind, name } of namesOfCarried(pod)) {
      const resource = kind === 'Secret' ? secretResource : configMapResource;
      const ref = { name, namespace: namespaceOf(pod) };
      const object = await this.#ignoringNotFound(client.get(resource, ref, { signal }));
      if (object && isOwned(object, owner, uid))
        await this.#ignoringNotFound(
          client.delete(resource, ref, { preconditions: { uid: uidOf(object) }, signal }),
        );
    }
  }

  /** Takes the finalizer off, so that the backing cluster removes the pod. */
  async #release(
    place: { readonly name: string; readonly namespace: string },
    uid: string,
    signal: AbortSignal,
  ): Promise<void> {
    const { client } = this.#deps;
    for (let attempt = 1; ; attempt++) {
      const pod = await this.#ignoringNotFound(client.get<Pod>(podResource, place, { signal }));
      if (!pod || uidOf(pod) !== uid || !pod.metadata?.finalizers?.includes(statusFinalizer)) return;
      const finalizers = pod.metadata.finalizers.filter((one) => one !== statusFinalizer);
      const body = { metadata: { resourceVersion: pod.metadata.resourceVersion, finalizers } };
      try {
        await this.#ignoringNotFound(client.patch(podResource, place, { type: 'merge', body }, { signal }));
        return;
      } catch (reason) {
        if (!isConflict(reason) || attempt >= mostConflicts) throw reason;
      }
    }
  }

  async #ignoringNotFound<T>(call: Promise<T>): Promise<T | undefined> {
    try {
      return await call;
    } catch (reason) {
      if (isNotFound(reason)) return undefined;
      throw reason;
    }
  }
}
