import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { FakeClock } from '../../../src/base/fake-clock.ts';
import { silentLogger } from '../../../src/base/logger.ts';
import type { Pod } from '../../../src/kube/types.ts';
import { PodVolumes } from '../../../src/containers/volumes/pod-volumes.ts';
import { quietMounter } from '../../support/quiet-mounter.ts';

let dir: string;
let clock: FakeClock;
let volumes: PodVolumes;
/** What the config map says; absent: there is none. */
let content: string | undefined;
let triedAt: number[];
let told: string[];

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'pt-failed-'));
  clock = new FakeClock();
  const start = clock.now();
  [content, triedAt, told] = [undefined, [], []];
  volumes = new PodVolumes({
    clock,
    logger: silentLogger,
    recorder: { event: (_, __, reason, message) => told.push(`${reason} ${message}`) },
    rootDir: dir,
    mounter: quietMounter,
    payloadOf: async () => {
      triedAt.push((clock.now() - start) / 1000);
      if (content === undefined) throw new Error('configmap "c" not found');
      return { file: { data: Buffer.from(content), mode: 0o644 } };
    },
    claimedVolume: async () => ({}),
    nodeAllocatable: () => ({}),
  });
});
afterEach(() => {
  rmSync(dir, { recursive: true });
});

const pod: Pod = {
  metadata: { name: 'p', namespace: 'n', uid: 'u' },
  spec: {
    containers: [{ name: 'c', volumeMounts: [{ name: 'v', mountPath: '/v' }] }],
    volumes: [{ name: 'v', configMap: { name: 'c' } }],
  },
};
const fault = 'FailedMount MountVolume.SetUp failed for volume "v" : configmap "c" not found';
const mount = (): Promise<void> => volumes.mount(pod, new AbortController().signal);
const written = (): string =>
  readFileSync(join(dir, 'pods/u/volumes/kubernetes.io~configmap/v/file'), 'utf8');

test('a step waits two minutes and three seconds for its volumes, and the next one goes on with the same pauses', async () => {
  for (const tries of [[0, 0.5, 1.5, 3.5, 7.5, 15.5, 31.5, 63.5], [127.5], [249.5]]) {
    triedAt = [];
    const ended = mount().catch((reason: unknown) => reason);
    await clock.advance(122_999);
    expect(await Promise.race([ended, Promise.resolve('waits')])).toBe('waits');
    await clock.advance(1);
    expect(await ended).toMatchObject({ code: 'deadline_exceeded' });
    expect(triedAt).toEqual(tries);
  }
  expect(told).toEqual(Array(10).fill(fault));
});

test('a volume that stands holds up nothing when its source is gone, and follows it again later', async () => {
  content = 'one';
  await mount();
  content = undefined;
  await mount();
  await mount(); // too soon for another try
  expect(told).toEqual([fault]);
  expect(written()).toBe('one');
  content = 'two';
  await clock.advance(500);
  await mount();
  expect(written()).toBe('two');
});

test('what was unmounted is waited for anew, and tried at once', async () => {
  content = 'one';
  await mount();
  content = undefined;
  await mount();
  await volumes.unmount(pod);
  content = 'two';
  await mount();
  expect(triedAt).toEqual([0, 0, 0]);
  expect(written()).toBe('two');
});
