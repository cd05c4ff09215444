import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { kernelCgroupFiles } from '../../../src/containers/cm/files.ts';
import { cgroupMount, detectCgroups, missingControllers } from '../../../src/containers/cm/host.ts';
import { cgroupWrites } from '../../../src/containers/cm/settings.ts';
import {
  type SliceUnits,
  SystemdUnits,
  type UnitProperty,
  unitProperties,
} from '../../../src/containers/cm/units.ts';
import {
  NodeCgroups,
  type NodeCgroupsDeps,
  type NodeCgroupsOptions,
} from '../../../src/containers/cm/node-cgroups.ts';
import { systemClock } from '../../../src/base/clock.ts';
import { silentLogger } from '../../../src/base/logger.ts';
import type { Pod } from '../../../src/kube/types.ts';
import { FakeCgroups } from '../../support/fake-cgroups.ts';

type Amounts = Readonly<Record<string, string>>;

const podOf = (uid: string, requests?: Amounts, limits?: Amounts): Pod => ({
  metadata: { name: uid, namespace: 'default', uid },
  spec: {
    containers: [
      { name: 'c', image: 'i', resources: { ...(requests && { requests }), ...(limits && { limits }) } },
    ],
  },
});

const small = { cpu: '250m', memory: '64Mi' };
const guaranteed = podOf('g-1', small, small);
const burstable = podOf('b-1', small);
const bestEffort = podOf('e-1');

async function nodeOver(
  fake: FakeCgroups,
  options: Partial<NodeCgroupsOptions> = {},
  deps: Partial<NodeCgroupsDeps> = {},
): Promise<NodeCgroups> {
  const host = detectCgroups(fake, fake.root);
  if (!host) throw new Error('no cgroups');
  const node = new NodeCgroups(
    {
      files: fake,
      host,
      clock: { sleep: () => Promise.resolve() },
      logger: silentLogger,
      activePods: () => [burstable],
      ...deps,
    },
    { driver: 'cgroupfs', enforceCpuLimits: true, ...options },
  );
  await node.start();
  return node;
}

test('a host with one tree for each controller is v1, whatever the empty v2 tree beside them offers', () => {
  expect(detectCgroups(FakeCgroups.v1(), '/cg')).toMatchObject({
    version: 1,
    hierarchies: [
      { mount: '/cg/cpu,cpuacct', controllers: ['cpu', 'cpuacct'] },
      { controllers: ['cpuset'] },
      { controllers: ['memory'] },
      { controllers: ['pids'] },
      { controllers: ['systemd'] },
    ],
    unified: '/cg/unified',
  });
});

test('a host with one tree for all is v2', () => {
  expect(detectCgroups(FakeCgroups.v2('cpu memory'), '/cg')).toEqual({
    version: 2,
    hierarchies: [{ mount: '/cg', controllers: ['cpu', 'memory'] }],
  });
});

test('a host without cgroups has none', () => {
  expect(detectCgroups(FakeCgroups.v1(), '/nowhere')).toBeUndefined();
});

test('a node that lacks a controller says which, and what to do', async () => {
  const fake = FakeCgroups.v1(['cpu', 'pids']);
  await expect(nodeOver(fake)).rejects.toThrow(
    'the host lacks the cgroup controllers cpuset, memory; enable them, or set cgroupsPerQOS to false',
  );
});

