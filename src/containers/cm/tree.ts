import { join } from 'node:path';
import { AgentError, messageOf } from '../../base/errors.ts';
import {
  type CgroupDriver,
  cgroupFromSlice,
  type CgroupName,
  cgroupNameText,
  cgroupPath,
} from '../../kube/cgroup.ts';
import { type CgroupFiles, codeOf } from './files.ts';
import type { CgroupHost, Hierarchy } from './host.ts';
import { type CgroupSettings, type CgroupWrite, cgroupWrites } from './settings.ts';

export interface CgroupTreeDeps {
  readonly files: CgroupFiles;
  readonly host: CgroupHost;
  readonly driver: CgroupDriver;
  /** Huge page sizes of the host, such as `2MB`. */
  readonly hugePageSizes?: readonly string[];
}

const cpusetFiles = ['cpuset.cpus', 'cpuset.mems'] as const;

/** v1 controllers that decide whether a cgroup exists. Cgroups are created for the others too, but may be missing there. */
const counted = new Set(['cpu', 'cpuacct', 'cpuset', 'memory', 'systemd', 'pids', 'hugetlb']);

/**
 * CgroupTree creates, updates and removes cgroups by name in each hierarchy of the host. Follows kubelet `cgroupCommon` (pkg/kubelet/cm).
 */
export class CgroupTree {
  readonly #deps: CgroupTreeDeps;

  constructor(deps: CgroupTreeDeps) {
    this.#deps = deps;
  }

