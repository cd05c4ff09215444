import { existsSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { FakeClock } from '../../../src/base/fake-clock.ts';
import { silentLogger } from '../../../src/base/logger.ts';
import type { Pod } from '../../../src/kube/types.ts';
import type { ClaimedVolume } from '../../../src/containers/volumes/claimed.ts';
import { PodVolumes } from '../../../src/containers/volumes/pod-volumes.ts';
import { quietMounter } from '../../support/quiet-mounter.ts';

let dir: string;
let clock: FakeClock;
let mounts: Map<string, readonly string[]>;
let told: string[];
let isAway: boolean;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'pt-nfs-'));
  clock = new FakeClock();
  mounts = new Map();
  told = [];
  isAway = false;
});
afterEach(() => {
  rmSync(dir, { recursive: true });
});

/** The volumes of a node whose mounts are remembered, not made. */
const volumesOf = (claimed: ClaimedVolume = {}): PodVolumes =>
  new PodVolumes({
    clock,
    logger: silentLogger,
    recorder: { event: (_, __, reason, message) => void told.push(`${reason} ${message}`) },
    rootDir: dir,
    mounter: {
      ...quietMounter,
      mountNfs: async (source, target, options) => {
        if (isAway) throw new Error('no answer');
        mounts.set(target, [source, ...options]);
      },
      unmount: async (target) => {
        if (!isAway) mounts.delete(target);
      },
      isMountPoint: (path) => mounts.has(path),
      mountsUnder: (path) => [...mounts.keys()].filter((one) => one.startsWith(`${path}/`)),
    },
    payloadOf: () => undefined,
    claimedVolume: async () => claimed,
    nodeAllocatable: () => ({}),
  });

const podOf = (volume: object): Pod => ({
  metadata: { name: 'p', namespace: 'n', uid: 'u' },
  spec: {
    containers: [{ name: 'c', volumeMounts: [{ name: 'v', mountPath: '/v' }] }],
    volumes: [{ name: 'v', ...volume }],
  },
});
const mount = (volumes: PodVolumes, pod: Pod): Promise<void> =>
  volumes.mount(pod, new AbortController().signal);
const inPod = (name: string): string => join(dir, 'pods/u/volumes/kubernetes.io~nfs', name);
const nfs = { server: 'files', path: '/exports/a' };

describe('what a file server exports', () => {
  test('is mounted in the pod’s directory, and goes with the pod', async () => {
    const [volumes, pod] = [volumesOf(), podOf({ nfs })];
    await mount(volumes, pod);
    await mount(volumesOf(), pod); // another life of the agent
    expect([...mounts]).toEqual([[inPod('v'), ['files:/exports/a']]]);
    expect(statSync(inPod('v')).mode & 0o777).toBe(0o750);
    expect(volumes.mounted(pod).get('v')).toEqual({ path: inPod('v') });
    await volumes.unmount(pod);
    expect(mounts.size).toBe(0);
    expect(existsSync(inPod('v'))).toBe(false);
  });

  test('is not written to when the pod says so; an address may be one of IPv6', async () => {
    const [volumes, pod] = [volumesOf(), podOf({ nfs: { ...nfs, server: 'fd00::1', readOnly: true } })];
    await mount(volumes, pod);
    expect(mounts.get(inPod('v'))).toEqual(['[fd00::1]:/exports/a', 'ro']);
    expect(volumes.mounted(pod).get('v')).toEqual({ path: inPod('v'), readOnly: true });
  });

  test('comes by a claim under the name and with the options of the persistent volume', async () => {
    const volumes = volumesOf({ name: 'pv', nfs, mountOptions: ['soft', 'nfsvers=4.1', 'ro'] });
    const pod = podOf({ persistentVolumeClaim: { claimName: 'c', readOnly: true } });
    await mount(volumes, pod);
    expect(mounts.get(inPod('pv'))).toEqual(['files:/exports/a', 'nfsvers=4.1', 'ro', 'soft']);
    const claimed = { name: 'v', persistentVolumeClaim: { claimName: 'c' } };
    expect(volumes.pathOf(pod, claimed)).toBe(inPod('pv'));
    expect(volumes.fileSystemOf(pod, claimed)).toBe(inPod('pv'));
  });

  test('is tried again when the server does not answer', async () => {
    isAway = true;
    const mounted = mount(volumesOf(), podOf({ nfs }));
    await clock.advance(0);
    expect(told).toEqual(['FailedMount MountVolume.SetUp failed for volume "v" : no answer']);
    expect(readdirSync(join(dir, 'pods/u/volumes/kubernetes.io~nfs'))).toEqual([]);
    isAway = false;
    await clock.advance(500);
    await mounted;
    expect(mounts.has(inPod('v'))).toBe(true);
  });

  test('keeps the pod’s directory while it cannot be unmounted', async () => {
    const [volumes, pod] = [volumesOf(), podOf({ nfs })];
    await mount(volumes, pod);
    isAway = true;
    await expect(volumes.unmount(pod)).rejects.toThrow(`still mounted: ${inPod('v')}`);
    await expect(volumes.removeOrphans(() => false)).rejects.toThrow('still mounted');
    expect(existsSync(inPod('v'))).toBe(true);
  });
});