test.for([
  [
    1,
    { cpuShares: 2, cpuQuota: 5000, cpuPeriod: 100_000, memory: 4096, pids: 10 },
    [
      'cpu.shares=2',
      'cpu.cfs_period_us=100000',
      'cpu.cfs_quota_us=5000',
      'memory.limit_in_bytes=4096',
      'pids.max=10',
    ],
  ],
  [
    2,
    { cpuShares: 1024, cpuQuota: 5000, cpuPeriod: 100_000, memory: 4096, pids: 10 },
    ['cpu.weight=39', 'cpu.max=5000 100000', 'memory.max=4096', 'pids.max=10'],
  ],
  [
    1,
    { cpuQuota: -1, memory: -1, pids: -1 },
    ['cpu.cfs_quota_us=-1', 'memory.limit_in_bytes=-1', 'pids.max=max'],
  ],
  [
    2,
    { cpuQuota: -1, cpuPeriod: 50_000, memory: -1, pids: -1 },
    ['cpu.max=max 50000', 'memory.max=max', 'pids.max=max'],
  ],
  [
    1,
    { hugePageLimit: { 2097152: 4194304 } },
    ['hugetlb.2MB.limit_in_bytes=4194304', 'hugetlb.1GB.limit_in_bytes=0'],
  ],
  [2, { hugePageLimit: {} }, ['hugetlb.2MB.max=0', 'hugetlb.1GB.max=0']],
  [1, { unified: { 'memory.low': '1' } }, []],
  [2, { unified: { 'memory.low': '1' } }, ['memory.low=1']],
  [2, {}, []],
] as const)('with cgroup v%s the settings %j become %j', ([version, settings, expected]) => {
  const writes = cgroupWrites(settings, version, ['2MB', '1GB']);
  expect(writes.map(({ file, value }) => `${file}=${value}`)).toEqual(expected);
});

test('a pod of each class has its cgroup below that of its class, in every v1 tree', async () => {
  const fake = FakeCgroups.v1();
  const node = await nodeOver(fake);
  for (const pod of [guaranteed, burstable, bestEffort]) {
    expect(node.exists(pod)).toBe(false);
    await node.ensure(pod);
    expect(node.exists(pod)).toBe(true);
  }
  const paths = ['kubepods/podg-1', 'kubepods/burstable/podb-1', 'kubepods/besteffort/pode-1'];
  for (const tree of ['cpu,cpuacct', 'cpuset', 'memory', 'pids', 'systemd'])
    for (const path of paths) expect(fake.exists(join(fake.root, tree, path))).toBe(true);
});

test('a guaranteed pod is held to its limits', async () => {
  const fake = FakeCgroups.v1();
  await (await nodeOver(fake, { podPidsLimit: 100 })).ensure(guaranteed);
  const read = (file: string): string | undefined => fake.read(join(fake.root, file));
  expect(read('cpu,cpuacct/kubepods/podg-1/cpu.shares')).toBe('256');
  expect(read('cpu,cpuacct/kubepods/podg-1/cpu.cfs_quota_us')).toBe('25000');
  expect(read('memory/kubepods/podg-1/memory.limit_in_bytes')).toBe(String(64 * 2 ** 20));
  expect(read('pids/kubepods/podg-1/pids.max')).toBe('100');
});

test.for([
  [
    'v1',
    () => FakeCgroups.v1(),
    { memory: 64 * 2 ** 20, cpuShares: 256, cpuQuota: 25_000, cpuPeriod: 100_000 },
  ],
  // a weight is coarser than shares
  [
    'v2',
    () => FakeCgroups.v2(),
    { memory: 64 * 2 ** 20, cpuShares: 237, cpuQuota: 25_000, cpuPeriod: 100_000 },
  ],
] as const)(
  "with %s a pod's cgroup tells what it is set to, and a part of it is set anew",
  async ([, make, held]) => {
    const node = await nodeOver(make());
    await node.ensure(guaranteed);
    expect(node.config(guaranteed)).toEqual(held);
    await node.set(guaranteed, { memory: 32 * 2 ** 20 });
    expect(node.config(guaranteed)).toEqual({ ...held, memory: 32 * 2 ** 20 });
    await node.set(guaranteed, { cpuQuota: 50_000, cpuPeriod: 100_000 });
    expect(node.config(guaranteed)).toMatchObject({ cpuQuota: 50_000, cpuShares: held.cpuShares });
  },
);

