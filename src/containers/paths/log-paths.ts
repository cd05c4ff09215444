import { join } from 'node:path';
import { fileName } from '../../base/files/below.ts';
import { nameOf, namespaceOf, uidOf } from '../../kube/names.ts';
import type { Pod } from '../../kube/types.ts';

/** Returns the log directory of a pod: `<root>/<namespace>_<name>_<uid>` (`BuildPodLogsDirectory`). */
export const podLogsDirectory = (root: string, pod: Pod): string =>
  join(
    root,
    fileName([namespaceOf(pod), nameOf(pod), uidOf(pod)].join('_'), 'what the logs of a pod are called'),
  );

/** Returns the log directory of a container (`BuildContainerLogsDirectory`). */
export const containerLogsDirectory = (root: string, pod: Pod, container: string): string =>
  join(podLogsDirectory(root, pod), containerName(container));

/** Returns the path of a container's log relative to its pod's directory: `<container>/<restart count>.log` (`buildContainerLogsPath`). */
export const containerLogPath = (container: string, restartCount: number): string =>
  join(containerName(container), `${restartCount}.log`);

/** Returns the pod UID in the name of a pod log directory: the part after the last `_` (`parsePodUIDFromLogsDirectory`). */
export const podUidFromLogsDirectory = (name: string): string => name.slice(name.lastIndexOf('_') + 1);

/** Returns the name of a log link in `/var/log/containers` (`legacyLogSymlink`); too long names are truncated. */
export function legacyLogName(containerId: string, container: string, pod: Pod): string {
  const suffix = `${container}-${containerId}`;
  const longest = 255 - '.log'.length;
  const prefix = [nameOf(pod), namespaceOf(pod)].join('_');
  return fileName(`${`${prefix}_${suffix}`.slice(0, longest)}.log`, 'the link to a log');
}

/**
 * Returns the next restart count when the runtime no longer has the container: the highest number of its logs plus one (R183,
 * `calcRestartCountByLogDir`).
 *
 * @param files names in the container's log directory, without directories
 */
export function restartCountFromLogs(files: readonly string[]): number {
  const counts = files.map((name) => BigInt(/^(\d+)\.log/.exec(name)?.[1] ?? -1) + 1n);
  return Math.max(0, ...counts.filter((count) => count < 2n ** 63n).map(Number));
}

const containerName = (name: string): string => fileName(name, 'the name of a container');
