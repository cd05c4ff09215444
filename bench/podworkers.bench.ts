/**
 * Measures the hot path of a full node: the cost of one pod from create to forgotten, with a syncer that does nothing, and the memory of an
 * idle pod. Run with `node --expose-gc bench/podworkers.bench.ts`.
 */
import type { Pod } from '../src/kube/types.ts';
import { DueQueue } from '../src/podworkers/due-queue.ts';
import { PodWorkers } from '../src/podworkers/pod-workers.ts';
import { systemRandom } from '../src/base/random.ts';
import { systemClock } from '../src/base/clock.ts';
import { emptyStatus } from '../src/pleg/pod-cache.ts';

/** The costs for one number of pods. */
export interface PodWorkersCost {
  readonly pods: number;
  readonly createSyncUs: number;
  readonly killUs: number;
  readonly forgetUs: number;
  readonly wholeLifeUs: number;
  /** The fastest pass: on a busy machine the others mostly measure other load. */
  readonly fastestWholeLifeUs: number;
  /** The memory per idle pod in addition to the pod object, bytes; absent without `--expose-gc`. */
  readonly bytesPerIdlePod: number | undefined;
}

const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function podOf(i: number): Pod {
  return {
    metadata: {
      uid: `00000000-0000-4000-8000-${String(i).padStart(12, '0')}`,
      name: `pod-${i}`,
      namespace: 'default',
    },
    spec: { containers: [{ name: 'c', image: 'i' }], terminationGracePeriodSeconds: 30 },
    status: { phase: 'Running' },
  };
}

function newWorkers(): PodWorkers {
  const done = Promise.resolve();
  const synced = Promise.resolve({ terminal: false });
  const observed = Promise.resolve(emptyStatus('any'));
  return new PodWorkers({
    clock: systemClock,
    random: systemRandom,
    recorder: { event: () => undefined },
    queue: new DueQueue(systemClock),
    cache: { get: emptyStatus, getNewerThan: () => observed },
    syncer: {
      syncPod: () => synced,
      syncTerminatingPod: () => done,
      syncTerminatingRuntimePod: () => done,
      syncTerminatedPod: () => done,
    },
  });
}

/** The number of pods per batch of a source; workers run between two batches. */
const batchSize = 1000;

async function timed(pods: readonly Pod[], act: (pod: Pod) => void): Promise<number> {
  const startedAt = process.hrtime.bigint();
  for (let i = 0; i < pods.length; i += batchSize) {
    for (const pod of pods.slice(i, i + batchSize)) act(pod);
    await settle();
  }
  return Number(process.hrtime.bigint() - startedAt) / 1000;
}

function heapUsed(): number | undefined {
  const { gc } = globalThis as { gc?: () => void };
  if (!gc) return undefined;
  gc();
  gc();
  return process.memoryUsage().heapUsed;
}

/**
 * Runs one pass with `count` pods. Measuring memory collects garbage in between, which would distort the times, so it is a separate pass.
 */
export async function measure(count: number, weigh = false): Promise<PodWorkersCost> {
  const pods = Array.from({ length: count }, (_, i) => podOf(i));
  const workers = newWorkers();
  heapUsed();
  await settle();
  const before = weigh ? heapUsed() : undefined;
  const create = await timed(pods, (pod) => {
    workers.updatePod({ type: 'create', pod, startTime: 1 });
  });
  const after = weigh ? heapUsed() : undefined;
  const kill = await timed(pods, (pod) => {
    workers.updatePod({ type: 'kill', pod });
  });
  const unfinished = pods.filter((pod) => !workers.shouldPodBeFinished(pod.metadata?.uid ?? '')).length;
  if (unfinished > 0) throw new Error(`${unfinished} of ${count} pods did not finish`);
  const forget = await timed(pods.slice(0, 1), () => {
    workers.syncKnownPods([]);
  });
  if (workers.size > 0) throw new Error(`${workers.size} of ${count} pods were not forgotten`);
  return {
    pods: count,
    createSyncUs: create / count,
    killUs: kill / count,
    forgetUs: forget / count,
    wholeLifeUs: (create + kill + forget) / count,
    fastestWholeLifeUs: (create + kill + forget) / count,
    bytesPerIdlePod: before === undefined || after === undefined ? undefined : (after - before) / count,
  };
}

/** The median of several passes, by member. */
async function medianOf(count: number, passes: number): Promise<PodWorkersCost> {
  const costs: PodWorkersCost[] = [];
  for (let pass = 0; pass < passes; pass++) costs.push(await measure(count));
  const median = (key: keyof PodWorkersCost): number =>
    costs.map((cost) => cost[key] ?? Number.NaN).toSorted((a, b) => a - b)[Math.floor(passes / 2)] ??
    Number.NaN;
  const { bytesPerIdlePod } = await measure(count, true);
  return {
    pods: count,
    createSyncUs: median('createSyncUs'),
    killUs: median('killUs'),
    forgetUs: median('forgetUs'),
    wholeLifeUs: median('wholeLifeUs'),
    fastestWholeLifeUs: Math.min(...costs.map((cost) => cost.wholeLifeUs)),
    bytesPerIdlePod,
  };
}

/** Runs 1,000 to 100,000 pods, after a warm-up; each row is the median of its passes. */
export async function run(): Promise<readonly PodWorkersCost[]> {
  for (let pass = 0; pass < 5; pass++) await measure(2000);
  const rows: PodWorkersCost[] = [];
  for (const [count, passes] of [
    [1000, 15],
    [10_000, 7],
    [100_000, 3],
  ] as const)
    rows.push(await medianOf(count, passes));
  return rows;
}

if (import.meta.main) {
  const rounded = (value: number | undefined): number | string =>
    value === undefined ? '-' : Number(value.toFixed(2));
  console.table(
    (await run()).map((row) => ({
      pods: row.pods,
      'create + sync, µs': rounded(row.createSyncUs),
      'kill to terminated, µs': rounded(row.killUs),
      'forget, µs': rounded(row.forgetUs),
      'whole life, µs': rounded(row.wholeLifeUs),
      'fastest, µs': rounded(row.fastestWholeLifeUs),
      'bytes per idle pod': rounded(row.bytesPerIdlePod),
    })),
  );
}
