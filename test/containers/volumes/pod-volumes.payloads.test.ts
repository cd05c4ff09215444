import { chmodSync, lstatSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { FakeClock } from '../../../src/base/fake-clock.ts';
import { silentLogger } from '../../../src/base/logger.ts';
import type { Pod } from '../../../src/kube/types.ts';
import { fsUserOf } from '../../../src/containers/volumes/ownership.ts';
import { PodVolumes } from '../../../src/containers/volumes/pod-volumes.ts';
import { quietMounter } from '../../support/quiet-mounter.ts';

let dir: string;
let mounts: string[];
let content: string;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'pt-payload-'));
  [mounts, content] = [[], 'one'];
});
afterEach(() => {
  rmSync(dir, { recursive: true });
});

/** The volumes of a node whose mounts are remembered; a mount of memory is open to all and sticky, as the kernel makes it. */
const volumesOf = (secretsInMemory = true): PodVolumes =>
  new PodVolumes({
    clock: new FakeClock(),
    logger: silentLogger,
    recorder: { event: (_, __, reason, message) => expect.unreachable(`${reason} ${message}`) },
    rootDir: dir,
    secretsInMemory,
    mounter: {
      ...quietMounter,
      mountTmpfs: async (point) => {
        chmodSync(point, 0o1777);
        mounts.push(point);
      },
      isMountPoint: (path) => mounts.includes(path),
    },
    payloadOf: () => Promise.resolve({ 'in/file': { data: Buffer.from(content), mode: 0o400 } }),
    claimedVolume: async () => ({}),
    nodeAllocatable: () => ({}),
  });

const podOf = (volume: object, fsGroup?: number): Pod => ({
  metadata: { name: 'p', namespace: 'n', uid: 'u' },
  spec: {
    containers: [{ name: 'c', volumeMounts: [{ name: 'v', mountPath: '/v' }] }],
    ...(fsGroup !== undefined && { securityContext: { fsGroup } }),
    volumes: [{ name: 'v', ...volume }],
  },
});
const mount = (volumes: PodVolumes, pod: Pod): Promise<void> =>
  volumes.mount(pod, new AbortController().signal);
const secret = { secret: { secretName: 's' } };
const secretDir = (): string => join(dir, 'pods/u/volumes/kubernetes.io~secret/v');
const modeOf = (path: string): string => (statSync(path).mode & 0o7777).toString(8);
const group = (process.getgid?.() ?? 0) + (process.getuid?.() === 0 ? 77 : 0);

test.for([
  [{ secret: {} }, 'kubernetes.io~secret'],
  [{ downwardAPI: {} }, 'kubernetes.io~downward-api'],
  [{ projected: { sources: [] } }, 'kubernetes.io~projected'],
  [{ emptyDir: { medium: 'Memory' } }, 'kubernetes.io~empty-dir'],
  [{ configMap: { name: 'c' } }, undefined],
] as const)('%j lies in memory below %s', async ([volume, plugin]) => {
  await mount(volumesOf(), podOf(volume));
  expect(mounts).toEqual(plugin === undefined ? [] : [join(dir, 'pods/u/volumes', plugin, 'v')]);
});

test('a secret lies on disk where nothing can be mounted', async () => {
  await mount(volumesOf(false), podOf(secret));
  expect(mounts).toEqual([]);
  expect(readFileSync(join(secretDir(), 'in/file'), 'utf8')).toBe('one');
});

test('what an earlier agent wrote to disk is not hidden by a mount', async () => {
  await mount(volumesOf(false), podOf(secret));
  content = 'two';
  await mount(volumesOf(), podOf(secret));
  expect(mounts).toEqual([]);
  expect(readFileSync(join(secretDir(), 'in/file'), 'utf8')).toBe('two');
});

test('a group may read the files and nothing more, and the whole volume is its own', async () => {
  const volumes = volumesOf();
  for (const text of ['one', 'two']) {
    content = text;
    await mount(volumes, podOf(secret, group));
    expect(modeOf(join(secretDir(), 'in/file')), text).toBe('440');
    expect(modeOf(join(secretDir(), 'in')), text).toBe('2755');
    expect(modeOf(secretDir()), text).toBe('3777');
    const owned = ['.', 'in/file', '..data'].map((path) => lstatSync(join(secretDir(), path)).gid);
    expect(owned).toEqual([group, group, group]);
  }
});

test('API payloads and read-only claims are mounted read-only', () => {
  const pod: Pod = {
    metadata: { name: 'p', namespace: 'n', uid: 'u' },
    spec: {
      containers: [],
      volumes: [
        { name: 'config', configMap: { name: 'c' } },
        { name: 'secret', ...secret },
        { name: 'fields', downwardAPI: {} },
        { name: 'all', projected: { sources: [] } },
        { name: 'image', image: { reference: 'i' } },
        { name: 'scratch', emptyDir: {} },
        { name: 'host', hostPath: { path: '/srv' } },
      ],
    },
  };
  const mounted = volumesOf().mounted(pod);
  const names = (readOnly: boolean): string[] =>
    [...mounted].filter(([, volume]) => (volume.readOnly === true) === readOnly).map(([name]) => name);
  expect(names(true)).toEqual(['config', 'secret', 'fields', 'all', 'image']);
  expect(names(false)).toEqual(['scratch', 'host']);
  expect(mounted.get('host')).toEqual({ path: '/srv' });
  expect(mounted.get('image')).toEqual({ path: '', readOnly: true });
});

test('a directory in memory keeps its sticky bit, and a group may write', async () => {
  await mount(volumesOf(), podOf({ emptyDir: { medium: 'Memory' } }, group));
  expect(modeOf(join(dir, 'pods/u/volumes/kubernetes.io~empty-dir/v'))).toBe('3777');
});

const users = (pod: number | undefined, ...containers: readonly (number | undefined)[]): Pod => ({
  spec: {
    ...(pod !== undefined && { securityContext: { runAsUser: pod } }),
    containers: containers.map((runAsUser, index) => ({
      name: `c${index}`,
      ...(runAsUser !== undefined && { securityContext: { runAsUser } }),
    })),
  },
});
test.for([
  ['the pod’s', users(7, undefined, undefined), 7],
  ['that of all containers', users(undefined, 8, 8), 8],
  ['the container’s before the pod’s', users(7, 8), 8],
  ['nobody when they differ', users(7, 8, undefined), undefined],
  ['nobody when one does not say', users(undefined, 8, undefined), undefined],
  ['root when all are', users(0, undefined), 0],
] as const)('tokens belong to %s', ([, pod, user]) => {
  expect(fsUserOf(pod)).toBe(user);
});
