import { uidOf } from '../../kube/names.ts';
import type { Pod } from '../../kube/types.ts';
import type { PodRef } from '../../provider/refs.ts';
import type { ObservedBacking } from './backing-status.ts';
import { type BackingOwner, identityOf } from './ownership.ts';

/** PodStore holds the newest state of each backing pod of one owner, by the UID of the pod that it runs. */
export class PodStore {
  readonly #owner: BackingOwner;
  readonly #entries = new Map<string, ObservedBacking>();
  /** UIDs of backing pods that are being removed: they are not shown any more. */
  readonly #removed = new Set<string>();

  constructor(owner: BackingOwner) {
    this.#owner = owner;
  }

  get(uid: string): ObservedBacking | undefined {
    return this.#entries.get(uid);
  }

  all(): readonly ObservedBacking[] {
    return [...this.#entries.values()];
  }

  /** The UID of the pod that a backing pod runs. */
  uidOfBacking(backingUid: string): string | undefined {
    return this.all().find(({ pod }) => uidOf(pod) === backingUid)?.identity.uid;
  }

  /** Takes in a backing pod. Returns the UID of its pod; undefined when it is another's or is being removed. */
  seen(pod: Pod, now: number): string | undefined {
    const identity = identityOf(pod, this.#owner);
    if (!identity || this.#removed.has(uidOf(pod))) return undefined;
    const before = this.#entries.get(identity.uid);
    if (before && isOlder(pod, before.pod)) return undefined;
    const stopped = before !== undefined && uidOf(before.pod) === uidOf(pod) && before.stopped;
    this.#entries.set(identity.uid, { identity, pod, gone: false, stopped, observedAt: now });
    return identity.uid;
  }

  /** Takes in that a backing pod is gone. Returns the UID of its pod if that is shown. */
  deleted(last: Pod, now: number): string | undefined {
    if (this.#removed.delete(uidOf(last))) return undefined;
    const identity = identityOf(last, this.#owner);
    const before = identity && this.#entries.get(identity.uid);
    if (!before || uidOf(before.pod) !== uidOf(last)) return undefined;
    this.#entries.set(identity.uid, { ...before, pod: last, gone: true, observedAt: now });
    return identity.uid;
  }

  /** Takes in a pod whose backing pod does not exist although the pod has run. */
  lost(identity: PodRef, pod: Pod, now: number): void {
    this.#entries.set(identity.uid, { identity, pod, gone: true, stopped: false, observedAt: now });
  }

  /** Notes that this agent deletes the backing pod. */
  stopping(uid: string): void {
    const entry = this.#entries.get(uid);
    if (entry) this.#entries.set(uid, { ...entry, stopped: true });
  }

  /** Forgets a pod whose backing pod is being removed. */
  forget(uid: string): void {
    const entry = this.#entries.get(uid);
    if (entry && !entry.gone) this.#removed.add(uidOf(entry.pod));
    this.#entries.delete(uid);
  }
}

/** True for an older state of the same object. Servers count versions up. */
function isOlder(pod: Pod, than: Pod): boolean {
  if (uidOf(pod) !== uidOf(than)) return false;
  const [one, other] = [pod, than].map(({ metadata }) => Number(metadata?.resourceVersion));
  return one !== undefined && other !== undefined && one < other;
}
