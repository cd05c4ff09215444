import { expect, test } from 'vitest';
import type { CgroupFiles } from '../../../src/containers/cm/files.ts';
import { findDelegation } from '../../../src/providers/oci/delegation.ts';
import { FakeCgroups } from '../../support/fake-cgroups.ts';

const pid = 77;
const unitPath = '/unit';

/** A v2 tree with the agent's cgroup `/unit`, which has no controllers for children while a process is in it, as the kernel has it. */
function unit(others: readonly number[] = []): { readonly fake: FakeCgroups; readonly files: CgroupFiles } {
  const fake = FakeCgroups.v2('cpu memory pids io');
  const base = fake.root + unitPath;
  fake.makeFolder(base);
  const set = (path: string, text: string): unknown => fake.contents.set(`${base}${path}`, text);
  set('/cgroup.controllers', 'cpu memory pids');
  set('/cgroup.subtree_control', '');
  const members = new Map([[base, new Set([pid, ...others])]]);
  const files: CgroupFiles = {
    exists: (path) => fake.exists(path),
    folders: (path) => fake.folders(path),
    makeFolder: (path) => {
      fake.makeFolder(path);
    },
    removeFolder: (path) => {
      fake.removeFolder(path);
    },
    read: (path) =>
      path.endsWith('/cgroup.procs')
        ? [...(members.get(path.slice(0, -'/cgroup.procs'.length)) ?? [])].join('\n')
        : fake.read(path),
    write: (path, text) => {
      if (path.endsWith('/cgroup.procs')) {
        for (const set of members.values()) set.delete(Number(text));
        const to = path.slice(0, -'/cgroup.procs'.length);
        members.set(to, (members.get(to) ?? new Set()).add(Number(text)));
      } else if (path === `${base}/cgroup.subtree_control` && (members.get(base)?.size ?? 0) > 0)
        throw Object.assign(new Error('EBUSY'), { code: 'EBUSY' });
      else fake.write(path, text);
    },
  };
  return { fake, files };
}

test('with v1, each hierarchy counts by itself, from the own cgroup of the agent in it', () => {
  const files = FakeCgroups.v1();
  files.makeFolder(`${files.root}/memory/job`);
  const own = '4:memory:/job\n3:cpu,cpuacct:/\n2:pids:/elsewhere\n0::/\n';
  const { host, controllers } = findDelegation({ files, own, pid, mount: files.root });
  expect(controllers).toEqual(['cpu', 'memory']);
  expect(host.hierarchies.map(({ mount }) => mount)).toEqual(['/cg/cpu,cpuacct', '/cg/memory/job']);
  expect(files.folders(`${files.root}/memory/job`)).toEqual([]);
});

test('with v2, the agent moves aside, so that its cgroup can give controllers to children', () => {
  const { fake, files } = unit();
  const { host, controllers } = findDelegation({ files, own: `0::${unitPath}\n`, pid, mount: fake.root });
  expect(controllers).toEqual(['cpu', 'memory', 'pids']);
  expect(host.hierarchies[0]?.mount).toBe('/cg/unit');
  expect(files.read('/cg/unit/agent/cgroup.procs')).toBe('77');
});

test('with v2, an agent that was started in the cgroup `agent` stays there', () => {
  const { fake, files } = unit();
  files.makeFolder('/cg/unit/agent');
  files.write('/cg/unit/agent/cgroup.procs', String(pid));
  const { host } = findDelegation({ files, own: `0::${unitPath}/agent\n`, pid, mount: fake.root });
  expect(host.hierarchies[0]?.mount).toBe('/cg/unit');
});

test('with v2, nothing is delegated and nothing changed where other processes are in the cgroup of the agent', () => {
  const { fake, files } = unit([78]);
  const { controllers } = findDelegation({ files, own: `0::${unitPath}\n`, pid, mount: fake.root });
  expect(controllers).toEqual([]);
  expect(files.read('/cg/unit/cgroup.procs')?.split('\n').sort()).toEqual(['77', '78']);
  expect(files.folders('/cg/unit')).toEqual([]);
});

test('nothing is delegated where the kernel refuses, or where there are no cgroups', () => {
  const fake = FakeCgroups.v2();
  const files: CgroupFiles = {
    exists: (path) => fake.exists(path),
    folders: (path) => fake.folders(path),
    read: (path) => fake.read(path),
    write: () => {
      throw Object.assign(new Error('EACCES'), { code: 'EACCES' });
    },
    makeFolder: () => {
      throw Object.assign(new Error('EACCES'), { code: 'EACCES' });
    },
    removeFolder: () => undefined,
  };
  expect(findDelegation({ files, own: '0::/\n', pid, mount: fake.root }).controllers).toEqual([]);
  expect(findDelegation({ files, own: '0::/\n', pid, mount: '/nowhere' }).controllers).toEqual([]);
});
