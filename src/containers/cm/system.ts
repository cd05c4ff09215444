import { type CgroupName, cgroupFromPath } from '../../kube/cgroup.ts';
import type { ProcessFiles } from './process-files.ts';
import type { CgroupHost } from './host.ts';
import type { CgroupTree } from './tree.ts';

/** A cgroup of the node other than those of pods. Its name is a literal path, whatever the driver. */
export interface SystemCgroup {
  /** The name in `/stats/summary`. */
  readonly name: 'kubelet' | 'runtime' | 'misc';
  readonly cgroup: CgroupName;
}

/** Paths below where cgroups are mounted. */
export interface SystemCgroupSettings {
  /** Kubelet `kubeletCgroups`: the agent moves into this cgroup. Default: the cgroup that it was started in. */
  readonly kubelet?: string;
  /** Kubelet flag `--runtime-cgroups`; absent: the runtime is left out of the statistics. */
  readonly runtime?: string;
  /** Kubelet `systemCgroups`: processes without a cgroup move into it at start; absent: they stay, and are left out of the statistics. */
  readonly misc?: string;
  /** Kubelet `oomScoreAdj` of the agent's own process; absent: unchanged. */
  readonly oomScoreAdj?: number;
}

/**
 * Returns the node's own cgroups that are configured or can be determined.
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

/** Returns the processes in the root cgroup, except PID 1 and kernel threads (kubelet `ensureSystemCgroups`). */
export function strayProcesses(
  tree: Pick<CgroupTree, 'read'>,
  files: Pick<ProcessFiles, 'read'>,
): readonly number[] {
  const pids = (tree.read([], 'memory', 'cgroup.procs') ?? '').split('\n').map(Number);
  // Kernel threads have an empty command line.
  return pids.filter((pid) => pid > 1 && (files.read(`/proc/${pid}/cmdline`) ?? '') !== '');
}

/** Returns the cgroup of a process when it is the same in every hierarchy (kubelet `getContainer`). */
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
