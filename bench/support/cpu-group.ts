import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { removeEmptyCgroups } from '../../test/support/containerd.ts';

const hierarchy = ['/sys/fs/cgroup/cpuacct', '/sys/fs/cgroup'].find((dir) => existsSync(dir)) ?? '';

/** CpuGroup counts the CPU time of processes and of all that they start, also of what has ended. */
export class CpuGroup {
  readonly #name: string;
  readonly #dir: string;

  /** @param name of a cgroup at the top of the hierarchy; cgroups below it count too */
  constructor(name: string) {
    this.#name = name;
    this.#dir = join(hierarchy, name);
    mkdirSync(this.#dir, { recursive: true });
  }

  add(pid: number): void {
    const own = join(this.#dir, 'own');
    mkdirSync(own, { recursive: true });
    writeFileSync(join(own, 'cgroup.procs'), String(pid));
  }

  /** The CPU time so far, ms. */
  usedMs(): number {
    const v1 = join(this.#dir, 'cpuacct.usage');
    if (existsSync(v1)) return Number(readFileSync(v1, 'utf8')) / 1e6;
    const stat = readFileSync(join(this.#dir, 'cpu.stat'), 'utf8');
    return Number(/usage_usec (\d+)/.exec(stat)?.[1]) / 1000;
  }

  /** Removes what no process is in. */
  remove(): void {
    removeEmptyCgroups(this.#name);
  }
}