test.for([
  [
    'v1',
    () => FakeCgroups.v1(),
    'memory/kubepods/burstable/podb-1/memory.limit_in_bytes',
    '9223372036854771712',
  ],
  ['v2', () => FakeCgroups.v2(), 'kubepods/burstable/podb-1/memory.max', 'max\n'],
] as const)('with %s a pod without a limit has more than any limit', async ([version, make, file, text]) => {
  const fake = make();
  const node = await nodeOver(fake);
  await node.ensure(burstable);
  fake.contents.set(join(fake.root, file), text);
  const { current } = node.limits(burstable);
  expect(current.memory).toBe(version === 'v1' ? 9223372036854771712 : undefined);
});

test('a new v1 cgroup may run where its parent may', async () => {
  const fake = FakeCgroups.v1();
  await nodeOver(fake);
  expect(fake.read(join(fake.root, 'cpuset/kubepods/burstable/cpuset.cpus'))).toBe('0-1');
});

test('with v2 each cgroup hands its controllers down before it has children', async () => {
  const fake = FakeCgroups.v2();
  const node = await nodeOver(fake);
  await node.ensure(burstable);
  expect(node.exists(burstable)).toBe(true);
  const handed = fake.writes.filter((write) => write.includes('subtree_control'));
  expect(handed).toEqual([
    '/cgroup.subtree_control=+cpuset +cpu +memory +hugetlb +pids',
    '/kubepods/cgroup.subtree_control=+cpuset +cpu +memory +hugetlb +pids',
    '/kubepods/burstable/cgroup.subtree_control=+cpuset +cpu +memory +hugetlb +pids',
  ]);
});

test('with v2 a cgroup without its controllers does not count as there', async () => {
  const fake = FakeCgroups.v2();
  const node = await nodeOver(fake);
  fake.makeFolder('/cg/kubepods/burstable/podb-1');
  expect(node.exists(burstable)).toBe(false);
});

test('burstable pods together weigh what they request', async () => {
  const fake = FakeCgroups.v1();
  const node = await nodeOver(fake, {}, { activePods: () => [burstable, podOf('b-2', small), guaranteed] });
  await node.updateQos();
  expect(fake.read('/cg/cpu,cpuacct/kubepods/burstable/cpu.shares')).toBe('512');
  expect(fake.read('/cg/cpu,cpuacct/kubepods/besteffort/cpu.shares')).toBe('2');
});

test('memory that pods request is kept for them and for all above them', async () => {
  const fake = FakeCgroups.v2();
  const node = await nodeOver(fake, { reserveMemory: true }, { activePods: () => [burstable, guaranteed] });
  for (const pod of [guaranteed, burstable]) await node.ensure(pod);
  const bytes = 64 * 2 ** 20;
  expect(fake.read('/cg/kubepods/memory.min')).toBe(String(2 * bytes));
  expect(fake.read('/cg/kubepods/burstable/memory.low')).toBe(String(bytes));
  expect(fake.read('/cg/kubepods/podg-1/memory.min')).toBe(String(bytes));
  expect(fake.read('/cg/kubepods/burstable/podb-1/memory.low')).toBe(String(bytes));
});

test('with the systemd driver cgroups are slices that carry the names of those above them', async () => {
  const fake = FakeCgroups.v2();
  const node = await nodeOver(fake, { driver: 'systemd' });
  await node.ensure(burstable);
  expect(fake.exists('/cg/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-podb_1.slice')).toBe(
    true,
  );
  expect(node.cgroupParent(burstable)).toBe('kubepods-burstable-podb_1.slice');
  expect([...node.snapshot().keys()]).toEqual(['b-1']);
  await node.destroyOrphans(node.snapshot(), new Set(), () => false);
  expect(node.snapshot().size).toBe(0);
});

/** Keeps what systemd is asked for. */
class NotedUnits implements SliceUnits {
  readonly asked: string[] = [];

