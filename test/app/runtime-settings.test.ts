import { expect, test } from 'vitest';
import { kernelCgroupFiles } from '../../src/containers/cm/files.ts';
import { detectCgroups } from '../../src/containers/cm/host.ts';
import {
  cgroupOptions,
  hugePageSizes,
  type RuntimeConfiguration,
  type RuntimeNode,
  runtimeSettings,
} from '../../src/app/runtime-settings.ts';
import { FakeCgroups } from '../support/fake-cgroups.ts';

const config: RuntimeConfiguration = {
  cgroupsPerQOS: true,
  enforceNodeAllocatable: ['pods'],
  cgroupDriver: 'cgroupfs',
  cpuCFSQuota: true,
  cpuCFSQuotaPeriod: '100ms',
  podPidsLimit: -1,
  oomScoreAdj: -999,
  memorySwap: {},
  memoryThrottlingFactor: 0.9,
  memoryReservationPolicy: 'None',
  seccompDefault: false,
};

function nodeOf(fake: FakeCgroups): RuntimeNode {
  const cgroups = detectCgroups(fake, fake.root);
  return {
    files: fake,
    ...(cgroups && { cgroups }),
    memoryCapacityBytes: 4e9,
    swapCapacityBytes: 1e9,
    allocatableMemoryBytes: 3e9,
    rootDir: '/var/lib/agent',
  };
}

test('with v1 nothing is set that only v2 knows', () => {
  const settings = runtimeSettings(
    { ...config, featureGates: { MemoryQoS: true } },
    nodeOf(FakeCgroups.v1()),
  );
  expect(settings).toEqual({
    memoryCapacityBytes: 4e9,
    cpuCfsQuota: true,
    cpuCfsPeriodMicros: 100_000,
    cgroupV2: false,
    singleProcessOomKill: true,
    hugePageSizes: [],
    seccompDefault: false,
    seccompProfileRoot: '/var/lib/agent/seccomp',
  });
});

test('with v2 the processes of a container end together unless the settings say otherwise', () => {
  const node = nodeOf(FakeCgroups.v2());
  expect(runtimeSettings(config, node).singleProcessOomKill).toBe(false);
  expect(runtimeSettings({ ...config, singleProcessOOMKill: true }, node).singleProcessOomKill).toBe(true);
});

test('memory is reserved and throttled only behind its feature gate', () => {
  const node = nodeOf(FakeCgroups.v2());
  const reserving = { ...config, memoryReservationPolicy: 'TieredReservation' };
  const gated = { ...reserving, featureGates: { MemoryQoS: true } };
  expect(runtimeSettings(reserving, node).memoryQos).toBeUndefined();
  expect(runtimeSettings(gated, node).memoryQos).toEqual({
    reservationPolicy: 'TieredReservation',
    throttlingFactor: 0.9,
    allocatableBytes: 3e9,
  });
  expect([reserving, gated].map((one) => cgroupOptions(one, node)?.reserveMemory)).toEqual([false, true]);
});

test('swap is limited where the kernel can', () => {
  const limited = { ...config, memorySwap: { swapBehavior: 'LimitedSwap' } };
  const fake = FakeCgroups.v1();
  expect(runtimeSettings(limited, nodeOf(fake)).swap).toBeUndefined();
  fake.contents.set('/cg/memory/memory.memsw.limit_in_bytes', '1\n');
  expect(runtimeSettings(limited, nodeOf(fake)).swap).toEqual({
    behavior: 'LimitedSwap',
    capacityBytes: 1e9,
  });
});

test('pods have cgroups of their own unless the settings say otherwise', () => {
  const node = nodeOf(FakeCgroups.v1());
  expect(cgroupOptions({ ...config, cgroupsPerQOS: false }, node)).toBeUndefined();
  expect(cgroupOptions(config, node)?.enforceAllocatable).toBe(true);
  expect(cgroupOptions({ ...config, enforceNodeAllocatable: ['none'] }, node)?.enforceAllocatable).toBe(
    false,
  );
  expect(cgroupOptions({ ...config, cgroupRoot: '/a/b', podPidsLimit: 9 }, node)).toMatchObject({
    root: ['a', 'b'],
    driver: 'cgroupfs',
    podPidsLimit: 9,
  });
});

test('huge pages are spelled as cgroup files spell them', () => {
  expect(hugePageSizes(kernelCgroupFiles).every((size) => /^\d+[KMG]B$/.test(size))).toBe(true);
  const files = { ...kernelCgroupFiles, folders: () => ['hugepages-1048576kB', 'hugepages-2048kB', 'x'] };
  expect(hugePageSizes(files)).toEqual(['2MB', '1GB']);
});
