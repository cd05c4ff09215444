import { dirname, join } from 'node:path';
import type { CgroupFiles } from '../../src/containers/cm/files.ts';

const failure = (code: string, path: string): Error => Object.assign(new Error(`${code}: ${path}`), { code });

const v1Files: Readonly<Record<string, readonly string[]>> = {
  cpu: ['cpu.shares', 'cpu.cfs_quota_us', 'cpu.cfs_period_us'],
  cpuset: ['cpuset.cpus', 'cpuset.mems'],
  memory: ['memory.limit_in_bytes', 'memory.usage_in_bytes', 'memory.stat'],
  pids: ['pids.max'],
  cpuacct: ['cpuacct.usage'],
};

/**
 * FakeCgroups behaves like the kernel's cgroups: a new directory has its control files, and one with children or processes cannot be
 * removed.
 */
export class FakeCgroups implements CgroupFiles {
  readonly folderSet = new Set<string>();
  readonly contents = new Map<string, string>();
  /** Each write, as `path=text`. */
  readonly writes: string[] = [];
  readonly root = '/cg';
  readonly #version: 1 | 2;

  private constructor(version: 1 | 2) {
    this.#version = version;
    this.folderSet.add(this.root);
  }

  /** One tree for each controller, some shared, and an empty v2 tree beside them. */
  static v1(mounts: readonly string[] = ['cpu,cpuacct', 'cpuset', 'memory', 'pids', 'systemd']): FakeCgroups {
    const fake = new FakeCgroups(1);
    for (const name of mounts) fake.makeFolder(join(fake.root, name));
    fake.contents.set(join(fake.root, 'cpuset/cpuset.cpus'), '0-1\n');
    fake.contents.set(join(fake.root, 'cpuset/cpuset.mems'), '0\n');
    const unified = join(fake.root, 'unified');
    fake.makeFolder(unified);
    fake.contents.set(join(unified, 'cgroup.controllers'), 'hugetlb\n');
    return fake;
  }

  static v2(controllers = 'cpuset cpu io memory hugetlb pids'): FakeCgroups {
    const fake = new FakeCgroups(2);
    fake.contents.set(join(fake.root, 'cgroup.controllers'), `${controllers}\n`);
    fake.contents.set(join(fake.root, 'cgroup.subtree_control'), '\n');
    fake.contents.set(join(fake.root, 'cgroup.procs'), '1\n');
    return fake;
  }

  exists(path: string): boolean {
    return this.folderSet.has(path) || this.contents.has(path);
  }

  folders(path: string): readonly string[] {
    return [...this.folderSet]
      .filter((f) => f !== path && dirname(f) === path)
      .map((f) => f.slice(path.length + 1));
  }

  read(path: string): string | undefined {
    return this.contents.get(path);
  }

  write(path: string, text: string): void {
    if (!this.contents.has(path)) throw failure('ENOENT', path);
    this.writes.push(`${path.slice(this.root.length)}=${text}`);
    const enabled = path.endsWith('cgroup.subtree_control');
    const added = text.split(' ').map((word) => word.slice(1));
    this.contents.set(path, enabled ? [this.contents.get(path)?.trim(), ...added].join(' ').trim() : text);
  }

  makeFolder(path: string): void {
    if (this.folderSet.has(path)) return;
    if (!this.folderSet.has(dirname(path))) throw failure('ENOENT', path);
    this.folderSet.add(path);
    this.contents.set(join(path, 'cgroup.procs'), '');
    if (this.#version === 1) {
      const mount = path.slice(this.root.length + 1).split('/')[0] ?? '';
      for (const controller of mount.split(','))
        for (const file of v1Files[controller] ?? []) this.contents.set(join(path, file), '');
      return;
    }
    const controllers = this.contents.get(join(dirname(path), 'cgroup.subtree_control')) ?? '';
    this.contents.set(join(path, 'cgroup.controllers'), controllers);
    this.contents.set(join(path, 'cgroup.subtree_control'), '');
    const files = [
      'cpu.weight',
      'cpu.max',
      'memory.max',
      'memory.min',
      'memory.low',
      'memory.high',
      'pids.max',
    ];
    for (const file of [...files, 'hugetlb.2MB.max', 'hugetlb.1GB.max'])
      if (controllers.includes(file.split('.')[0] ?? '')) this.contents.set(join(path, file), '');
  }

  removeFolder(path: string): void {
    if (!this.folderSet.has(path)) return;
    const busy =
      this.folders(path).length > 0 || (this.contents.get(join(path, 'cgroup.procs')) ?? '') !== '';
    if (busy) throw failure('EBUSY', path);
    this.folderSet.delete(path);
    for (const file of this.contents.keys()) if (dirname(file) === path) this.contents.delete(file);
  }
}
