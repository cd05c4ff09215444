import type { JsonObject } from '../../apimachinery/json.ts';
import { kindKey } from '../kinds.ts';
import type { Kind, KubeObject, WatchEvent } from '../types.ts';
import type { Tracker } from './tracker.ts';

/** What a watch of a tracker delivers. */
export interface TrackedWatch<T extends KubeObject> {
  /** Delivers the objects that exist first. */
  readonly initial: boolean;
  selects(object: JsonObject): boolean;
  shown(object: JsonObject): T;
  readonly signal?: AbortSignal;
}

/** Watches from the moment of the call, so that no change between the call and the first read of an event is missed. */
export function watchTracker<T extends KubeObject>(
  tracker: Tracker,
  kind: Kind<T>,
  watch: TrackedWatch<T>,
): AsyncIterable<WatchEvent<T>> {
  const events: WatchEvent<T>[] = [];
  const selected = new Set<string>();
  let wake = (): void => undefined;
  const receive = (type: 'ADDED' | 'MODIFIED' | 'DELETED', object: JsonObject): void => {
    const seen = seenAs(type, { key: keyOf(object), selected, isSelected: watch.selects(object) });
    if (seen) events.push({ type: seen, object: watch.shown(object) });
    wake();
  };
  for (const object of tracker.list(kind)) {
    if (watch.initial) receive('ADDED', object);
    else if (watch.selects(object)) selected.add(keyOf(object));
  }
  const stop = tracker.onChange(({ type, kind: changed, object }) => {
    if (kindKey(changed) === kindKey(kind)) receive(type, object);
  });
  watch.signal?.addEventListener('abort', () => {
    wake();
  });
  return (async function* () {
    try {
      while (watch.signal?.aborted !== true) {
        const event = events.shift();
        if (event) yield event;
        else
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
      }
    } finally {
      stop();
    }
  })();
}

const keyOf = (object: JsonObject): string => {
  const { namespace = '', name = '' } = (object as KubeObject).metadata ?? {};
  return `${namespace}/${name}`;
};

/** Returns the type of an event for a watch with a selector: an object that is no longer selected is deleted for it. */
function seenAs(
  type: 'ADDED' | 'MODIFIED' | 'DELETED',
  object: { readonly key: string; readonly selected: Set<string>; readonly isSelected: boolean },
): 'ADDED' | 'MODIFIED' | 'DELETED' | undefined {
  const { key, selected, isSelected } = object;
  const was = selected.has(key);
  if (type === 'DELETED' || !isSelected) {
    selected.delete(key);
    return was ? 'DELETED' : undefined;
  }
  selected.add(key);
  return was ? 'MODIFIED' : 'ADDED';
}
