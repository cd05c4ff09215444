import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { FakeClock } from '../../../src/base/fake-clock.ts';
import { silentLogger } from '../../../src/base/logger.ts';
import type { Pod } from '../../../src/kube/types.ts';
import { PodVolumes } from '../../../src/containers/volumes/pod-volumes.ts';
import { quietMounter } from '../../support/quiet-mounter.ts';

const dir = mkdtempSync(join(tmpdir(), 'pt-empty-dir-'));
afterAll(() => {
  rmSync(dir, { recursive: true });
});
let serial = 0;

/** Mounts one emptyDir and gives back what was mounted, or the event. */
async function mounted(emptyDir: object, limits: readonly object[], nodeMemory = '1Gi'): Promise<string> {
  const found: string[] = [];
  const volumes = new PodVolumes({
    clock: new FakeClock(),
    logger: silentLogger,
    recorder: {
      event: (_, __, ___, message) => {
        found.push(message);
      },
    },
    rootDir: dir,
    mounter: {
      ...quietMounter,
      mountTmpfs: async (_, bytes) => void found.push(`memory ${String(bytes)}`),
      mountHugePages: async (_, bytes) => void found.push(`pages ${bytes}`),
    },
    payloadOf: () => undefined,
    claimedVolume: async () => ({}),
    nodeAllocatable: () => ({ memory: nodeMemory }),
  });
  const pod = {
    metadata: { name: 'p', namespace: 'n', uid: `u${serial++}` },
    spec: {
      containers: limits.map((limit, index) => ({
        name: `c${index}`,
        resources: { limits: limit, requests: limit },
        volumeMounts: [{ name: 'v', mountPath: '/v' }],
      })),
      volumes: [{ name: 'v', emptyDir }],
    },
  } as unknown as Pod;
  await volumes.mount(pod, AbortSignal.abort()).catch(() => undefined);
  return found.join();
}

const mi = 2 ** 20;
test.for([
  ['its own limit', { sizeLimit: '8Mi' }, [{ memory: '32Mi' }], 8 * mi],
  ['the pod’s, which is less', { sizeLimit: '64Mi' }, [{ memory: '16Mi' }, { memory: '16Mi' }], 32 * mi],
  ['the pod’s, without one of its own', {}, [{ memory: '32Mi' }], 32 * mi],
  ['the node’s, when a container has none', {}, [{ memory: '32Mi' }, {}], 1024 * mi],
  ['its own, when a container has none', { sizeLimit: '64Mi' }, [{ memory: '32Mi' }, {}], 64 * mi],
] as const)('a volume in memory holds %s', async ([, volume, limits, bytes]) => {
  expect(await mounted({ medium: 'Memory', ...volume }, limits)).toBe(`memory ${bytes}`);
});

test.for([
  ['HugePages', [{ 'hugepages-2Mi': '4Mi' }], `pages ${2 * mi}`],
  ['HugePages-1Gi', [{ 'hugepages-2Mi': '4Mi', 'hugepages-1Gi': '1Gi' }], `pages ${1024 * mi}`],
  ['HugePages', [{}], 'MountVolume.SetUp failed for volume "v" : no hugepages found in pod spec'],
  [
    'HugePages',
    [{ 'hugepages-2Mi': '4Mi', 'hugepages-1Gi': '1Gi' }],
    'MountVolume.SetUp failed for volume "v" : medium HugePages can be used only if exactly one page size is requested',
  ],
  [
    'HugePages-1Gi',
    [{ 'hugepages-2Mi': '4Mi' }],
    'MountVolume.SetUp failed for volume "v" : medium HugePages-1Gi cannot be used: the pod does not request hugepages-1Gi',
  ],
  ['Paper', [{}], 'MountVolume.SetUp failed for volume "v" : unknown storage medium "Paper"'],
] as const)('medium %s for %j', async ([medium, limits, found]) => {
  expect(await mounted({ medium }, limits)).toBe(found);
});
