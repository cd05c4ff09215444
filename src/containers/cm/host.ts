import { join } from 'node:path';
import type { CgroupFiles } from './files.ts';

/** One tree of cgroups. */
export interface Hierarchy {
  /** Where it is mounted. */
  readonly mount: string;
  readonly controllers: readonly string[];
}

/** How a host has its cgroups: one tree for all (v2), or one for each controller (v1, also beside an empty v2 tree). */
export interface CgroupHost {
  readonly version: 1 | 2;
  readonly hierarchies: readonly Hierarchy[];
  /** The v2 tree beside those of v1: nothing is made there, but what a runtime leaves is removed. */
  readonly unified?: string;
}

/** Where Linux mounts cgroups. */
export const cgroupMount = '/sys/fs/cgroup';

const words = (text: string): readonly string[] => text.split(/\s+/).filter((word) => word !== '');

/** What cgroups the host has, read from where they are mounted; `undefined`: none, or none that is seen from here. */
export function detectCgroups(files: CgroupFiles, mount: string = cgroupMount): CgroupHost | undefined {
  const controllers = files.read(join(mount, 'cgroup.controllers'));
  if (controllers !== undefined)
    return { version: 2, hierarchies: [{ mount, controllers: words(controllers) }] };
  const mounted = files.folders(mount).filter((name) => files.exists(join(mount, name, 'cgroup.procs')));
  const unified = mounted.find((name) => files.exists(join(mount, name, 'cgroup.controllers')));
  const hierarchies = mounted
    .filter((name) => name !== unified)
    .map((name) => ({ mount: join(mount, name), controllers: name.split(',') }));
  if (hierarchies.length === 0) return undefined;
  return { version: 1, hierarchies, ...(unified !== undefined && { unified: join(mount, unified) }) };
}

/** The controllers without which pods cannot be limited; kubelet refuses to start without one of them. */
const required = ['cpu', 'cpuset', 'memory'] as const;

/** Required controllers that the host does not offer. */
export const missingControllers = ({ hierarchies }: CgroupHost): readonly string[] =>
  required.filter((name) => !hierarchies.some(({ controllers }) => controllers.includes(name)));
