/**
 * Measures the cost of a relist: one of 500 unchanged pods happens each second and must stay far below 1 % of a core
 * (10 ms). Run with `node bench/pleg.bench.ts`.
 */
import { systemClock } from '../src/base/clock.ts';
import { silentLogger } from '../src/base/logger.ts';
import { GenericPleg } from '../src/pleg/generic-pleg.ts';
import { emptyStatus, PodCache } from '../src/pleg/pod-cache.ts';
import type { RuntimePod } from '../src/provider/runtime-pod.ts';

/** The cost of one relist. */
export interface RelistCost {
  readonly pods: number;
  readonly changed: number;
  readonly relistUs: number;
}

/** Makes a listing like a runtime: new objects each time. The container IDs of the first `changed` pods contain `generation`. */
function listing(count: number, changed: number, generation: number): RuntimePod[] {
  return Array.from({ length: count }, (_, i) => {
    const suffix = i < changed ? `${i}-${generation}` : `${i}`;
    const item = (id: string) => ({
      id: `containerd://${id}-${suffix}`,
      name: id,
      state: 'running' as const,
    });
    return {
      uid: `uid-${i}`,
      name: `pod-${i}`,
      namespace: 'default',
      containers: [item('app'), item('sidecar')],
      sandboxes: [item('sandbox')],
    };
  });
}

/** The median of `passes` relists, without the runtime's part. */
export async function measure(count: number, changed: number, passes: number): Promise<RelistCost> {
  const listings = Array.from({ length: passes }, (_, generation) => listing(count, changed, generation));
  let next = 0;
  const pleg = new GenericPleg({
    clock: systemClock,
    logger: silentLogger,
    cache: new PodCache(),
    provider: {
      listPods: () => Promise.resolve(listings[next++] ?? []),
      getPodStatus: ({ uid }) => Promise.resolve(emptyStatus(uid)),
    },
  });
  const costs: number[] = [];
  for (let pass = 0; pass < passes; pass++) {
    const startedAt = process.hrtime.bigint();
    await pleg.relist();
    costs.push(Number(process.hrtime.bigint() - startedAt) / 1000);
    pleg.channel.drain();
  }
  return {
    pods: count,
    changed,
    relistUs: costs.toSorted((a, b) => a - b)[Math.floor(passes / 2)] ?? Number.NaN,
  };
}

export async function run(): Promise<readonly RelistCost[]> {
  await measure(500, 5, 200);
  return [
    await measure(110, 0, 200),
    await measure(500, 0, 200),
    await measure(500, 5, 200),
    await measure(500, 500, 50),
    await measure(5000, 0, 50),
  ];
}

if (import.meta.main) console.table(await run());
