import fc from 'fast-check';
import { expect, test } from 'vitest';
import { FakeClock } from '../../src/base/fake-clock.ts';
import { silentLogger } from '../../src/base/logger.ts';
import { EvictionManager } from '../../src/eviction/manager.ts';
import type { StatsSummary } from '../../src/kube/stats-summary.ts';
import { parseThresholds } from '../../src/eviction/thresholds.ts';
import { isCriticalPod } from '../../src/kube/priority.ts';
import { uidOf } from '../../src/kube/names.ts';
import type { Pod } from '../../src/kube/types.ts';

const gi = 1024 ** 3;

const pods: readonly Pod[] = [0, 0, 5, 2_000_000_000].map((priority, index) => ({
  metadata: { name: `p${index}`, namespace: 'default', uid: `p${index}` },
  spec: { containers: [{ name: 'c' }], priority, terminationGracePeriodSeconds: 10 * index },
}));

interface Step {
  readonly seconds: number;
  readonly memory: number;
  readonly disk: number;
  readonly processes: number;
  readonly broken: boolean;
}

const step: fc.Arbitrary<Step> = fc.record({
  seconds: fc.integer({ min: 0, max: 120 }),
  memory: fc.integer({ min: 0, max: 8 }),
  disk: fc.integer({ min: 0, max: 100 }),
  processes: fc.integer({ min: 0, max: 1000 }),
  broken: fc.boolean(),
});

const thresholds = parseThresholds({
  evictionHard: { 'memory.available': '1Gi', 'nodefs.available': '10%', 'pid.available': '5%' },
  evictionSoft: { 'memory.available': '2Gi', 'imagefs.available': '20%' },
  evictionSoftGracePeriod: { 'memory.available': '30s', 'imagefs.available': '1m' },
  evictionMinimumReclaim: { 'memory.available': '1Gi' },
});

function summaryOf({ memory, disk, processes }: Step, now: number): StatsSummary {
  const time = new Date(now).toISOString();
  const fs = { time, availableBytes: disk * gi, capacityBytes: 100 * gi };
  return {
    node: {
      memory: { time, availableBytes: memory * gi, workingSetBytes: (8 - memory) * gi },
      fs,
      runtime: { imageFs: fs, containerFs: fs },
      rlimit: { time, maxpid: 1000, curproc: processes },
    },
    pods: pods.slice(1).map((pod) => ({ podRef: { name: '', namespace: '', uid: uidOf(pod) } })),
  };
}

test('whatever the node goes through: one pod a pass at most, never a critical one, never without a shortage', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 12 }), fc.boolean(), async (steps, dedicated) => {
      const clock = new FakeClock(1e12);
      let current = { seconds: 0, memory: 8, disk: 100, processes: 0, broken: false };
      let graces: number[] = [];
      const manager = new EvictionManager(
        {
          clock,
          logger: silentLogger,
          recorder: { event: () => undefined },
          nodeRef: {},
          summary: {
            get: async () => {
              if (current.broken) throw new Error('broken');
              return summaryOf(current, clock.now());
            },
            layout: async () => ({ dedicatedImageFs: dedicated, splitContainerFs: false }),
          },
          pods: {
            activePods: () => pods,
            isFinished: () => true,
            killPod: async (pod, { gracePeriodSeconds }) => {
              expect(isCriticalPod(pod)).toBe(false);
              graces.push(gracePeriodSeconds);
            },
          },
          reclaim: {},
        },
        {
          thresholds,
          maxPodGracePeriodSeconds: 15,
          pressureTransitionPeriodMs: 60_000,
          localStorageCapacityIsolation: true,
        },
      );
      for (current of steps) {
        clock.set(clock.now() + current.seconds * 1000);
        graces = [];
        const evicted = await manager.synchronize();
        expect(evicted.length).toBeLessThanOrEqual(1);
        expect(graces.length).toBe(evicted.length);
        expect(graces.every((grace) => grace >= 0 && grace <= 15)).toBe(true);
        if (evicted.length > 0) expect(manager.conditions()).not.toEqual([]);
        if (current.broken) expect(evicted).toEqual([]);
        if (!current.broken && current.memory < 1) expect(manager.pressure('memory')).toBe(true);
      }
    }),
    { numRuns: 300, seed: 99 },
  );
});
