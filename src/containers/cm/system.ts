import { type CgroupName, cgroupFromPath } from '../../kube/cgroup.ts';
import type { ProcessFiles } from './process-files.ts';
import type { CgroupHost } from './host.ts';
import type { CgroupTree } from './tree.ts';

/** A cgroup of the node that is not of pods. Its name is a path as it stands, whatever the driver. */
export interface SystemCgroup {
  /** As `/stats/summary` calls it. */
  readonly name: 'kubelet' | 'runtime' | 'misc';
  readonly cgroup: CgroupName;
}

/** Paths below where cgroups are mounted. */
export interface SystemCgroupSettings {
  /** Kubelet `kubeletCgroups`: the agent moves into it. Default: where it is. */
  readonly kubelet?: string;
  /** Kubelet flag `--runtime-cgroups`; absent: the runtime is not told of. */
  readonly runtime?: string;
  /** Kubelet `systemCgroups`: processes in no cgroup move into it at the start; absent: they stay, and are not told of. */
  readonly misc?: string;
  /** Kubelet `oomScoreAdj`: the agent's own; absent: it stays as it is. */
  readonly oomScoreAdj?: number;
}

/**
 * The node's own cgroups, as far as they are known.
 *
 * @param own the text of the agent's `/proc/self/cgroup`
 */
export function systemCgroups(
  { kubelet, runtime, misc }: SystemCgroupSettings,
  own: string,
  version: CgroupHost['version'],
): readonly SystemCgroup[] {
  const paths = { kubelet: kubelet ?? cgroupOfProcess(own, version), runtime, misc };
  return (['kubelet', 'runtime', 'misc'] as const).flatMap((name) => {
    const path = paths[name];
    return path === undefined ? [] : [{ name, cgroup: cgroupFromPath(path) }];
  });
}

/** Processes that are in the root of all cgroups, but the first of all and the kernel's own (kubelet `ensureSystemCgroups`). */
export function strayProcesses(
  tree: Pick<CgroupTree, 'read'>,
  files: Pick<ProcessFiles, 'read'>,
): readonly number[] {
  const pids = (tree.read([], 'memory', 'cgroup.procs') ?? '').split('\n').map(Number);
  // the kernel's own were started with no command
  return pids.filter((pid) => pid > 1 && (files.read(`/proc/${pid}/cmdline`) ?? '') !== '');
}

/** Where a process is, when that is one place (kubelet `getContainer`). */
function cgroupOfProcess(text: string, version: CgroupHost['version']): string | undefined {
  const byController = new Map(
    [...text.matchAll(/^\d+:([^:]*):(.*)$/gm)].flatMap(([, controllers = '', path = '']) =>
      controllers.split(',').map((controller) => [controller, path] as const),
    ),
  );
  if (version === 2) return byController.get('');
  const cpu = byController.get('cpu');
  return cpu === byController.get('memory') ? cpu : undefined;
}
