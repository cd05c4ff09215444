import { getEventListeners } from 'node:events';
import type { Engines } from '../../src/pods/engines.ts';
import type { FakeClock } from '../../src/base/fake-clock.ts';

/** What `begin` gives, and the signals that it began to listen to before it returned: those of the whole run, which outlive any pod. */
export function listening<T>(begin: () => T): readonly [begun: T, signals: ReadonlySet<AbortSignal>] {
  const signals = new Set<AbortSignal>();
  const { prototype } = EventTarget;
  const add: PropertyDescriptor = { ...Object.getOwnPropertyDescriptor(prototype, 'addEventListener') };
  Object.defineProperty(prototype, 'addEventListener', {
    ...add,
    value(this: EventTarget, ...args: unknown[]): unknown {
      if (this instanceof AbortSignal) signals.add(this);
      return Reflect.apply(add.value as () => unknown, this, args);
    },
  });
  try {
    return [begin(), signals];
  } finally {
    Object.defineProperty(prototype, 'addEventListener', add);
  }
}

/** How much a running agent holds. */
export interface Held {
  readonly workers: number;
  readonly timers: number;
  /** On the signals of the whole run. */
  readonly listeners: number;
  /** Who waits for the runtime to be looked at. */
  readonly waiters: number;
}

/** Counts what a running agent holds: as much after its last pod was forgotten as before its first one came, or something has leaked. */
export const heldBy = (engines: Engines, clock: FakeClock, signals: Iterable<AbortSignal>): Held => ({
  workers: engines.podWorkers.size,
  timers: clock.pending,
  listeners: [...signals].reduce((sum, signal) => sum + getEventListeners(signal, 'abort').length, 0),
  waiters: engines.podCache.waiting,
});
