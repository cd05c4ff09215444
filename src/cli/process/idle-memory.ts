import { getHeapSpaceStatistics } from 'node:v8';
import { type Clock, type StopTimer, systemClock, steadyNow } from '../../base/clock.ts';

/** What a process has used so far. */
export interface MemorySample {
  /** Processor time of all threads since the start, ms. */
  readonly cpuMs: number;
  /** What the heap's old generation takes of the machine, garbage and free room included, bytes: the young one is bounded, and grows back. */
  readonly heapBytes: number;
}

/** How the process is looked at, and how its garbage is given back. */
export interface IdleMemoryDeps {
  readonly clock: Pick<Clock, 'timer' | 'now'>;
  readonly sample: () => MemorySample;
  /** Collects all there is and returns free pages to the machine; takes a tenth of a second and more. */
  readonly collect: () => void;
}

/** Time between two looks, ms. */
const periodMs = 2000;
/** Busier than this share of one processor, a process gets no more work. */
const idleShare = 0.1;
/** Less than this is not worth a pause, bytes. Fifty containers' starts leave about twice as much. */
const leastWorthBytes = 4 * 1024 * 1024;
/** The pause grows with what is kept, so what it gives shall, too. */
const worthShare = 0.25;
/** What a start takes, of which little is garbage, bytes: of one with nothing to take up again. A collection would slow what comes first. */
const startBytes = 8 * 1024 * 1024;
/** Shortest time between two collections, ms: of a process that is idle they take at most some hundredths of its time. */
const restMs = 10_000;

/**
 * Gives back what a burst of work has left in the heap, once the agent has nothing to do. V8 collects when it needs room, so after
 * thousands of pods came or went an idle process would keep for hours what it needed for seconds.
 *
 * @returns ends it
 */
export function trimIdleMemory({ clock, sample, collect }: IdleMemoryDeps): StopTimer {
  let last = sample();
  let floor = last.heapBytes;
  let started = false;
  let restUntil = 0;
  let stop: StopTimer = () => undefined;
  const look = (): void => {
    const now = sample();
    const idle = now.cpuMs - last.cpuMs < periodMs * idleShare;
    last = now;
    const worthBytes = started ? Math.max(leastWorthBytes, floor * worthShare) : startBytes;
    if (idle && now.heapBytes - floor > worthBytes && steadyNow(clock) >= restUntil) {
      collect();
      last = sample();
      floor = last.heapBytes;
      restUntil = steadyNow(clock) + restMs;
    } else if (idle && !started) floor = now.heapBytes;
    started ||= idle;
    stop = clock.timer(periodMs, look);
  };
  stop = clock.timer(periodMs, look);
  return () => {
    stop();
  };
}

/** V8's own collector; there only where the process was started with `--expose-gc`, as `bin/podtender.mjs` does. */
type Collector = (options: { type: 'major'; execution: 'sync'; flavor: 'last-resort' }) => void;

const oldGenerationBytes = (): number =>
  getHeapSpaceStatistics()
    .filter(({ space_name: name }) => !name.startsWith('new_'))
    .reduce((sum, { space_size: bytes }) => sum + bytes, 0);

/** {@link trimIdleMemory} of this process, where that can be done. */
export function trimOwnMemory(): void {
  const { gc } = globalThis as { readonly gc?: Collector };
  if (!gc) return;
  trimIdleMemory({
    clock: systemClock,
    sample: () => {
      const { user, system } = process.cpuUsage();
      return { cpuMs: (user + system) / 1000, heapBytes: oldGenerationBytes() };
    },
    collect: () => {
      gc({ type: 'major', execution: 'sync', flavor: 'last-resort' });
    },
  });
}
