import { beforeEach, expect, test } from 'vitest';
import type { DiskUsage } from '../../../src/containers/stats/disk-usage.ts';
import { VolumeUsage } from '../../../src/containers/stats/volume-usage.ts';
import { FakeClock, settle } from '../../../src/base/fake-clock.ts';
import { silentLogger } from '../../../src/base/logger.ts';
import type { Pod } from '../../../src/kube/types.ts';

const podOf = (uid: string, volumes: NonNullable<Pod['spec']>['volumes']): Pod => ({
  metadata: { name: uid, namespace: 'default', uid },
  spec: { containers: [], volumes: volumes ?? [] },
});
const web = podOf('web', [
  { name: 'cache', emptyDir: {} },
  { name: 'memory', emptyDir: { medium: 'Memory' } },
  { name: 'settings', configMap: { name: 'settings' } },
  { name: 'keys', secret: { secretName: 'keys' } },
  { name: 'host', hostPath: { path: '/' } },
]);

let clock = new FakeClock();
let measured: string[] = [];
let bytes = 1;
let measure: (path: string) => Promise<DiskUsage | undefined>;
let warnings: string[] = [];

beforeEach(() => {
  clock = new FakeClock();
  measured = [];
  warnings = [];
  bytes = 1;
  measure = async (path) => {
    measured.push(path);
    return { bytes, inodes: 1 };
  };
});

const usageOf = (periodMs: number): VolumeUsage => {
  const logger = { ...silentLogger, warn: (message: string) => void warnings.push(message) };
  return new VolumeUsage(
    { clock, logger, rootDir: '/r', measure: (path) => measure(path), statFs: async () => undefined },
    periodMs,
  );
};
const amounts = (usage: VolumeUsage, ...pods: readonly Pod[]): readonly string[] =>
  [...usage.of(pods).values()].flat().map(({ name, usedBytes }) => `${name} ${usedBytes}`);

test('the last measurements are returned, and due ones are taken for the next call', async () => {
  const usage = usageOf(60_000);
  expect(amounts(usage, web)).toEqual([]);
  await settle();
  expect(amounts(usage, web)).toEqual(['cache 1', 'memory 1', 'settings 1', 'keys 1']);
  bytes = 2;
  await clock.advance(59_999);
  expect(amounts(usage, web)).toContain('cache 1');
  expect(measured).toHaveLength(4);
  await clock.advance(1);
  expect(amounts(usage, web)).toContain('cache 1');
  await settle();
  expect(amounts(usage, web)).toContain('cache 2');
});

test('an emptyDir on disk and a config map are the pod’s ephemeral storage; memory and secrets are not', async () => {
  const usage = usageOf(60_000);
  usage.of([web]);
  await settle();
  const ephemeral = usage
    .of([web])
    .get('web')
    ?.filter((one) => one.ephemeral);
  expect(ephemeral?.map(({ name }) => name)).toEqual(['cache', 'settings']);
});

test('a pod that is gone is forgotten, even while it is measured', async () => {
  const usage = usageOf(60_000);
  usage.of([web]);
  usage.of([]);
  await settle();
  expect(amounts(usage, web)).toEqual([]);
});

test('a measurement that lasts is not begun again', async () => {
  const usage = usageOf(1000);
  measure = (path) => {
    measured.push(path);
    return new Promise(() => undefined);
  };
  usage.of([web]);
  await clock.advance(10_000);
  usage.of([web]);
  expect(measured).toHaveLength(4);
});

test('a volume that cannot be measured is left out, and said so', async () => {
  const usage = usageOf(60_000);
  measure = async (path) => {
    if (path.endsWith('cache')) throw new Error('EIO');
    return path.endsWith('keys') ? undefined : { bytes: 1, inodes: 1 };
  };
  usage.of([web]);
  await settle();
  expect(amounts(usage, web)).toEqual(['memory 1', 'settings 1']);
  expect(warnings).toEqual(['a volume was not measured']);
});

test('a period of 0 measures nothing', async () => {
  usageOf(0).of([web]);
  await settle();
  expect(measured).toEqual([]);
});

test('a volume that is a file system of its own is as full as that, and tells its claim', async () => {
  const asked: string[] = [];
  const db = podOf('db', [
    { name: 'data', persistentVolumeClaim: { claimName: 'disk' } },
    { name: 'scratch', ephemeral: {} },
    { name: 'share', nfs: { server: 's', path: '/' } },
    { name: 'gone', nfs: { server: 'gone', path: '/' } },
    { name: 'host', hostPath: { path: '/' } },
  ]);
  const usage = new VolumeUsage(
    {
      clock,
      logger: { ...silentLogger, warn: (message: string) => void warnings.push(message) },
      rootDir: '/r',
      measure: (path) => measure(path),
      statFs: async (path) => {
        asked.push(path);
        return { capacityBytes: 100, availableBytes: 50, usedBytes: 40, inodes: 10, inodesFree: 7 };
      },
      own: {
        fileSystemOf: (_, { name }) => (name === 'host' ? undefined : `/mnt/${name}`),
        answers: async (path) => {
          if (path === '/mnt/gone') throw new Error('it does not answer');
        },
      },
    },
    60_000,
  );
  usage.of([db]);
  await settle();
  const fs = { capacityBytes: 100, availableBytes: 50, inodes: 10, inodesFree: 7 };
  const whole = { usedBytes: 40, inodesUsed: 3, ephemeral: false, fs };
  expect(usage.latest).toEqual([
    { name: 'data', ...whole, claim: { name: 'disk', namespace: 'default' } },
    { name: 'scratch', ...whole, claim: { name: 'db-scratch', namespace: 'default' } },
    { name: 'share', ...whole },
  ]);
  expect(asked).toEqual(['/mnt/data', '/mnt/scratch', '/mnt/share']);
  expect(measured).toEqual([]);
  expect(warnings).toEqual(['a volume was not measured']);
});
