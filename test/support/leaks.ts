import { getEventListeners } from 'node:events';
import type { Engines } from '../../src/pods/engines.ts';
import type { FakeClock } from '../../src/base/fake-clock.ts';

/** Runs `begin` and returns its result with the signals to which it added listeners: those of the whole run, which outlive any pod. */
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

/** The resources that a running agent holds. */
export interface Held {
  readonly workers: number;
  readonly timers: number;
  /** The listeners on the signals of the whole run. */
  readonly listeners: number;
  /** The calls that wait for a newer runtime status. */
  readonly waiters: number;
}

/**
 * Counts the resources of a running agent. After its last pod was forgotten they must equal those before its first pod, or something has
 * leaked.
 */
export const heldBy = (engines: Engines, clock: FakeClock, signals: Iterable<AbortSignal>): Held => ({
  workers: engines.podWorkers.size,
  timers: clock.pending,
  listeners: [...signals].reduce((sum, signal) => sum + getEventListeners(signal, 'abort').length, 0),
  waiters: engines.podCache.waiting,
});
