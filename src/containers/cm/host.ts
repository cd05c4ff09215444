import { join } from 'node:path';
import type { CgroupFiles } from './files.ts';

/** One mounted cgroup hierarchy. */
export interface Hierarchy {
  /** Absolute path of the mount point. */
  readonly mount: string;
  readonly controllers: readonly string[];
}

/** The cgroup hierarchies of a host: one for all controllers (v2), or one per controller (v1, possibly next to an empty v2 hierarchy). */
export interface CgroupHost {
  readonly version: 1 | 2;
  readonly hierarchies: readonly Hierarchy[];
  /** Mount point of the v2 hierarchy next to v1 ones. No cgroup is created in it; cgroups that a runtime leaves there are removed. */
  readonly unified?: string;
}

/** The default mount point of cgroups on Linux. */
export const cgroupMount = '/sys/fs/cgroup';

const words = (text: string): readonly string[] => text.split(/\s+/).filter((word) => word !== '');

/** Reads the host's cgroup hierarchies from the mount point; `undefined` when there are none, or none visible to the agent. */
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

/** Controllers that pod limits require; the kubelet refuses to start without any of them. */
const required = ['cpu', 'cpuset', 'memory'] as const;

/** Returns the required controllers that the host lacks. */
export const missingControllers = ({ hierarchies }: CgroupHost): readonly string[] =>
  required.filter((name) => !hierarchies.some(({ controllers }) => controllers.includes(name)));
