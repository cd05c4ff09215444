import { expect, test } from 'vitest';
import { AllocationManager } from '../../src/allocation/allocation-manager.ts';
import { FakeClock } from '../../src/base/fake-clock.ts';
import { silentLogger } from '../../src/base/logger.ts';
import type { PodResourceMap } from '../../src/kube/resources/pod-resources.ts';
import type { Pod } from '../../src/kube/types.ts';
import { ResizeStatuses } from '../../src/status/resize-statuses.ts';

const podOf = (uid: string): Pod => ({
  metadata: { uid, name: uid },
  spec: { containers: [{ name: 'c', resources: { requests: { cpu: '1' } } }] },
});

function make(): { manager: AllocationManager; clock: FakeClock; kept: PodResourceMap[]; stop: () => void } {
  const clock = new FakeClock(0);
  const kept: PodResourceMap[] = [];
  const manager = new AllocationManager({
    clock,
    logger: silentLogger,
    recorder: { event: () => undefined },
    resizes: new ResizeStatuses(clock),
    admit: () => ({ admit: true, reason: '', message: '' }),
    activePods: () => [],
    podByUid: () => undefined,
    syncPod: () => undefined,
    sourcesReady: { allReady: () => true },
    keeper: { before: {}, save: async (state) => void kept.push(state()) },
  });
  const stopping = new AbortController();
  void manager.run(stopping.signal);
  return {
    manager,
    clock,
    kept,
    stop: () => {
      stopping.abort();
    },
  };
}

test('what new pods were given is kept together, within a second', async () => {
  const { manager, clock, kept, stop } = make();
  await clock.advance(10_000);
  for (const uid of ['a', 'b', 'c']) await manager.addPod(podOf(uid));
  await clock.advance(1000);
  expect(kept.map((state) => Object.keys(state))).toEqual([['a', 'b', 'c']]);
  await clock.advance(600_000);
  expect(kept).toHaveLength(1);
  stop();
});

test('what was not kept yet is kept when the agent stops', async () => {
  const { manager, clock, kept, stop } = make();
  await manager.addPod(podOf('a'));
  expect(kept).toEqual([]);
  stop();
  await clock.advance(0);
  expect(kept.map((state) => Object.keys(state))).toEqual([['a']]);
  expect(clock.pending).toBe(0);
});

test("a step of a pod's start is resized as its containers are", async () => {
  const { manager, stop } = make();
  const withStep = (cpu: string): Pod => {
    const { metadata, spec } = podOf('a');
    const step = { name: 'step', resources: { requests: { cpu } } };
    return {
      ...(metadata && { metadata }),
      spec: { containers: spec?.containers ?? [], initContainers: [step] },
    };
  };
  await manager.addPod(withStep('1'));
  expect(manager.needsResize(withStep('1000m'))).toBe(false);
  expect(manager.needsResize(withStep('2'))).toBe(true);
  stop();
});
