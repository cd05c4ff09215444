import { dirname, join } from 'node:path';
import type { CgroupFiles } from '../../containers/cm/files.ts';
import { type CgroupHost, detectCgroups, type Hierarchy } from '../../containers/cm/host.ts';
import { CgroupTree } from '../../containers/cm/tree.ts';

/** The controllers that limit containers. */
export const limitControllers = ['cpu', 'memory', 'pids'] as const;

/** A controller that limits containers. */
export type LimitController = (typeof limitControllers)[number];

/** The cgroups that the agent may create others in. Mount points are those of the agent's own cgroup in each hierarchy. */
export interface Delegation {
  readonly host: CgroupHost;
  readonly controllers: readonly LimitController[];
}

/** What a search for delegated cgroups reads. */
export interface DelegationSearch {
  readonly files: CgroupFiles;
  /** Text of the agent's `/proc/self/cgroup`. */
  readonly own: string;
  readonly pid: number;
  /** Where cgroups are mounted; default: `/sys/fs/cgroup`. */
  readonly mount?: string;
}

/** Name of the v2 cgroup that the agent itself moves to, as a cgroup with children that have controllers cannot have processes. */
const agentCgroup = 'agent';

/**
 * Finds the cgroups below the agent's own in which it may create others, by creating one and removing it. With v2 the agent moves to a child
 * `agent` of its cgroup, unless it is in one of that name. A hierarchy that is not delegated is left out.
 */
export function findDelegation(search: DelegationSearch): Delegation {
  const host = detectCgroups(search.files, search.mount);
  if (!host) return { host: { version: 1, hierarchies: [] }, controllers: [] };
  const paths = ownPaths(search.own);
  const hierarchies = host.version === 2 ? unified(host, paths, search) : separate(host, paths, search);
  const has = (name: string): boolean => hierarchies.some(({ controllers }) => controllers.includes(name));
  return { host: { version: host.version, hierarchies }, controllers: limitControllers.filter(has) };
}

/** Returns the path of the agent's cgroup by controller; the empty name is v2's. */
function ownPaths(text: string): ReadonlyMap<string, string> {
  return new Map(
    [...text.matchAll(/^\d+:([^:]*):(\/.*)$/gm)].flatMap(([, names = '', path = '']) =>
      names.split(',').map((name) => [name, path] as const),
    ),
  );
}

/** Joins a cgroup's path to a mount point; the root's is `/`. */
const below = (mount: string, path: string): string => (path === '/' ? mount : join(mount, path));

const isLimit = (name: string): boolean => limitControllers.some((one) => one === name);

function separate(
  { hierarchies }: CgroupHost,
  paths: ReadonlyMap<string, string>,
  { files, pid }: DelegationSearch,
): readonly Hierarchy[] {
  return hierarchies.flatMap((hierarchy) => {
    const controllers = hierarchy.controllers.filter(isLimit);
    const [first] = controllers;
    const path = first === undefined ? undefined : paths.get(first);
    if (path === undefined) return [];
    const own: Hierarchy = { mount: below(hierarchy.mount, path), controllers };
    return canCreate({ version: 1, hierarchies: [own] }, files, pid) ? [own] : [];
  });
}

function unified(
  { hierarchies }: CgroupHost,
  paths: ReadonlyMap<string, string>,
  { files, pid }: DelegationSearch,
): readonly Hierarchy[] {
  const [top] = hierarchies;
  const path = paths.get('');
  if (!top || path === undefined) return [];
  const here = below(top.mount, path);
  const base = here.endsWith(`/${agentCgroup}`) ? dirname(here) : here;
  const offered = (files.read(join(base, 'cgroup.controllers')) ?? '').split(/\s+/).filter(isLimit);
  if (offered.length === 0) return [];
  const own: Hierarchy = { mount: base, controllers: offered };
  const host: CgroupHost = { version: 2, hierarchies: [own] };
  if (canCreate(host, files, pid)) return [own];
  if (base !== here || !moveAside(base, files, pid)) return [];
  if (canCreate(host, files, pid)) return [own];
  moveBack(base, files, pid);
  return [];
}

/** True when a cgroup with the controllers could be created and removed. */
function canCreate(host: CgroupHost, files: CgroupFiles, pid: number): boolean {
  const driver = 'cgroupfs';
  const tree = new CgroupTree({ files, host, driver });
  const name = [`podtender-probe-${pid}`];
  try {
    tree.create(name);
    return true;
  } catch {
    return false;
  } finally {
    tree.removeEmpty(name);
  }
}

/** Moves the agent to a child of its cgroup. @returns false when that is not allowed */
function moveAside(base: string, files: CgroupFiles, pid: number): boolean {
  const folder = join(base, agentCgroup);
  try {
    files.makeFolder(folder);
    files.write(join(folder, 'cgroup.procs'), String(pid));
    return true;
  } catch {
    moveBack(base, files, pid);
    return false;
  }
}

/** Undoes {@link moveAside} as far as it came. */
function moveBack(base: string, files: CgroupFiles, pid: number): void {
  const isIn = (files.read(join(base, agentCgroup, 'cgroup.procs')) ?? '').split('\n').includes(String(pid));
  if (isIn) files.write(join(base, 'cgroup.procs'), String(pid));
  try {
    files.removeFolder(join(base, agentCgroup));
  } catch {
    // another process is in it
  }
}
