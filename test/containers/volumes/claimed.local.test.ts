import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { FakeClock, settle } from '../../../src/base/fake-clock.ts';
import { silentLogger } from '../../../src/base/logger.ts';
import type { Pod } from '../../../src/kube/types.ts';
import { PodVolumes } from '../../../src/containers/volumes/pod-volumes.ts';
import { quietMounter } from '../../support/quiet-mounter.ts';

let dir: string;
let mounts: string[];
let told: string[];
let stuck: string | undefined;
let looks: number;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'pt-local-'));
  mkdirSync(join(dir, 'disk'));
  [mounts, told, stuck, looks] = [[], [], undefined, 0];
});
afterEach(() => {
  rmSync(dir, { recursive: true });
});

/** The volumes of a node whose mounts are remembered, not made. */
const volumesOf = (gid?: string, more: object = {}): PodVolumes =>
  new PodVolumes({
    clock: new FakeClock(),
    logger: silentLogger,
    recorder: { event: (_, __, reason, message) => void told.push(`${reason} ${message}`) },
    rootDir: dir,
    mounter: {
      ...quietMounter,
      bindMount: async (_, target) => void mounts.push(target),
      unmount: async (target) => {
        if (target !== stuck) mounts = mounts.filter((one) => one !== target);
      },
      isMountPoint: (path) => mounts.includes(path),
      mountsUnder: (path) => {
        looks++;
        return mounts.filter((one) => one.startsWith(`${path}/`));
      },
    },
    payloadOf: () => undefined,
    claimedVolume: async () => ({
      name: 'pv',
      local: { path: join(dir, 'disk') },
      ...(gid !== undefined && { gid }),
      ...more,
    }),
    nodeAllocatable: () => ({}),
  });

const asDirectory = { volumeMounts: [{ name: 'v', mountPath: '/v' }] };

const podOf = (uid: string, securityContext: object, readOnly = false): Pod => ({
  metadata: { name: uid, namespace: 'n', uid },
  spec: {
    containers: [{ name: 'c', ...asDirectory }],
    securityContext,
    volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'c', readOnly } }],
  },
});
const mount = (volumes: PodVolumes, pod: Pod): Promise<void> =>
  volumes.mount(pod, new AbortController().signal);
const fileSystem = (volumes: PodVolumes, pod: Pod): string | undefined => {
  const [volume = { name: '' }] = pod.spec?.volumes ?? [];
  return volumes.fileSystemOf(pod, volume);
};
const disk = (): { readonly gid: number; readonly mode: number } => statSync(join(dir, 'disk'));
const group = (process.getgid?.() ?? 0) + (process.getuid?.() === 0 ? 77 : 0);

test('it is given to the group once, until the pod is gone', async () => {
  const [volumes, pod] = [volumesOf(), podOf('a', { fsGroup: group })];
  await mount(volumes, pod);
  expect(disk()).toMatchObject({ gid: group });
  expect(disk().mode & 0o2770).toBe(0o2770);
  expect(mounts).toEqual([join(dir, 'pods/a/volumes/kubernetes.io~local-volume/pv')]);
  await mount(volumes, pod);
  await mount(volumesOf(), pod); // another life of the agent
  expect(mounts).toHaveLength(1);
  await volumes.unmount(pod);
  expect(mounts).toEqual([]);
  expect(existsSync(join(dir, 'disk'))).toBe(true);
});

test('it is left alone without a group, and when it may only be read', async () => {
  const before = disk();
  await mount(volumesOf(), podOf('a', {}));
  expect(mounts).toEqual([]);
  await mount(volumesOf(), podOf('b', { fsGroup: group }, true));
  expect(disk()).toMatchObject({ gid: before.gid, mode: before.mode });
});

test('a second pod with another group gets a warning that it may not have access', async () => {
  const volumes = volumesOf();
  await mount(volumes, podOf('a', { fsGroup: group }));
  await mount(volumes, podOf('same', { fsGroup: group }));
  expect(told).toEqual([]);
  await mount(volumes, podOf('other', { fsGroup: group + 1 }));
  expect(told).toEqual([
    `AlreadyMountedVolume The requested fsGroup is ${group + 1}, but the volume pv has GID ${group}. The volume may not be shareable.`,
  ]);
  expect(disk().gid).toBe(group);
});

test('the group that a volume is annotated with is one of the pod’s, once', async () => {
  const pod = podOf('a', { supplementalGroups: [7] });
  for (const [gid, groups] of [
    ['66', [66]],
    ['7', []],
    ['none', []],
  ] as const) {
    const volumes = volumesOf(gid);
    await mount(volumes, pod);
    expect(volumes.extraGroups(pod)).toEqual(groups);
  }
});

/** The pod with a container that has the volume as a directory or as a device. */
const using = (pod: Pod, use: object): Pod => ({
  ...pod,
  spec: { ...pod.spec, containers: [{ name: 'c', ...use }] },
});
const asDevice = { volumeDevices: [{ name: 'v', devicePath: '/dev/xvda' }] };

test.for([
  ['Block', asDirectory, 'volume v has volumeMode Block, but is specified in volumeMounts'],
  ['Filesystem', asDevice, 'volume v has volumeMode Filesystem, but is specified in volumeDevices'],
] as const)('of mode %s it is not used as the other', async ([volumeMode, use, why]) => {
  const pod = using(podOf('a', {}), use);
  await expect(mount(volumesOf(undefined, { volumeMode }), pod)).rejects.toThrow(
    `Unable to attach or mount volumes: unmounted volumes=[v], unattached volumes=[], failed to process volumes=[v]: ${why}`,
  );
});

