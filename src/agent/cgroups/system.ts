import { type CgroupName, cgroupFromPath } from '../../kube/cgroup.ts';
import type { CgroupHost } from './host.ts';

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
  /** Kubelet `systemCgroups`; absent: it is not told of. */
  readonly misc?: string;
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
