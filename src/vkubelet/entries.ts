import { isDeepStrictEqual } from 'node:util';
import { type Clock, steadyNow } from '../base/clock.ts';
import { Emitter } from '../base/emitter.ts';
import { keyOf, nameOf, namespaceOf, uidOf } from '../kube/names.ts';
import type { Pod, PodStatus } from '../kube/types.ts';
import type { ObservedPod, PodSet } from '../provider/hooks.ts';
import type { PodRef } from '../provider/refs.ts';
import { emptyPodStatus, type RuntimePod, type RuntimePodStatus } from '../provider/runtime-pod.ts';
import { goneStatus, isUp, listedOf, runtimeStatusOf } from './pod-status.ts';
import { forProvider } from './pod-changes.ts';

/** Between two tries of a creation or update that failed, ms: each is twice as long as the one before. */
export const firstPauseMs = 1000;
export const longestPauseMs = 60_000;

/** One pod of the provider, by UID. */
export interface Entry {
  readonly ref: PodRef;
  /** What the provider was given last, or shows in its listing. */
  pod: Pod;
  status: RuntimePodStatus;
  listed: RuntimePod;
  /** `made`: the provider has it. `tried`: a creation did not answer, or failed. `gone`: the provider had it. */
  state: 'tried' | 'made' | 'gone';
  /** When its status last changed, a steady time, ms. */
  changedAt: number;
  /** Listings in a row that did not show it. */
  misses: number;
  /** An update that can never succeed; it is not tried again for the same pod. */
  refused?: Pod;
  /** Listed by the provider and never asked for by this agent. */
  adopted: boolean;
  /** The provider has taken a deletion. */
  deleted: boolean;
  /** Its API object was deleted because the backend had deleted it. */
  deletedInApi: boolean;
  /** Why the last creation or update failed. */
  failure?: Error;
  /** Before this steady time, ms, a creation or update is not tried again. */
  retryAt: number;
  /** How long the next failure makes it wait, ms. */
  pauseMs: number;
}

/** The pods of one provider as last told, by UID. */
export class Entries {
  /** Told of each pod that changes. */
  readonly changes: Emitter<{ observed: [observed: ObservedPod] }> = new Emitter<{
    observed: [observed: ObservedPod];
  }>();
  readonly #provider: string;
  readonly #clock: Clock;
  readonly #byUid = new Map<string, Entry>();
  /** The same entries by `namespace/name`, oldest first. */
  readonly #byName = new Map<string, Set<Entry>>();

  /** @param provider its name, for the IDs of containers */
  constructor(provider: string, clock: Clock) {
    this.#provider = provider;
    this.#clock = clock;
  }

  get(uid: string): Entry | undefined {
    return this.#byUid.get(uid);
  }

  all(): Iterable<Entry> {
    return this.#byUid.values();
  }

  /** Forgets pods that are gone and no longer wanted. */
  forget(retained: PodSet): void {
    for (const [uid, entry] of this.#byUid) {
      if (retained.has(uid) || entry.state !== 'gone') continue;
      this.#byUid.delete(uid);
      const key = refKey(entry.ref);
      const named = this.#byName.get(key);
      named?.delete(entry);
      if (named?.size === 0) this.#byName.delete(key);
    }
  }

  #named(pod: Pod): readonly Entry[] {
    return [...(this.#byName.get(`${namespaceOf(pod)}/${nameOf(pod)}`) ?? [])];
  }

  /** The pod that the provider would take for `pod`: of the same name and another UID, and not gone. */
  predecessorOf(pod: Pod): Entry | undefined {
    return this.#named(pod).find(({ ref, state }) => ref.uid !== uidOf(pod) && state !== 'gone');
  }

  /** The entry of a pod as the provider names it: by UID, or by name where the provider keeps none. */
  entryOf(pod: Pod): Entry {
    const uid = uidOf(pod);
    if (uid !== '') return this.#byUid.get(uid) ?? this.#adopt(pod, uid);
    const named = this.#named(pod);
    return (
      named.find(({ state }) => state !== 'gone') ?? named.at(-1) ?? this.#adopt(pod, `unknown/${keyOf(pod)}`)
    );
  }

  #adopt(pod: Pod, uid: string): Entry {
    const entry = this.#newEntry({ uid, name: nameOf(pod), namespace: namespaceOf(pod) }, pod, 'made');
    entry.adopted = true;
    return entry;
  }

