import { appendFileSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as written } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { FakeClock } from '../../../src/base/fake-clock.ts';
import type { Pod } from '../../../src/kube/types.ts';
import { emptyPodStatus } from '../../../src/provider/runtime-pod.ts';
import { MemoryProvider } from '../../../src/providers/memory/index.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'memory-journal-'));
});
afterEach(() => {
  rmSync(dir, { recursive: true });
});

const clock = new FakeClock(Date.parse('2030-01-01T00:00:00Z'));
const pod: Pod = {
  metadata: { uid: 'u1', name: 'a', namespace: 'n', annotations: { 'podtender.io/memory.run-ms': '5000' } },
  spec: { containers: [{ name: 'main', image: 'i' }] },
};
const open = (): MemoryProvider => new MemoryProvider({ clock, journal: join(dir, 'pods') });
const sync = (provider: MemoryProvider): Promise<unknown> =>
  provider.syncPod(
    { pod, observed: statusless, pullSecrets: [], restartAllContainers: false },
    AbortSignal.any([]),
  );
const statusless = emptyPodStatus({ uid: 'u1', name: 'a', namespace: 'n' });

test('pods are as they were for the next process, whose clock ends what has run its time', async () => {
  const before = open();
  await sync(before);
  await written();
  const ref = { uid: 'u1', name: 'a', namespace: 'n' };
  const told = await before.getPodStatus(ref);
  const after = open();
  expect(await after.getPodStatus(ref)).toEqual(told);
  expect(await after.listPods()).toEqual(await before.listPods());
  await clock.advance(5000);
  expect((await after.getPodStatus(ref)).containerStatuses[0]?.state).toBe('exited');
});

test('a torn last line and forgotten pods are left out', async () => {
  const before = open();
  await sync(before);
  await written();
  appendFileSync(join(dir, 'pods'), '{"uid":"u2","rec');
  expect(await open().listPods()).toHaveLength(1);
  await before.killPod(
    pod,
    (await before.listPods())[0] ?? { uid: '', name: '', namespace: '', containers: [], sandboxes: [] },
    0,
    AbortSignal.any([]),
  );
  before.removeDeadContainers('u1', true);
  await written();
  expect(await before.listPods()).toEqual([]);
  expect(await open().listPods()).toEqual([]); // what was appended after the torn line was taken out counts
});

test('pods whose file cannot be written go on, and are written once it can be', async () => {
  const provider = open();
  rmSync(dir, { recursive: true });
  await sync(provider);
  await written();
  const running = await provider.getPodStatus({ uid: 'u1', name: 'a', namespace: 'n' });
  expect(running.containerStatuses).toMatchObject([{ state: 'running' }]);
  mkdirSync(dir);
  await sync(provider);
  await clock.advance(5000);
  await written();
  const after = await open().getPodStatus({ uid: 'u1', name: 'a', namespace: 'n' });
  expect(after.containerStatuses).toMatchObject([{ state: 'exited' }]);
});
