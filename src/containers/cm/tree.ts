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
  /** Sizes of huge pages that the host offers, like `2MB`. */
  readonly hugePageSizes?: readonly string[];
}

const cpusetFiles = ['cpuset.cpus', 'cpuset.mems'] as const;

/** v1 trees in which a cgroup has to be for it to count as existing; others are made, but may be missing. */
const counted = new Set(['cpu', 'cpuacct', 'cpuset', 'memory', 'systemd', 'pids', 'hugetlb']);

/** Makes, sets and removes cgroups by name, in each tree that the host has. Follows kubelet `cgroupCommon` (pkg/kubelet/cm). */
export class CgroupTree {
  readonly #deps: CgroupTreeDeps;

  constructor(deps: CgroupTreeDeps) {
    this.#deps = deps;
  }

  /** Whether the cgroup is in every tree that counts and, with v2, has the controllers that it needs. */
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

  /** What keeps a cgroup from counting as there, in kubelet's words; nothing: it is there (kubelet `Validate`). */
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
   * Makes a cgroup and those above it, then sets it.
   *
   * @throws {AgentError} `failed_precondition` with what the kernel refused
   */
  create(name: CgroupName, settings: CgroupSettings = {}): void {
    for (const hierarchy of this.#deps.host.hierarchies) this.#make(hierarchy, name);
    this.set(name, settings);
  }

  /** @throws {AgentError} `failed_precondition` with what the kernel refused */
  set(name: CgroupName, settings: CgroupSettings): void {
    const { host, hugePageSizes } = this.#deps;
    for (const write of cgroupWrites(settings, host.version, hugePageSizes)) this.#write(name, write);
  }

  /** What is right below a cgroup in the tree of one controller, as the driver or a runtime spells it. */
  folders(name: CgroupName, controller: string): readonly string[] {
    const hierarchy = this.#hierarchyOf(controller);
    return hierarchy ? this.#deps.files.folders(this.#path(hierarchy.mount, name)) : [];
  }

  /** Names of the cgroups right below one, in whichever tree. */
  children(name: CgroupName): readonly CgroupName[] {
    const paths = this.#mounts().map((mount) => this.#path(mount, name));
    const names = [...new Set(paths.flatMap((path) => this.#deps.files.folders(path)))];
    if (this.#deps.driver === 'cgroupfs') return names.map((folder) => [...name, folder]);
    // a slice carries the names of those above it; a scope is a runtime's, not ours
    return names.filter((folder) => folder.endsWith('.slice')).map(cgroupFromSlice);
  }

  /** Processes in a cgroup and in those below it. */
  pids(name: CgroupName): readonly number[] {
    const { files } = this.#deps;
    const folders = this.#mounts().flatMap((mount) => this.#below(this.#path(mount, name)));
    const lines = folders.flatMap((folder) => (files.read(join(folder, 'cgroup.procs')) ?? '').split('\n'));
    return [...new Set(lines.filter((line) => line !== '').map(Number))].filter((pid) => pid > 0);
  }

  /**
   * Removes a cgroup with all below it from every tree.
   *
   * @throws {AgentError} `unavailable` when some part is still in use: try again
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

  /** Where it is below the mount of each tree. */
  path(name: CgroupName): string {
    return cgroupPath(name, this.#deps.driver);
  }

  /** Moves a process into a cgroup. @throws {AgentError} `failed_precondition` with what the kernel refused */
  add(name: CgroupName, pid: number): void {
    for (const { mount } of this.#deps.host.hierarchies) {
      const file = join(this.#path(mount, name), 'cgroup.procs');
      this.#attempt(`move process ${pid} to ${file}`, () => {
        this.#deps.files.write(file, String(pid));
      });
    }
  }

  /** Removes a cgroup with nothing in it and nothing below it; false: something of it is left. */
  removeEmpty(name: CgroupName): boolean {
    const { files } = this.#deps;
    const folders = this.#mounts().map((mount) => this.#path(mount, name));
    return folders.filter((folder) => files.exists(folder)).every((folder) => isRemoved(files, folder));
  }

  /** Reads a control file of one controller; `file` may lie in a folder below. */
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

  /** The folder after all that are below it, so that each is empty when its turn comes. */
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
    const held = new Set(own.split(/\s+/));
    return controllers.filter((controller) => counted.has(controller)).every((c) => held.has(c));
  }

  /** With v1 those above are only looked at where one is missing; with v2 all of them have to hand down what is wanted. */
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

  /** With v2 a cgroup has only the controllers that its parent hands down. */
  #delegate({ controllers }: Hierarchy, parent: string): void {
    const { files } = this.#deps;
    const path = join(parent, 'cgroup.subtree_control');
    const handed = new Set((files.read(path) ?? '').split(/\s+/));
    const offered = new Set((files.read(join(parent, 'cgroup.controllers')) ?? '').split(/\s+/));
    const wanted = controllers.filter((c) => counted.has(c) && offered.has(c) && !handed.has(c));
    if (wanted.length > 0) files.write(path, wanted.map((controller) => `+${controller}`).join(' '));
  }

  /** With v1 no process can join a cgroup whose cpus and memory nodes are not named. */
  #inheritCpuset(hierarchy: Hierarchy, name: CgroupName): void {
    for (const file of cpusetFiles) this.#cpusetOf(hierarchy, name, file);
  }

  /** What a cgroup's file names; one that names nothing gets what the one above it names. */
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

  /** A controller that the host does not have limits nothing. */
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
