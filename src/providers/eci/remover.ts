import type { Clock } from '../../base/clock.ts';
import type { EciCalls } from './calls.ts';
import { hasEnded } from './container-group.ts';
import { isEciError } from './errors.ts';
import type { GroupStore } from './group-store.ts';
import type { Listings } from './listings.ts';
import { clientToken, type EciOwner } from './ownership.ts';
import type { Poller } from './poller.ts';

export interface RemoverDeps {
  readonly calls: EciCalls;
  readonly listings: Listings;
  readonly store: GroupStore;
  readonly poller: Poller;
  readonly clock: Clock;
  readonly region: string;
  readonly owner: EciOwner;
}

/** Between two looks at a group that is being deleted, ms; the poller asks for all of them at once. */
const lookEveryMs = 1000;

/** Remover deletes groups and waits until the cloud shows that they are gone: an acknowledged deletion is not yet an end (E15). */
export class Remover {
  readonly #deps: RemoverDeps;

  constructor(deps: RemoverDeps) {
    this.#deps = deps;
  }

  /**
   * Stops a pod's group and resolves when nothing of it runs. The group's last state stays in the store.
   *
   * @throws {EciError} the deletion was refused, or the cloud does not answer
   */
  async stop(uid: string, signal: AbortSignal): Promise<void> {
    const entry = this.#deps.store.get(uid);
    if (!entry) {
      await this.#removeUnknown(uid, signal);
      return;
    }
    if (entry.gone || hasEnded(entry.group)) return;
    await this.delete(entry.group.ContainerGroupId, signal);
    this.#deps.store.markDeleting(uid);
    await this.#until(uid, signal, ({ gone, group }) => gone || hasEnded(group));
  }

  /** Removes a pod's group, ended or not, and forgets it when the cloud shows that it is gone. */
  async remove(uid: string, signal: AbortSignal): Promise<void> {
    const entry = this.#deps.store.get(uid);
    if (!entry) {
      await this.#removeUnknown(uid, signal);
      return;
    }
    if (!entry.gone) {
      await this.delete(entry.group.ContainerGroupId, signal);
      this.#deps.store.markDeleting(uid);
      await this.#until(uid, signal, ({ gone }) => gone);
    }
    this.#deps.store.forget(uid);
  }

  /** Asks for the deletion of one group; one that is not there is deleted. */
  async delete(groupId: string, signal: AbortSignal): Promise<void> {
    const { calls, region, owner } = this.#deps;
    const token = clientToken(owner, groupId, 0);
    try {
      await calls.call(
        'DeleteContainerGroup',
        { RegionId: region, ContainerGroupId: groupId, ClientToken: token },
        signal,
      );
    } catch (reason) {
      if (!isEciError(reason, 'not_found')) throw reason;
    }
  }

  /** A pod that the store does not know may have a group that listings do not show yet. */
  async #removeUnknown(uid: string, signal: AbortSignal): Promise<void> {
    const { listings, store } = this.#deps;
    const listing = await listings.ofPod(uid, signal);
    if (listing.groups.length === 0) return;
    store.applyNamed([], listing);
    for (const { ContainerGroupId } of listing.groups) await this.delete(ContainerGroupId, signal);
    await this.#deps.poller.poll();
    if (store.get(uid)) await this.remove(uid, signal);
  }

  async #until(
    uid: string,
    signal: AbortSignal,
    reached: (entry: NonNullable<ReturnType<GroupStore['get']>>) => boolean,
  ): Promise<void> {
    const { store, poller, clock } = this.#deps;
    for (;;) {
      const entry = store.get(uid);
      if (!entry || reached(entry)) return;
      await poller.fresh(signal);
      await clock.sleep(lookEveryMs, signal);
      await poller.pollDeleting();
    }
  }
}
