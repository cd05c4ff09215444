import { namespaceOf, nameOf, uidOf } from '../../kube/names.ts';
import type { Event } from '../../kube/types.ts';
import type { BackendEvent } from '../../provider/hooks.ts';
import type { PodRef } from '../../provider/refs.ts';
import { LRUCache } from 'lru-cache';

/** How many events are remembered. */
const mostEvents = 20_000;

/**
 * EventForwarder turns events about backing pods into events of their pods, each once, and again when the backing cluster has counted it up.
 * Events from before the start are not forwarded.
 */
export class EventForwarder {
  readonly #counts = new LRUCache<string, number>({ max: mostEvents });

  /** The event to record; undefined when there is nothing new. @param pod the pod that the backing pod runs, if it is this node's */
  take(event: Event, initial: boolean, pod: PodRef | undefined): BackendEvent | undefined {
    const key = uidOf(event) || `${namespaceOf(event)}/${nameOf(event)}`;
    const count = countOf(event);
    if (count <= (this.#counts.get(key) ?? 0) || (!pod && !initial)) return undefined;
    this.#counts.set(key, count);
    if (initial || !pod) return undefined;
    return { pod, ...contentOf(event) };
  }
}

const contentOf = ({ type, reason = 'Backing', message = '' }: Event): Omit<BackendEvent, 'pod'> => ({
  type: type === 'Warning' ? 'Warning' : 'Normal',
  reason,
  message,
});

const countOf = ({ series, count = 1 }: Event): number => series?.count ?? count;
