import { type CgroupName, systemdSlice } from '../../kube/cgroup.ts';
import type { CgroupHost } from './host.ts';
import type { CgroupSettings } from './settings.ts';
import type { CgroupTree } from './tree.ts';
import { type SliceUnits, unitProperties } from './units.ts';

/** Cgroups made and set as the driver has it: in the tree, and with systemd as units first. Follows libcontainer's managers. */
export class DrivenCgroups {
  readonly #tree: CgroupTree;
  readonly #version: CgroupHost['version'];
  readonly #units: SliceUnits | undefined;
  /** What systemd was told of a slice last. */
  readonly #told = new Map<string, Map<string, string>>();

  /** @param units absent: nobody but the kernel knows of cgroups */
  constructor(tree: CgroupTree, version: CgroupHost['version'], units?: SliceUnits) {
    this.#tree = tree;
    this.#version = version;
    this.#units = units;
  }

  /** Makes a cgroup and those above it, then sets it. @throws {AgentError} `failed_precondition` with what kernel or systemd refused */
  async create(name: CgroupName, settings: CgroupSettings = {}): Promise<void> {
    const slice = systemdSlice(name);
    this.#told.delete(slice);
    await this.#units?.start(slice, systemdSlice(name.slice(0, -1)));
    this.#tree.create(name);
    await this.set(name, settings);
  }

  /** @throws as {@link create} */
  async set(name: CgroupName, settings: CgroupSettings): Promise<void> {
    await this.#tell(systemdSlice(name), settings);
    this.#tree.set(name, settings);
  }

  /** Has systemd end the slice with what is left in it; the tree is the caller's. @throws {AgentError} */
  async end(name: CgroupName): Promise<void> {
    const slice = systemdSlice(name);
    this.#told.delete(slice);
    await this.#units?.stop(slice);
  }

  missing(name: CgroupName): string | undefined {
    return this.#tree.missing(name);
  }

  /** What systemd has been told already, it is not told again. */
  async #tell(slice: string, settings: CgroupSettings): Promise<void> {
    if (!this.#units) return;
    const told = this.#told.get(slice) ?? new Map<string, string>();
    const news = unitProperties(settings, this.#version).filter(
      ([name, , value]) => told.get(name) !== value,
    );
    if (news.length === 0) return;
    await this.#units.set(slice, news);
    for (const [name, , value] of news) told.set(name, value);
    this.#told.set(slice, told);
  }
}
