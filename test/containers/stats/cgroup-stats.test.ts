import { expect, test } from 'vitest';
import {
  CgroupStats,
  containerOfCgroup,
  type StatsTarget,
} from '../../../src/containers/stats/cgroup-stats.ts';
import { kernelCgroupFiles } from '../../../src/containers/cm/files.ts';
import { detectCgroups } from '../../../src/containers/cm/host.ts';
import { CgroupTree } from '../../../src/containers/cm/tree.ts';
import { machineMemoryOf, usageOf } from '../../../src/containers/cm/usage.ts';
import { FakeClock } from '../../../src/base/fake-clock.ts';
import type { CgroupDriver } from '../../../src/kube/cgroup.ts';
import { FakeCgroups } from '../../support/fake-cgroups.ts';

const startMs = Date.parse('2026-03-04T05:06:07Z');
const pod = {
  metadata: { name: 'web', namespace: 'default', uid: 'b-1' },
  status: { qosClass: 'Burstable' },
};
const target: StatsTarget = { pod, containerIds: new Map([['c', 'abc']]) };

const reader =
  (files: Readonly<Record<string, string>>) =>
  (_controller: string, file: string): string | undefined =>
    files[file];

test('a v1 cgroup is read with all that is below it', () => {
  const read = reader({
    'cpuacct.usage': '5000000000\n',
    'memory.usage_in_bytes': '1000\n',
    'memory.limit_in_bytes': '9223372036854771712\n',
    'memory.stat':
      'inactive_file 1\ntotal_inactive_file 400\ntotal_rss 300\ntotal_pgfault 7\ntotal_pgmajfault 2\ntotal_swap 9\n',
    'pids.current': '3\n',
  });
  expect(usageOf(read, 1)).toEqual({
    cpuNanos: 5e9,
    memory: { usageBytes: 1000, workingSetBytes: 600, rssBytes: 300, pageFaults: 7, majorPageFaults: 2 },
    swapBytes: 9,
    processes: 3,
  });
});

test('a v2 cgroup is read, its limit with it', () => {
  const read = reader({
    'cpu.stat': 'usage_usec 5000000\nuser_usec 1\n',
    'memory.current': '1000\n',
    'memory.max': '4000\n',
    'memory.stat': 'anon 300\ninactive_file 1400\npgfault 7\npgmajfault 2\n',
    'memory.swap.current': '9\n',
  });
  expect(usageOf(read, 2)).toEqual({
    cpuNanos: 5e9,
    memory: {
      usageBytes: 1000,
      workingSetBytes: 0,
      rssBytes: 300,
      pageFaults: 7,
      majorPageFaults: 2,
      limitBytes: 4000,
    },
    swapBytes: 9,
  });
});

test('a v2 cgroup tells how long its processes had to wait', () => {
  const read = reader({
    'cpu.pressure':
      'some avg10=1.50 avg60=0.25 avg300=0.00 total=12\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=3\n',
    'io.pressure': 'some avg10=0.00 avg60=0.00 avg300=0.00 total=0\n',
  });
  const none = { total: 0, avg10: 0, avg60: 0, avg300: 0 };
  expect(usageOf(read, 2)).toEqual({
    pressure: {
      cpu: { some: { total: 12_000, avg10: 1.5, avg60: 0.25, avg300: 0 }, full: { ...none, total: 3000 } },
      io: { some: none, full: none },
    },
  });
  expect(usageOf(read, 1)).toEqual({});
});

test('a cgroup that does not exist has no usage', () => {
  expect(usageOf(() => undefined, 1)).toEqual({});
});

test('the memory of the machine is what is not free, less the files that could go first', () => {
  const text = 'MemTotal:    1000 kB\nMemFree:      400 kB\nInactive(file):  100 kB\nAnonPages:  50 kB\n';
  expect(machineMemoryOf(text)).toMatchObject({
    usageBytes: 600 * 1024,
    workingSetBytes: 500 * 1024,
    limitBytes: 1000 * 1024,
  });
  expect(machineMemoryOf('')).toBeUndefined();
});

interface Bed {
  readonly fake: FakeCgroups;
  readonly clock: FakeClock;
  readonly stats: CgroupStats;
  readonly cpu: (path: string, micros: number) => void;
}

