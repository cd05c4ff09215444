import { join } from 'node:path';
import { fileName } from '../../base/files/below.ts';
import { nameOf, namespaceOf, uidOf } from '../../kube/names.ts';
import type { Pod } from '../../kube/types.ts';

/** The folder of a pod's logs: `<root>/<namespace>_<name>_<uid>` (`BuildPodLogsDirectory`). */
export const podLogsDirectory = (root: string, pod: Pod): string =>
  join(
    root,
    fileName([namespaceOf(pod), nameOf(pod), uidOf(pod)].join('_'), 'what the logs of a pod are called'),
  );

/** The folder of one container's logs (`BuildContainerLogsDirectory`). */
export const containerLogsDirectory = (root: string, pod: Pod, container: string): string =>
  join(podLogsDirectory(root, pod), containerName(container));

/** A container's log below its pod's folder: `<container>/<restart count>.log` (`buildContainerLogsPath`). */
export const containerLogPath = (container: string, restartCount: number): string =>
  join(containerName(container), `${restartCount}.log`);

/** The pod UID that a pod's log folder is named after: what follows the last `_` (`parsePodUIDFromLogsDirectory`). */
export const podUidFromLogsDirectory = (name: string): string => name.slice(name.lastIndexOf('_') + 1);

/** The link that log collectors follow, in `/var/log/containers` (`legacyLogSymlink`); names that are too long are cut. */
export function legacyLogName(containerId: string, container: string, pod: Pod): string {
  const suffix = `${container}-${containerId}`;
  const longest = 255 - '.log'.length;
  const prefix = [nameOf(pod), namespaceOf(pod)].join('_');
  return fileName(`${`${prefix}_${suffix}`.slice(0, longest)}.log`, 'the link to a log');
}

/**
 * R183: which start comes next when the runtime has lost the container: one more than the highest number among its logs
 * (`calcRestartCountByLogDir`).
 *
 * @param files names in the container's log folder, folders left out
 */
export function restartCountFromLogs(files: readonly string[]): number {
  const counts = files.map((name) => BigInt(/^(\d+)\.log/.exec(name)?.[1] ?? -1) + 1n);
  return Math.max(0, ...counts.filter((count) => count < 2n ** 63n).map(Number));
}

const containerName = (name: string): string => fileName(name, 'the name of a container');
