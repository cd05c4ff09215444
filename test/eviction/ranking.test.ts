import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type ComparePods, orderFor, rankPods } from '../../src/eviction/ranking.ts';
import { signalFacts, type Signal } from '../../src/eviction/signals.ts';
import { type PodStats, statsByUid } from '../../src/kube/stats-summary.ts';
import { nameOf } from '../../src/kube/names.ts';
import type { Pod } from '../../src/kube/types.ts';

interface Sample {
  readonly pod: Pod;
  readonly stats: PodStats | undefined;
}

interface Traits {
  readonly priority?: number;
  readonly memory?: number;
  readonly request?: string;
  readonly disk?: number;
  readonly inodes?: number;
  readonly processes?: number;
  readonly measured?: boolean;
}

function sample(name: string, traits: Traits): Sample {
  const { priority, request, memory, disk, inodes, processes, measured = true } = traits;
  const requests = request === undefined ? {} : { memory: request, 'ephemeral-storage': request };
  const fs = {
    ...(disk !== undefined && { usedBytes: disk }),
    ...(inodes !== undefined && { inodesUsed: inodes }),
  };
  const pod: Pod = {
    metadata: { name, uid: name },
    spec: {
      containers: [{ name: 'c', resources: { requests } }],
      ...(priority !== undefined && { priority }),
    },
  };
  const stats: PodStats = {
    podRef: { name, namespace: '', uid: name },
    containers: [{ name: 'c', rootfs: fs, logs: fs }],
    memory: { workingSetBytes: memory ?? null },
    process_stats: { process_count: processes ?? null },
  };
  return { pod, stats: measured ? stats : undefined };
}

const layouts = [
  { dedicatedImageFs: false, splitContainerFs: false },
  { dedicatedImageFs: true, splitContainerFs: false },
  { dedicatedImageFs: true, splitContainerFs: true },
] as const;

const statsOf = (samples: readonly Sample[]): ReturnType<typeof statsByUid> =>
  statsByUid({ node: {}, pods: samples.flatMap(({ stats }) => (stats ? [stats] : [])) });

const ranked = (samples: readonly Sample[], signal: Signal): readonly string[] =>
  rankPods(
    samples.map(({ pod }) => pod),
    statsOf(samples),
    signal,
    layouts[0],
  ).map(nameOf);

test('for memory: who exceeds the request, then the lower priority, then the larger excess', () => {
  const samples = [
    sample('within', { memory: 900, request: '1000', priority: -1 }),
    sample('high', { memory: 5000, request: '10', priority: 5 }),
    sample('some', { memory: 150, request: '100' }),
    sample('more', { memory: 2000, request: '1900' }),
  ];
  expect(ranked(samples, 'memory.available')).toEqual(['more', 'some', 'high', 'within']);
});

test('a pod of which nothing runs goes first', () => {
  const samples = [sample('fat', { memory: 1e9 }), sample('silent', { measured: false, priority: 9 })];
  expect(ranked(samples, 'memory.available')).toEqual(['silent', 'fat']);
});

test('for process IDs priority comes before use, and use before nothing', () => {
  const samples = [
    sample('forks', { processes: 5000, priority: 1 }),
    sample('few', { processes: 3 }),
    sample('many', { processes: 7 }),
  ];
  expect(ranked(samples, 'pid.available')).toEqual(['many', 'few', 'forks']);
});

const traits: fc.Arbitrary<Traits> = fc.record(
  {
    priority: fc.integer({ min: -2, max: 2 }),
    memory: fc.integer({ min: 0, max: 4 }),
    request: fc.constantFrom('0', '1', '2', '3'),
    disk: fc.integer({ min: 0, max: 3 }),
    inodes: fc.integer({ min: 0, max: 3 }),
    processes: fc.integer({ min: 0, max: 3 }),
    measured: fc.boolean(),
  },
  { requiredKeys: [] },
);

const three = fc.tuple(traits, traits, traits);

test.for(Object.keys(signalFacts) as Signal[])('the order for %s is a strict weak one', (signal) => {
  fc.assert(
    fc.property(three, fc.constantFrom(...layouts), (all, layout) => {
      const samples = all.map((each, index) => sample(`p${index}`, each));
      const compare = orderFor(statsOf(samples), signal, layout);
      const [a, b, c] = samples.map(({ pod }) => pod) as [Pod, Pod, Pod];
      expectWeakOrder(compare, [a, b, c]);
    }),
    { numRuns: 400, seed: 4711 },
  );
});

function expectWeakOrder(compare: ComparePods, [a, b, c]: readonly [Pod, Pod, Pod]): void {
  const sign = (x: Pod, y: Pod): number => Math.sign(compare(x, y));
  expect(sign(a, a)).toBe(0);
  expect(sign(a, b) + sign(b, a)).toBe(0);
  if (sign(a, b) < 0 && sign(b, c) < 0) expect(sign(a, c)).toBe(-1);
  if (sign(a, b) === 0 && sign(b, c) === 0) expect(sign(a, c)).toBe(0);
}