  /** True when the cgroup exists in every hierarchy that counts and, with v2, has the required controllers. */
  exists(name: CgroupName): boolean {
    const { files, host } = this.#deps;
    return host.hierarchies
      .filter(({ controllers }) => host.version === 2 || controllers.some((own) => counted.has(own)))
      .every(
        (hierarchy) =>
          files.exists(this.#path(hierarchy.mount, name)) &&
          (host.version === 1 || this.#isComplete(hierarchy, name)),
      );
  }

  /** Returns why the cgroup counts as missing, worded as in the kubelet; `undefined` when it exists (kubelet `Validate`). */
  missing(name: CgroupName): string | undefined {
    const { files, host } = this.#deps;
    const quoted = cgroupNameText(name);
    const counting = host.hierarchies.filter(({ controllers }) =>
      controllers.some((own) => counted.has(own)),
    );
    if (host.version === 2) {
      const isThere = host.hierarchies.every(({ mount }) => files.exists(this.#path(mount, name)));
      if (isThere && this.exists(name)) return undefined;
      return isThere ? `cgroup ${quoted} has some missing controllers` : `cgroup ${quoted} does not exist`;
    }
    const paths = counting.map(({ mount }) => this.#path(mount, name)).filter((path) => !files.exists(path));
    return paths.length === 0 ? undefined : `cgroup ${quoted} has some missing paths: ${paths.join(', ')}`;
  }

  /**
   * Creates a cgroup and its missing parents, then applies the settings.
   *
   * @throws {AgentError} `failed_precondition` with the kernel's error
   */
  create(name: CgroupName, settings: CgroupSettings = {}): void {
    for (const hierarchy of this.#deps.host.hierarchies) this.#make(hierarchy, name);
    this.set(name, settings);
  }

  /** Applies settings to an existing cgroup. @throws {AgentError} `failed_precondition` with the kernel's error */
  set(name: CgroupName, settings: CgroupSettings): void {
    const { host, hugePageSizes } = this.#deps;
    for (const write of cgroupWrites(settings, host.version, hugePageSizes)) this.#write(name, write);
  }

  /** Returns the names of the directories directly below a cgroup in one controller's hierarchy, as the driver or runtime spells them. */
  folders(name: CgroupName, controller: string): readonly string[] {
    const hierarchy = this.#hierarchyOf(controller);
    return hierarchy ? this.#deps.files.folders(this.#path(hierarchy.mount, name)) : [];
  }

  /** Returns the child cgroups from all hierarchies. */
  children(name: CgroupName): readonly CgroupName[] {
    const paths = this.#mounts().map((mount) => this.#path(mount, name));
    const names = [...new Set(paths.flatMap((path) => this.#deps.files.folders(path)))];
    if (this.#deps.driver === 'cgroupfs') return names.map((folder) => [...name, folder]);
    // A slice name contains the names of its parents; scopes belong to runtimes.
    return names.filter((folder) => folder.endsWith('.slice')).map(cgroupFromSlice);
  }

  /** Returns the processes of a cgroup and its descendants. */
  pids(name: CgroupName): readonly number[] {
    const { files } = this.#deps;
    const folders = this.#mounts().flatMap((mount) => this.#below(this.#path(mount, name)));
    const lines = folders.flatMap((folder) => (files.read(join(folder, 'cgroup.procs')) ?? '').split('\n'));
    return [...new Set(lines.filter((line) => line !== '').map(Number))].filter((pid) => pid > 0);
  }

  /**
   * Removes a cgroup and its descendants from every hierarchy.
   *
   * @throws {AgentError} `unavailable` while a part of it is in use; the caller retries
   */
  remove(name: CgroupName): void {
    const failures: string[] = [];
    for (const mount of this.#mounts())
      for (const folder of this.#below(this.#path(mount, name))) {
        try {
          this.#deps.files.removeFolder(folder);
        } catch (reason) {
          failures.push(`${folder}: ${codeOf(reason) || messageOf(reason)}`);
        }
      }
    if (failures.length > 0)
      throw new AgentError('unavailable', `cgroups are still in use: ${failures.join('; ')}`);
  }

  /** Returns the path of a cgroup relative to the mount point of each hierarchy. */
  path(name: CgroupName): string {
    return cgroupPath(name, this.#deps.driver);
  }

  /** Moves a process into a cgroup. @throws {AgentError} `failed_precondition` with the kernel's error */
  add(name: CgroupName, pid: number): void {
    for (const { mount } of this.#deps.host.hierarchies) {
      const file = join(this.#path(mount, name), 'cgroup.procs');
      this.#attempt(`move process ${pid} to ${file}`, () => {
        this.#deps.files.write(file, String(pid));
      });
    }
  }

  /** Removes a cgroup without processes and descendants. @returns false when a part of it is left */
  removeEmpty(name: CgroupName): boolean {
    const { files } = this.#deps;
    const folders = this.#mounts().map((mount) => this.#path(mount, name));
    return folders.filter((folder) => files.exists(folder)).every((folder) => isRemoved(files, folder));
  }

  /** Reads a control file of one controller; `file` may contain a subdirectory. */
  read(name: CgroupName, controller: string, file: string): string | undefined {
    const hierarchy = this.#hierarchyOf(controller);
    return hierarchy && this.#deps.files.read(`${this.#path(hierarchy.mount, name)}/${file}`);
  }

  #path(mount: string, name: CgroupName): string {
    return name.length === 0 ? mount : `${mount}${this.path(name)}`;
  }

  #mounts(): readonly string[] {
    const { hierarchies, unified } = this.#deps.host;
    return [...hierarchies.map(({ mount }) => mount), ...(unified === undefined ? [] : [unified])];
  }

  /** Returns the directory and its descendants, children before parents, so that each is empty when it is removed. */
  #below(folder: string): readonly string[] {
    const { files } = this.#deps;
    if (!files.exists(folder)) return [];
    return [...files.folders(folder).flatMap((child) => this.#below(join(folder, child))), folder];
  }

  #hierarchyOf(controller: string): Hierarchy | undefined {
    return this.#deps.host.hierarchies.find(({ controllers }) => controllers.includes(controller));
  }

  #isComplete({ mount, controllers }: Hierarchy, name: CgroupName): boolean {
    const own = this.#deps.files.read(join(this.#path(mount, name), 'cgroup.controllers')) ?? '';
    const available = new Set(own.split(/\s+/));
    return controllers.filter((controller) => counted.has(controller)).every((c) => available.has(c));
  }

  /** With v1, parents are inspected only when one is missing; with v2, every parent must delegate the controllers. */
  #make(hierarchy: Hierarchy, name: CgroupName): void {
    const { files, host } = this.#deps;
    const folder = this.#path(hierarchy.mount, name);
    const parent = this.#path(hierarchy.mount, name.slice(0, -1));
    if (host.version === 2 && name.length > 1) this.#make(hierarchy, name.slice(0, -1));
    this.#attempt(`make ${folder}`, () => {
      if (host.version === 2) this.#delegate(hierarchy, parent);
      try {
        files.makeFolder(folder);
      } catch (reason) {
        if (codeOf(reason) !== 'ENOENT' || name.length === 1) throw reason;
        this.#make(hierarchy, name.slice(0, -1));
        files.makeFolder(folder);
      }
    });
    if (host.version === 1 && hierarchy.controllers.includes('cpuset')) this.#inheritCpuset(hierarchy, name);
  }

  /** With v2, a cgroup has only the controllers that its parent delegates in `cgroup.subtree_control`. */
  #delegate({ controllers }: Hierarchy, parent: string): void {
    const { files } = this.#deps;
    const path = join(parent, 'cgroup.subtree_control');
    const handed = new Set((files.read(path) ?? '').split(/\s+/));
    const offered = new Set((files.read(join(parent, 'cgroup.controllers')) ?? '').split(/\s+/));
    const missing = controllers.filter((c) => counted.has(c) && offered.has(c) && !handed.has(c));
    if (missing.length > 0) files.write(path, missing.map((controller) => `+${controller}`).join(' '));
  }

  /** With v1, no process can join a cgroup whose `cpuset.cpus` and `cpuset.mems` are empty. */
  #inheritCpuset(hierarchy: Hierarchy, name: CgroupName): void {
    for (const file of cpusetFiles) this.#cpusetOf(hierarchy, name, file);
  }

  /** Returns the value of a cpuset file; an empty one is first copied from the parent. */
  #cpusetOf(hierarchy: Hierarchy, name: CgroupName, file: string): string {
    const { files } = this.#deps;
    const folder = this.#path(hierarchy.mount, name);
    const own = (files.read(join(folder, file)) ?? '').trim();
    if (own !== '' || name.length === 0) return own;
    const value = this.#cpusetOf(hierarchy, name.slice(0, -1), file);
    if (value !== '')
      this.#attempt(`set ${file} of ${folder}`, () => {
        files.write(join(folder, file), value);
      });
    return value;
  }

  /** Writes a control file; skips controllers that the host does not have. */
  #write(name: CgroupName, { controller, file, value }: CgroupWrite): void {
    const hierarchy = this.#hierarchyOf(controller);
    if (!hierarchy) return;
    const folder = this.#path(hierarchy.mount, name);
    this.#attempt(`set ${file} of ${folder} to ${value}`, () => {
      this.#deps.files.write(join(folder, file), value);
    });
  }

  #attempt(what: string, act: () => void): void {
    try {
      act();
    } catch (cause) {
      throw new AgentError('failed_precondition', `could not ${what}: ${messageOf(cause)}`, { cause });
    }
  }
}

function isRemoved(files: CgroupFiles, folder: string): boolean {
  try {
    files.removeFolder(folder);
    return true;
  } catch {
    return false;
  }
}
