import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { type Clock, type StopTimer, systemClock, steadyNow } from '../../base/clock.ts';

/** A sample of a process's resource usage. */
export interface MemorySample {
  /** Processor time of all threads since the start, ms. */
  readonly cpuMs: number;
  /**
   * Size of the heap's old generation including garbage and free space, bytes. The young generation is not counted: it is bounded, and
   * grows back.
   */
  readonly heapBytes: number;
}

/** Sampling and garbage collection of the process. */
export interface IdleMemoryDeps {
  readonly clock: Pick<Clock, 'timer' | 'now'>;
  readonly sample: () => MemorySample;
  /** Collects everything and returns free pages to the system; takes a tenth of a second or more. */
  readonly collect: () => void;
}

/** Interval between samples, ms. */
const periodMs = 2000;
/** A process that uses less than this share of one processor is idle. */
const idleShare = 0.1;
/** Less garbage than this is not worth a pause, bytes. Fifty container starts leave about twice as much. */
const leastWorthBytes = 4 * 1024 * 1024;
/** The pause grows with the retained heap, so the gain must too. */
const worthShare = 0.25;
/** Heap size after a start with nothing to restore, little of it garbage, bytes. A collection at that point would delay the first work. */
const startBytes = 8 * 1024 * 1024;
/** Shortest interval between two collections, ms: in an idle process they take a few percent of its time at most. */
const restMs = 10_000;

/**
 * Returns memory of a burst of work to the system once the agent is idle. V8 collects only when it needs space, so after thousands of
 * pods came or went an idle process would keep for hours what it needed for seconds.
 *
 * @returns a function that stops it
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

/** V8's garbage collector. */
type Collector = (options: { type: 'major'; execution: 'sync'; flavor: 'last-resort' }) => void;

/** Returns V8's collector. A process that was started without `--expose-gc` gets it from a context of its own. */
function collectorOf(): Collector {
  const { gc } = globalThis as { readonly gc?: Collector };
  if (gc) return gc;
  setFlagsFromString('--expose-gc');
  return runInNewContext('gc') as Collector;
}

const oldGenerationBytes = (): number =>
  getHeapSpaceStatistics()
    .filter(({ space_name: name }) => !name.startsWith('new_'))
    .reduce((sum, { space_size: bytes }) => sum + bytes, 0);

/** Runs {@link trimIdleMemory} on this process. */
export function trimOwnMemory(): void {
  let gc: Collector | undefined;
  trimIdleMemory({
    clock: systemClock,
    sample: () => {
      const { user, system } = process.cpuUsage();
      return { cpuMs: (user + system) / 1000, heapBytes: oldGenerationBytes() };
    },
    collect: () => {
      gc ??= collectorOf();
      gc({ type: 'major', execution: 'sync', flavor: 'last-resort' });
    },
  });
}