  /** The entry of a pod that this agent wants. */
  entryFor(pod: Pod, state: Entry['state']): Entry {
    const uid = uidOf(pod);
    const entry = this.#byUid.get(uid);
    if (entry) {
      if (entry.state === 'gone') entry.state = state;
      return entry;
    }
    return this.#newEntry({ uid, name: nameOf(pod), namespace: namespaceOf(pod) }, forProvider(pod), state);
  }

  #newEntry(ref: PodRef, pod: Pod, state: Entry['state']): Entry {
    const status = emptyPodStatus(ref);
    const entry: Entry = {
      ref,
      pod,
      status,
      listed: listedOf(status),
      state,
      changedAt: -Infinity,
      misses: 0,
      adopted: false,
      deleted: false,
      deletedInApi: false,
      retryAt: -Infinity,
      pauseMs: firstPauseMs,
    };
    this.#byUid.set(ref.uid, entry);
    const key = refKey(ref);
    const named = this.#byName.get(key);
    if (named) named.add(entry);
    else this.#byName.set(key, new Set([entry]));
    return entry;
  }

  /** Takes a status; listeners are called if it differs. */
  set(entry: Entry, status: RuntimePodStatus): void {
    entry.changedAt = steadyNow(this.#clock);
    entry.misses = 0;
    if (isDeepStrictEqual(entry.status, status)) return;
    entry.status = status;
    entry.listed = listedOf(status);
    this.changes.emit('observed', { pod: entry.listed, status });
  }

  /** The provider has the pod no more. */
  gone(entry: Entry, reported: NonNullable<RuntimePodStatus['reported']>): void {
    entry.state = 'gone';
    this.set(entry, goneStatus(entry.status, { ...endOf(entry.status), ...reported }));
  }

  /** Takes a status that the provider gave. */
  take(entry: Entry, status: PodStatus | undefined): void {
    this.set(entry, this.runtimeStatus(entry, status));
  }

  runtimeStatus(entry: Entry, status: PodStatus | undefined): RuntimePodStatus {
    return runtimeStatusOf({ ...entry.ref, provider: this.#provider, pod: entry.pod }, status);
  }
}

const refKey = ({ namespace, name }: PodRef): string => `${namespace}/${name}`;

/** The status that the provider is given with a pod. */
export const statusFor = ({ pod, status }: Entry): PodStatus => ({ ...pod.status, ...apiStatusOf(status) });

/** Whether nothing of the pod runs. */
export const isStopped = ({ state, status }: Entry): boolean => state === 'gone' || !isUp(status);

/** An ended phase stays as it was told; of any other nothing is known any more. */
const endOf = ({ reported }: RuntimePodStatus): NonNullable<RuntimePodStatus['reported']> =>
  reported?.phase === 'Succeeded' || reported?.phase === 'Failed' ? reported : {};

/** A runtime status as a provider knows statuses; the parts that providers read. */
function apiStatusOf({ containerStatuses, ips, reported }: RuntimePodStatus): Partial<PodStatus> {
  const time = (at: number | undefined): string | undefined =>
    at === undefined ? undefined : new Date(at).toISOString();
  const statuses = containerStatuses.map((one) => {
    const startedAt = time(one.startedAt);
    const finishedAt = time(one.finishedAt);
    const state =
      one.state === 'running'
        ? { running: { ...(startedAt && { startedAt }) } }
        : {
            terminated: {
              exitCode: one.exitCode,
              ...(one.reason && { reason: one.reason }),
              ...(startedAt && { startedAt }),
              ...(finishedAt && { finishedAt }),
            },
          };
    return {
      name: one.name,
      image: one.image,
      imageID: one.imageId,
      containerID: one.id,
      ready: reported?.containers?.[one.name]?.ready ?? one.state === 'running',
      restartCount: one.restartCount,
      state,
    };
  });
  return {
    ...(reported?.phase && { phase: reported.phase }),
    ...(ips[0] !== undefined && { podIP: ips[0] }),
    ...(statuses.length > 0 && { containerStatuses: statuses }),
  };
}