  start(slice: string, parent: string): Promise<void> {
    return this.#note(`start ${slice} in ${parent}`);
  }

  set(slice: string, properties: readonly UnitProperty[]): Promise<void> {
    return this.#note(
      `set ${slice}: ${properties.map(([name, , ...value]) => `${name}=${value.join()}`).join(' ')}`,
    );
  }

  stop(slice: string): Promise<void> {
    return this.#note(`stop ${slice}`);
  }

  #note(what: string): Promise<void> {
    this.asked.push(what);
    return Promise.resolve();
  }
}

test('with the systemd driver each slice is a unit with its limits, and only changes are sent', async () => {
  const units = new NotedUnits();
  const node = await nodeOver(FakeCgroups.v2(), { driver: 'systemd', podPidsLimit: 50 }, { units });
  expect(units.asked).toEqual([
    'start kubepods.slice in -.slice',
    'start kubepods-burstable.slice in kubepods.slice',
    'start kubepods-besteffort.slice in kubepods.slice',
    'set kubepods-burstable.slice: CPUWeight=10',
    'set kubepods-besteffort.slice: CPUWeight=1',
  ]);
  units.asked.length = 0;
  const pod = 'kubepods-podg_1.slice';
  await node.ensure(guaranteed);
  await node.ensure(guaranteed);
  await node.set(guaranteed, { cpuQuota: 12_345, cpuPeriod: 100_000 });
  await node.destroy(guaranteed);
  expect(units.asked).toEqual([
    `start ${pod} in kubepods.slice`,
    `set ${pod}: MemoryMax=67108864 CPUWeight=10 CPUQuotaPeriodUSec=100000 CPUQuotaPerSecUSec=250000 TasksMax=50`,
    `set ${pod}: CPUQuotaPerSecUSec=130000`,
    `stop ${pod}`,
  ]);
});

const none = '18446744073709551615';

test.for([
  [
    1,
    { memory: 4096, cpuShares: 512, cpuQuota: -1 },
    `MemoryLimit=4096 CPUShares=512 CPUQuotaPerSecUSec=${none}`,
  ],
  [2, { memory: -1, pids: -1 }, `MemoryMax=${none} TasksMax=${none}`],
  [2, { cpuQuota: 5000 }, 'CPUQuotaPerSecUSec=50000'],
  [2, { cpuPeriod: 50_000 }, `CPUQuotaPeriodUSec=50000 CPUQuotaPerSecUSec=${none}`],
  [2, { unified: { 'memory.min': '7', 'memory.high': 'max' } }, `MemoryMin=7 MemoryHigh=${none}`],
  [1, { unified: { 'memory.min': '7' } }, ''],
  [2, { hugePageLimit: { 2097152: 1 } }, ''],
] as const)('with cgroup v%s systemd is told %j as %s', ([version, settings, expected]) => {
  const told = unitProperties(settings, version).map(([name, , value]) => `${name}=${value}`);
  expect(told.join(' ')).toBe(expected);
});

test('systemd is asked by its own programs; a slice that is there is no error, nor is one that is gone', async () => {
  const asked: string[] = [];
  const answers = [
    'Call failed: Unit a-b.slice was already loaded or has a fragment file.',
    '',
    '',
    'Unit a-b.slice not loaded.',
  ];
  const output = (program: string, args: readonly string[]): Promise<string> => {
    asked.push([program, ...args].join(' '));
    const fault = answers.shift() ?? 'busctl: Access denied';
    return fault === '' ? Promise.resolve('') : Promise.reject(new Error(fault));
  };
  const units = new SystemdUnits({ output }, 2);
  await units.start('a-b.slice', 'a.slice');
  await units.set('a-b.slice', [['TasksMax', 't', '5']]);
  await units.stop('a-b.slice');
  await expect(units.set('a-b.slice', [])).rejects.toThrow('Access denied');
  const call =
    'busctl --system --quiet -- call org.freedesktop.systemd1 /org/freedesktop/systemd1 org.freedesktop.systemd1.Manager';
  expect(asked.slice(0, 4)).toEqual([
    `${call} StartTransientUnit ssa(sv)a(sa(sv)) a-b.slice replace 7 Description s podtender slice a-b.slice Wants as 1 a.slice ` +
      'MemoryAccounting b true CPUAccounting b true IOAccounting b true TasksAccounting b true DefaultDependencies b false 0',
    'systemctl start a-b.slice',
    `${call} SetUnitProperties sba(sv) a-b.slice true 1 TasksMax t 5`,
    'systemctl stop a-b.slice',
  ]);
});

