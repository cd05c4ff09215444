import { Backoff } from '../base/backoff.ts';
import { type Clock, steadyNow } from '../base/clock.ts';
import { AgentError, messageOf } from '../base/errors.ts';
import type { Logger } from '../base/logger.ts';
import type { Members } from '../base/members.ts';
import type { EventRecorder } from '../kube/events.ts';
import { keyOf, nameOf, namespaceOf, uidOf } from '../kube/names.ts';
import type { Pod } from '../kube/types.ts';
import type { ProviderHooks } from '../provider/hooks.ts';
import type { PodRef } from '../provider/refs.ts';
import type { RuntimePod } from '../provider/runtime-pod.ts';

/** The timeout of one attempt, ms. */
const tryTimeoutMs = 30_000;

/** The delay between two attempts for one pod, ms; doubles from `initialMs` to `maxMs`. */
const retries = { initialMs: 1000, maxMs: 60_000 };

export interface RemainsDeps {
  readonly provider: Required<Pick<ProviderHooks, 'deletePod'>>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly recorder: EventRecorder;
  /** Called when everything of a pod is removed and its API object may be deleted. */
  readonly removed: (uid: string) => void;
}

/**
 * Remains removes what a remote provider stores for pods that have ended. It makes one call at a time for each UID and repeats it with a
 * growing delay until it succeeds. The API object of a pod is deleted only after that.
 */
export class Remains {
  readonly #deps: RemainsDeps;
  readonly #backoff: Backoff;
  /** The pods of which everything is removed, until they are forgotten. */
  readonly #gone = new Set<string>();
  readonly #running = new Map<string, Promise<void>>();
  /** When the next attempt may begin, steady time, ms. */
  readonly #nextTry = new Map<string, number>();
  /** The stopped pods of the last listing that are not desired. */
  #suspects: ReadonlySet<string> = new Set();

  constructor(deps: RemainsDeps) {
    this.#deps = deps;
    this.#backoff = new Backoff({ now: () => steadyNow(deps.clock) }, retries);
  }

  /** True once everything of the pod is removed; begins the removal otherwise. */
  areGone(pod: Pod): boolean {
    const uid = uidOf(pod);
    if (this.#gone.has(uid)) return true;
    this.#begin({ uid, name: nameOf(pod), namespace: namespaceOf(pod) }, pod);
    return false;
  }

  /** Removes what the provider stores for the pod and resolves when that is done. @throws the provider's error */
  async remove(ref: PodRef, pod?: Pod): Promise<void> {
    if (this.#gone.has(ref.uid)) return;
    const running = this.#running.get(ref.uid) ?? this.#try(ref, pod);
    this.#running.set(ref.uid, running);
    await running;
  }

  /**
   * Removes the stopped pods of a listing that have neither an API object nor a worker and that the previous listing showed too. Call it
   * with complete listings only.
   */
  sweep(listed: readonly RuntimePod[], isWanted: (uid: string) => boolean): void {
    const orphans = listed.filter((pod) => !isWanted(pod.uid) && !isRunning(pod));
    for (const pod of orphans) {
      this.#gone.delete(pod.uid); // the listing shows it still
      if (this.#suspects.has(pod.uid)) this.#begin(pod, undefined);
    }
    this.#suspects = new Set(orphans.map(({ uid }) => uid));
  }

  /** Forgets pods that are removed and no longer desired. */
  forget(retained: Members): void {
    for (const uid of this.#gone) if (!retained.has(uid)) this.#gone.delete(uid);
    for (const uid of this.#nextTry.keys())
      if (!retained.has(uid) && !this.#suspects.has(uid)) this.#nextTry.delete(uid);
  }

  #begin({ uid, name, namespace }: PodRef, pod: Pod | undefined): void {
    if (this.#running.has(uid) || steadyNow(this.#deps.clock) < (this.#nextTry.get(uid) ?? 0)) return;
    this.remove({ uid, name, namespace }, pod).then(
      () => {
        this.#deps.removed(uid);
      },
      () => undefined, // reported, and retried
    );
  }

  async #try(ref: PodRef, pod: Pod | undefined): Promise<void> {
    const { uid } = ref;
    const { provider, clock, logger, recorder } = this.#deps;
    const end = new AbortController();
    try {
      await Promise.race([provider.deletePod(ref, pod, end.signal), deadline(clock, end.signal)]);
      this.#gone.add(uid);
      this.#nextTry.delete(uid);
    } catch (reason) {
      const now = steadyNow(clock);
      this.#backoff.next(uid, now);
      this.#nextTry.set(uid, now + this.#backoff.get(uid));
      const message = `failed to remove the resources of the pod at the provider: ${messageOf(reason)}`;
      logger.warn(message, { pod: pod ? keyOf(pod) : `${ref.namespace}/${ref.name}`, uid });
      if (pod) recorder.event(pod, 'Warning', 'FailedDeletePod', message);
      throw reason;
    } finally {
      end.abort();
      this.#running.delete(uid);
    }
  }
}

/** Rejects when an attempt has taken too long. */
async function deadline(clock: Clock, signal: AbortSignal): Promise<never> {
  await clock.sleep(tryTimeoutMs, signal);
  throw new AgentError('deadline_exceeded', `no answer within ${tryTimeoutMs / 1000} s`);
}

const isRunning = ({ containers, sandboxes }: RuntimePod): boolean =>
  containers.some(({ state }) => state === 'running') || sandboxes.some(({ state }) => state === 'running');