test('a directory in place of a block device is an error', async () => {
  const volumes = volumesOf(undefined, { volumeMode: 'Block' });
  await volumes.mount(using(podOf('a', {}), asDevice), AbortSignal.abort()).catch(() => undefined);
  expect(told).toEqual([
    `FailedMount MountVolume.SetUp failed for volume "v" : path "${join(dir, 'disk')}" is not a block device`,
  ]);
});

const someDevice = readdirSync('/dev')
  .map((name) => join('/dev', name))
  .find((path) => statSync(path, { throwIfNoEntry: false })?.isBlockDevice());

test.skipIf(someDevice === undefined)('a device that is to be a directory is told', async () => {
  const volumes = volumesOf(undefined, { local: { path: someDevice } });
  await volumes.mount(podOf('a', {}), AbortSignal.abort()).catch(() => undefined);
  expect(told).toEqual([
    `FailedMount MountVolume.SetUp failed for volume "v" : file systems on block devices ("${someDevice}") are not supported on this node`,
  ]);
});

test('a device is given to containers, for writing unless its claim forbids it, and is no directory', async () => {
  const block = { volumeMode: 'Block', local: { path: '/dev/x' } };
  for (const [readOnly, permissions] of [
    [false, 'mrw'],
    [true, 'r'],
  ] as const) {
    const volumes = volumesOf(undefined, block);
    const pod = using(podOf('a', {}, readOnly), asDevice);
    await volumes.mount(pod, AbortSignal.abort()).catch(() => undefined); // there is no such device
    const [container] = pod.spec?.containers ?? [];
    expect(volumes.devices(pod, container!)).toEqual([
      { hostPath: '/dev/x', containerPath: '/dev/xvda', permissions },
    ]);
    expect(volumes.mounted(pod).size).toBe(0);
  }
  expect(() => volumesOf().devices({}, { name: 'c', ...asDevice })).toThrow(
    'cannot find volume "v" to pass into container "c"',
  );
});

test('what is stuck in one orphan’s directory does not keep the others', async () => {
  for (const uid of ['a', 'b', 'c', 'kept'])
    mkdirSync(join(dir, 'pods', uid, 'volumes/x'), { recursive: true });
  stuck = join(dir, 'pods/b/volumes/x');
  mounts = [stuck];
  const swept = volumesOf();
  await expect(swept.removeOrphans((uid) => uid === 'kept')).rejects.toThrow(`still mounted: ${stuck}`);
  expect(swept.lastSweep).toMatchObject({ failed: 1 });
  expect(['a', 'b', 'c', 'kept'].filter((uid) => existsSync(join(dir, 'pods', uid)))).toEqual(['b', 'kept']);
});

test('many orphans take one look at the mounts, none takes none', async () => {
  await volumesOf().removeOrphans(() => false);
  for (const uid of ['a', 'b', 'c']) mkdirSync(join(dir, 'pods', uid, 'volumes/x'), { recursive: true });
  await volumesOf().removeOrphans(() => true);
  expect(looks).toBe(0);
  await volumesOf().removeOrphans(() => false);
  expect(looks).toBe(1);
  expect(existsSync(join(dir, 'pods/a'))).toBe(false);
});

test('how full it is says its file system; a device has none', async () => {
  const pod = podOf('a', {});
  const volumes = volumesOf();
  expect(fileSystem(volumes, pod)).toBeUndefined();
  await mount(volumes, pod);
  expect(fileSystem(volumes, pod)).toBe(join(dir, 'disk'));
  const [devices, stop] = [volumesOf(undefined, { volumeMode: 'Block' }), new AbortController()];
  const mounted = devices.mount(pod, stop.signal).catch(() => undefined); // it is no device, so that it is waited for
  await settle();
  expect(fileSystem(devices, pod)).toBeUndefined();
  stop.abort();
  await mounted;
});

test('a pod has volumes as long as any is there, mounted or not', () => {
  const volumes = volumesOf();
  const has = (): boolean => volumes.hasVolumes('a');
  expect(has()).toBe(false);
  mkdirSync(join(dir, 'pods/a/volumes/kubernetes.io~empty-dir/v'), { recursive: true });
  expect(has()).toBe(true);
  rmSync(join(dir, 'pods/a/volumes/kubernetes.io~empty-dir/v'), { recursive: true });
  expect(has()).toBe(false);
  mounts = [join(dir, 'pods/a/volume-subpaths/v/c/0')];
  expect(has()).toBe(true);
});

test('a volume that no container mounts is left alone', async () => {
  const pod = podOf('a', {});
  const volumes = volumesOf();
  await mount(volumes, { ...pod, spec: { ...pod.spec, containers: [{ name: 'c' }] } });
  expect(volumes.pathOf(pod, pod.spec!.volumes![0]!)).toBeUndefined();
  await mount(volumes, pod);
  expect(volumes.pathOf(pod, pod.spec!.volumes![0]!)).toBe(join(dir, 'disk'));
});

test('a pod counts as having volumes while that cannot be determined', () => {
  mkdirSync(join(dir, 'pods/a'), { recursive: true });
  writeFileSync(join(dir, 'pods/a/volumes'), 'no directory');
  expect(volumesOf().hasVolumes('a')).toBe(true);
});