test('the parent of the containers is the path of the pod', async () => {
  const node = await nodeOver(FakeCgroups.v1(), { root: ['node'] });
  expect(node.cgroupParent(guaranteed)).toBe('/node/kubepods/podg-1');
  expect(node.cgroupParent(bestEffort)).toBe('/node/kubepods/besteffort/pode-1');
});

test('what a runtime leaves below a pod goes with it, in the v2 tree beside v1 too', async () => {
  const fake = FakeCgroups.v1();
  const node = await nodeOver(fake);
  await node.ensure(burstable);
  fake.makeFolder('/cg/memory/kubepods/burstable/podb-1/c1');
  for (const path of ['kubepods', 'kubepods/burstable', 'kubepods/burstable/podb-1'])
    fake.makeFolder(join('/cg/unified', path));
  await node.destroy(burstable);
  expect([...fake.folderSet].filter((folder) => folder.includes('podb-1'))).toEqual([]);
  await node.destroy(burstable);
});

test('processes are ended before their cgroup is removed', async () => {
  const fake = FakeCgroups.v1();
  const killed: number[] = [];
  const procs = '/cg/memory/kubepods/burstable/podb-1/c1/cgroup.procs';
  const kill = (pid: number): void => {
    killed.push(pid);
    fake.contents.set(procs, killed.length < 2 ? '8\n' : ''); // it had started another
  };
  const node = await nodeOver(fake, {}, { kill });
  await node.ensure(burstable);
  fake.makeFolder('/cg/memory/kubepods/burstable/podb-1/c1');
  fake.contents.set(procs, '7\n');
  await node.destroy(burstable);
  expect(killed).toEqual([7, 8]);
  expect(node.exists(burstable)).toBe(false);
});

test('a cgroup that stays busy is an error after several retries', async () => {
  const fake = FakeCgroups.v1();
  const pauses: number[] = [];
  const clock = {
    sleep: (ms: number): Promise<void> => {
      pauses.push(ms);
      return Promise.resolve();
    },
  };
  const node = await nodeOver(fake, {}, { clock, kill: () => undefined });
  await node.ensure(burstable);
  fake.contents.set('/cg/memory/kubepods/burstable/podb-1/cgroup.procs', '7\n');
  await expect(node.destroy(burstable)).rejects.toThrow(
    'cgroups are still in use: /cg/memory/kubepods/burstable/podb-1: EBUSY',
  );
  expect(pauses).toEqual([10, 20, 40, 80]);
});

test('the cgroups of pods that cannot run are removed, those with volumes only weigh the least', async () => {
  const fake = FakeCgroups.v1();
  const node = await nodeOver(fake);
  const mounted = podOf('b-2', small);
  for (const pod of [guaranteed, burstable, mounted, bestEffort]) await node.ensure(pod);
  const snapshot = node.snapshot();
  expect([...snapshot.keys()].sort()).toEqual(['b-1', 'b-2', 'e-1', 'g-1']);
  await node.destroyOrphans(snapshot, new Set(['g-1']), (uid) => uid === 'b-2');
  expect([...node.snapshot().keys()].sort()).toEqual(['b-2', 'g-1']);
  expect(fake.read('/cg/cpu,cpuacct/kubepods/burstable/podb-2/cpu.shares')).toBe('2');
});

