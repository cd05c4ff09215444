import { LRUCache } from 'lru-cache';
import type { Event, KubeObject } from '../../kube/types.ts';

/** An event before it has a name and a count. */
export interface RawEvent {
  readonly object: KubeObject;
  readonly fieldPath: string;
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
  readonly annotations: Readonly<Record<string, string>> | undefined;
  /** ms since the epoch */
  readonly at: number;
  /** The node that the event comes from; absent: the broadcaster's host. */
  readonly host?: string;
}

/** What to do with an event. */
export type Verdict =
  | { readonly action: 'drop' }
  | { readonly action: 'create'; readonly key: string; readonly message: string }
  | {
      readonly action: 'count';
      readonly key: string;
      readonly message: string;
      readonly recorded: Event;
      readonly count: number;
      readonly first: number;
    };

interface Recorded {
  readonly event: Event | undefined;
  readonly count: number;
  readonly firstAt: number;
}
interface Similar {
  readonly messages: ReadonlySet<string>;
  readonly lastAt: number;
}
interface Bucket {
  readonly tokens: number;
  readonly at: number;
}

const maxEntries = 4096;
const similarWithinMs = 600_000;
const maxSimilar = 10;
const spamBurst = 25;
const spamPerMs = 1 / 300_000;
const combined = '(combined from similar events): ';

/**
 * EventCorrelator decides what to do with each event: from the tenth different message of one kind about one object within ten minutes
 * on, events are folded into a combined one; a repeated event is counted; and one object may cause 25 events and then one every five
 * minutes.
 *
 * Follows client-go `record.EventCorrelator` with its defaults.
 */
export class EventCorrelator {
  readonly #recorded = new LRUCache<string, Recorded>({ max: maxEntries });
  readonly #similar = new LRUCache<string, Similar>({ max: maxEntries });
  readonly #buckets = new LRUCache<string, Bucket>({ max: maxEntries });

  judge(raw: RawEvent): Verdict {
    const folded = this.#aggregate(raw);
    const key = folded ? similarKey(raw) : exactKey(raw);
    const message = folded ? `${combined}${raw.message}` : raw.message;
    const before = this.#recorded.get(key);
    const count = (before?.count ?? 0) + 1;
    const firstAt = before?.firstAt ?? raw.at;
    this.#recorded.set(key, { event: before?.event, count, firstAt });
    if (!this.#spend(raw)) return { action: 'drop' };
    return before?.event
      ? { action: 'count', key, message, recorded: before.event, count, first: firstAt }
      : { action: 'create', key, message };
  }

  /** Records the event that the server stored, so that the next one with its key is counted on it. */
  remember(key: string, event: Event): void {
    const before = this.#recorded.get(key);
    if (before) this.#recorded.set(key, { ...before, event, count: event.count ?? before.count });
  }

  /** Removes the event of `key`, which the server no longer has. */
  forget(key: string): void {
    const before = this.#recorded.get(key);
    if (before) this.#recorded.set(key, { ...before, event: undefined });
  }

  #aggregate(raw: RawEvent): boolean {
    const key = similarKey(raw);
    const before = this.#similar.get(key);
    const fresh = before && raw.at - before.lastAt <= similarWithinMs ? before.messages : new Set<string>();
    const messages = new Set(fresh).add(raw.message);
    if (messages.size < maxSimilar) {
      this.#similar.set(key, { messages, lastAt: raw.at });
      return false;
    }
    const [oldest = ''] = messages;
    if (messages.size > maxSimilar) messages.delete(oldest);
    this.#similar.set(key, { messages, lastAt: raw.at });
    return true;
  }

  #spend(raw: RawEvent): boolean {
    const key = objectKey(raw.object);
    const before = this.#buckets.get(key);
    const tokens = before
      ? Math.min(spamBurst, before.tokens + Math.max(0, raw.at - before.at) * spamPerMs)
      : spamBurst;
    const pass = tokens >= 1;
    this.#buckets.set(key, { tokens: pass ? tokens - 1 : tokens, at: raw.at });
    return pass;
  }
}

function objectKey({ kind, apiVersion, metadata }: KubeObject): string {
  return [kind, metadata?.namespace, metadata?.name, metadata?.uid, apiVersion].join('\u0000');
}

const similarKey = (raw: RawEvent): string =>
  ['~', objectKey(raw.object), raw.fieldPath, raw.type, raw.reason].join('\u0000');

const exactKey = (raw: RawEvent): string =>
  ['=', objectKey(raw.object), raw.fieldPath, raw.type, raw.reason, raw.message].join('\u0000');
