import { type CgroupName, systemdSlice } from '../../kube/cgroup.ts';
import type { CgroupHost } from './host.ts';
import type { CgroupSettings } from './settings.ts';
import type { CgroupTree } from './tree.ts';
import { type SliceUnits, unitProperties } from './units.ts';

/**
 * DrivenCgroups creates and updates cgroups through the configured driver: in the cgroup tree and, with systemd, first as slice units.
 * Follows libcontainer's managers.
 */
export class DrivenCgroups {
  readonly #tree: CgroupTree;
  readonly #version: CgroupHost['version'];
  readonly #units: SliceUnits | undefined;
  /** The properties last sent to systemd, by slice. */
  readonly #sentProperties = new Map<string, Map<string, string>>();

  /** @param units access to systemd; absent with the `cgroupfs` driver */
  constructor(tree: CgroupTree, version: CgroupHost['version'], units?: SliceUnits) {
    this.#tree = tree;
    this.#version = version;
    this.#units = units;
  }

  /**
   * Creates a cgroup and its missing parents, then applies the settings. @throws {AgentError} `failed_precondition` with the kernel's or
   * systemd's error
   */
  async create(name: CgroupName, settings: CgroupSettings = {}): Promise<void> {
    const slice = systemdSlice(name);
    this.#sentProperties.delete(slice);
    await this.#units?.start(slice, systemdSlice(name.slice(0, -1)));
    this.#tree.create(name);
    await this.set(name, settings);
  }

  /** @throws as {@link create} */
  async set(name: CgroupName, settings: CgroupSettings): Promise<void> {
    await this.#tell(systemdSlice(name), settings);
    this.#tree.set(name, settings);
  }

  /** Stops the slice with all processes in it; the caller removes the cgroup from the tree. @throws {AgentError} when systemd fails */
  async end(name: CgroupName): Promise<void> {
    const slice = systemdSlice(name);
    this.#sentProperties.delete(slice);
    await this.#units?.stop(slice);
  }

  missing(name: CgroupName): string | undefined {
    return this.#tree.missing(name);
  }

  /** Sends only the properties whose values changed since they were last sent. */
  async #tell(slice: string, settings: CgroupSettings): Promise<void> {
    if (!this.#units) return;
    const sent = this.#sentProperties.get(slice) ?? new Map<string, string>();
    const news = unitProperties(settings, this.#version).filter(
      ([name, , value]) => sent.get(name) !== value,
    );
    if (news.length === 0) return;
    await this.#units.set(slice, news);
    for (const [name, , value] of news) sent.set(name, value);
    this.#sentProperties.set(slice, sent);
  }
}