test('the error of a rejected write has file and value', async () => {
  const fake = FakeCgroups.v1();
  const node = await nodeOver(fake);
  const write = fake.write.bind(fake);
  fake.write = (path, text) => {
    if (path.endsWith('memory.limit_in_bytes')) throw new Error('EINVAL: invalid argument');
    write(path, text);
  };
  await expect(node.ensure(guaranteed)).rejects.toThrow(
    'could not set memory.limit_in_bytes of /cg/memory/kubepods/podg-1 to 67108864: EINVAL: invalid argument',
  );
});

const realHost = process.getuid?.() === 0 ? detectCgroups(kernelCgroupFiles) : undefined;
const canMake = realHost !== undefined && missingControllers(realHost).length === 0 && madeAndRemoved();
const testName = `podtender-test-${process.pid}`;

/** Root in a container may see cgroups that it may not change. */
function madeAndRemoved(): boolean {
  const probe = join(realHost?.hierarchies[0]?.mount ?? cgroupMount, `podtender-probe-${process.pid}`);
  try {
    kernelCgroupFiles.makeFolder(probe);
    kernelCgroupFiles.removeFolder(probe);
    return true;
  } catch {
    return false;
  }
}

afterEach(() => {
  for (const { mount } of realHost?.hierarchies ?? [])
    for (const path of ['kubepods/burstable', 'kubepods/besteffort', 'kubepods', ''])
      try {
        kernelCgroupFiles.removeFolder(join(mount, testName, path));
      } catch {
        // the test that left it tells more
      }
});

test.skipIf(!canMake)(
  'on this machine the folders of a cgroup are told from its files (needs root and writable cgroups)',
  () => {
    const top = join(realHost?.hierarchies[0]?.mount ?? '', testName);
    kernelCgroupFiles.makeFolder(top);
    expect(kernelCgroupFiles.folders(top)).toEqual([]);
    kernelCgroupFiles.makeFolder(join(top, 'kubepods'));
    expect(kernelCgroupFiles.folders(top)).toEqual(['kubepods']);
    expect(kernelCgroupFiles.folders(join(top, 'gone'))).toEqual([]);
  },
);

test.skipIf(!canMake)(
  'on this machine a pod is made, limited, emptied and removed (needs root and writable cgroups)',
  async () => {
    if (!realHost) return;
    const node = new NodeCgroups(
      {
        files: kernelCgroupFiles,
        host: realHost,
        clock: systemClock,
        logger: silentLogger,
        activePods: () => [guaranteed],
      },
      { driver: 'cgroupfs', enforceCpuLimits: true, podPidsLimit: 50, root: [testName] },
    );
    await node.start();
    await node.ensure(guaranteed);
    expect(node.exists(guaranteed)).toBe(true);
    const memory =
      realHost.hierarchies.find(({ controllers }) => controllers.includes('memory'))?.mount ?? '';
    const folder = join(memory, testName, 'kubepods/podg-1');
    const limit = realHost.version === 1 ? 'memory.limit_in_bytes' : 'memory.max';
    expect(kernelCgroupFiles.read(join(folder, limit))?.trim()).toBe(String(64 * 2 ** 20));

    const sleeper = spawn('sleep', ['60'], { stdio: 'ignore' });
    const ended = once(sleeper, 'exit');
    kernelCgroupFiles.makeFolder(join(folder, 'c1'));
    kernelCgroupFiles.write(join(folder, 'c1/cgroup.procs'), String(sleeper.pid));
    expect([...node.snapshot().keys()]).toEqual(['g-1']);
    await node.destroy(guaranteed);
    expect((await ended)[1]).toBe('SIGKILL');
    expect(node.exists(guaranteed)).toBe(false);
    expect(kernelCgroupFiles.exists(folder)).toBe(false);
  },
);