function bed(driver: CgroupDriver = 'cgroupfs'): Bed {
  const fake = FakeCgroups.v2();
  const host = detectCgroups(fake, fake.root);
  if (!host) throw new Error('no cgroups');
  const tree = new CgroupTree({ files: fake, host, driver });
  tree.create(['kubepods', 'burstable', 'podb-1']);
  const clock = new FakeClock(startMs);
  const meminfo = (): string => 'MemTotal: 1000 kB\nMemFree: 400 kB\n';
  const deps = { tree, version: host.version, kubepods: ['kubepods'], clock, meminfo };
  const cpu = (path: string, micros: number): void => {
    fake.contents.set(`${fake.root}${path}/cpu.stat`, `usage_usec ${micros}\n`);
  };
  return { fake, clock, stats: new CgroupStats(deps), cpu };
}

test('a CPU rate is available from the second reading on', () => {
  const { stats, clock, cpu } = bed();
  const path = '/kubepods/burstable/podb-1';
  const rate = (): number | undefined => stats.collect([target]).pods[0]?.cpu?.usageNanoCores;
  cpu(path, 1_000_000);
  expect(rate()).toBeUndefined();
  clock.set(startMs + 10_000);
  cpu(path, 6_000_000);
  expect(rate()).toBe(500_000_000);
  clock.set(startMs + 10_100); // too soon to tell anything new
  cpu(path, 6_100_000);
  expect(rate()).toBe(500_000_000);
  clock.set(startMs + 20_000);
  cpu(path, 5); // a new cgroup of the same name
  expect(rate()).toBeUndefined();
});

test('a container is found by its id, however the runtime spells its cgroup', () => {
  for (const folder of ['abc', 'crio-abc', 'cri-containerd-abc.scope']) {
    const { stats, fake, cpu } = bed();
    const path = `/kubepods/burstable/podb-1/${folder}`;
    fake.makeFolder(`${fake.root}${path}`);
    cpu(path, 3);
    const [measured] = stats.collect([target]).pods;
    expect(measured?.containers).toEqual([
      { name: 'c', cpu: { time: '2026-03-04T05:06:07.000Z', usageCoreNanoSeconds: 3000 } },
    ]);
    expect(measured?.podRef).toEqual({ name: 'web', namespace: 'default', uid: 'b-1' });
  }
});

test('a pod without a cgroup is shown without numbers', () => {
  const { stats } = bed('systemd');
  const other = {
    pod: { metadata: { name: 'x', namespace: 'd', uid: 'x' } },
    containerIds: new Map([['c', 'z']]),
  };
  expect(stats.collect([other]).pods).toEqual([
    { podRef: { name: 'x', namespace: 'd', uid: 'x' }, containers: [{ name: 'c' }] },
  ]);
});

test('the node has what the machine has left', () => {
  const { stats } = bed();
  const { memory, systemContainers } = stats.collect([]).node;
  expect(memory).toMatchObject({ workingSetBytes: 600 * 1024, availableBytes: 400 * 1024 });
  expect(systemContainers.map(({ name }) => name)).toEqual(['pods']);
});

const host = detectCgroups(kernelCgroupFiles);
test.skipIf(!host)('the cgroups of this machine can be read (needs cgroups)', () => {
  if (!host) return;
  const tree = new CgroupTree({ files: kernelCgroupFiles, host, driver: 'cgroupfs' });
  const clock = new FakeClock(startMs);
  const meminfo = (): string | undefined => kernelCgroupFiles.read('/proc/meminfo');
  const deps = { tree, version: host.version, kubepods: ['kubepods'], clock, meminfo };
  const { node } = new CgroupStats(deps).collect([]);
  expect(node.memory?.workingSetBytes).toBeGreaterThan(0);
  expect(node.memory?.availableBytes).toBeGreaterThan(0);
});

test.for([
  ['abc', 'one'],
  ['cri-containerd-abc.scope', 'one'],
  ['abc.scope', 'one'],
  ['crio-a-b.scope', 'two'],
  ['xabc', undefined],
  ['abc-x', undefined],
  ['cri-containerd-def.scope', undefined],
] as const)('the cgroup %s belongs to container %s', ([folder, container]) => {
  const byId = new Map([
    ['abc', 'one'],
    ['a-b', 'two'],
  ]);
  expect(containerOfCgroup(folder, byId)).toBe(container);
});
