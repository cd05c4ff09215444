import { expect, test } from 'vitest';
import {
  enforceReserved,
  type EnforcementSettings,
  keepEnforced,
  reservedCgroups,
} from '../../../src/containers/cm/enforcement.ts';
import { DrivenCgroups } from '../../../src/containers/cm/driven.ts';
import { detectCgroups } from '../../../src/containers/cm/host.ts';
import { CgroupTree } from '../../../src/containers/cm/tree.ts';
import { FakeClock } from '../../../src/base/fake-clock.ts';
import { silentLogger } from '../../../src/base/logger.ts';
import { FakeCgroups } from '../../support/fake-cgroups.ts';

const settings: EnforcementSettings = {
  enforceNodeAllocatable: ['pods', 'kube-reserved', 'system-reserved'],
  systemReserved: { cpu: '100m', memory: '100Mi', pid: '1000' },
  systemReservedCgroup: '/system-reserved',
  kubeReserved: { cpu: '200m', memory: '200Mi' },
  kubeReservedCgroup: '/kube-reserved',
};

function bed(fake: FakeCgroups, driver: 'cgroupfs' | 'systemd' = 'cgroupfs') {
  const host = detectCgroups(fake, fake.root);
  if (!host) throw new Error('no cgroups');
  const told: string[] = [];
  const tree = new CgroupTree({ files: fake, host, driver });
  const driven = new DrivenCgroups(tree, host.version);
  const enforce = (config: EnforcementSettings): Promise<void> =>
    enforceReserved(driven, driver, reservedCgroups(config), (type, message) =>
      told.push(`${type} ${message}`),
    );
  return { tree, told, enforce };
}

test('daemons are held to what is reserved for them, the system first', async () => {
  const fake = FakeCgroups.v1();
  const { tree, told, enforce } = bed(fake);
  tree.create(['system-reserved']);
  tree.create(['kube-reserved']);
  fake.writes.length = 0;
  await enforce(settings);
  expect(fake.writes).toEqual([
    '/cpu,cpuacct/system-reserved/cpu.shares=102',
    '/memory/system-reserved/memory.limit_in_bytes=104857600',
    '/pids/system-reserved/pids.max=1000',
    '/cpu,cpuacct/kube-reserved/cpu.shares=204',
    '/memory/kube-reserved/memory.limit_in_bytes=209715200',
  ]);
  expect(told).toEqual([
    'Normal Updated limits on system reserved cgroup /system-reserved',
    'Normal Updated limits on kube reserved cgroup /kube-reserved',
  ]);
});

test('of what is compressible alone there is processor weight, in a slice with systemd', async () => {
  const fake = FakeCgroups.v2();
  const { tree, told, enforce } = bed(fake, 'systemd');
  tree.create(['system']);
  fake.writes.length = 0;
  const compressible = { ...settings, enforceNodeAllocatable: ['system-reserved-compressible'] };
  await enforce({ ...compressible, systemReservedCgroup: '/system.slice' });
  expect(fake.writes).toEqual(['/system.slice/cpu.weight=4']);
  expect(told).toEqual(['Normal Updated limits on system reserved cgroup /system.slice']);
});

test('a cgroup of daemons that is not there ends the start', async () => {
  const { tree, told, enforce } = bed(FakeCgroups.v1());
  tree.create(['system-reserved']);
  const message =
    'Failed to enforce Kube Reserved Cgroup Limits on "/kube-reserved": cgroup ["kube-reserved"] has some missing paths: ' +
    ['cpu,cpuacct', 'cpuset', 'memory', 'pids', 'systemd']
      .map((tree) => `/cg/${tree}/kube-reserved`)
      .join(', ');
  await expect(enforce(settings)).rejects.toThrow(message);
  expect(told.at(-1)).toBe(`Warning ${message}`);
  const unified = bed(FakeCgroups.v2());
  await expect(unified.enforce(settings)).rejects.toThrow(
    'on "/system-reserved": cgroup ["system-reserved"] does not exist',
  );
});

test('a limit that the kernel does not take yet is tried again each minute', async () => {
  const clock = new FakeClock();
  const told: string[] = [];
  const answers = ['could not set memory.limit_in_bytes: EBUSY', undefined];
  let updates = 0;
  const node = {
    kubepods: ['a', 'kubepods'],
    enforce: () => Promise.resolve(answers.shift()),
    updateQos: () => {
      updates++;
      return Promise.resolve();
    },
  };
  const stop = new AbortController();
  const tell = (type: string, message: string): void => void told.push(`${type} ${message}`);
  const running = keepEnforced({ node, clock, logger: silentLogger, tell }, false, stop.signal);
  for (let minute = 0; minute < 4; minute++) await clock.advance(60_000);
  stop.abort();
  await running;
  expect(told).toEqual([
    'Warning Failed to update Node Allocatable Limits ["a" "kubepods"]: could not set memory.limit_in_bytes: EBUSY',
    'Normal Updated Node Allocatable limit across pods',
  ]);
  expect(updates).toBe(4);
});
