import { tableOf } from '../../base/own.ts';
import type { Stats } from 'node:fs';
import { mkdir, stat, writeFile } from 'node:fs/promises';
import { AgentError, messageOf } from '../../base/errors.ts';

/** The check of a `hostPath.type`, its description, and how to create what is missing. */
interface Demand {
  readonly holds: (stats: Stats) => boolean;
  readonly what: string;
  readonly create?: (path: string) => Promise<void>;
}

const isDirectory = (stats: Stats): boolean => stats.isDirectory();
const isFile = (stats: Stats): boolean => stats.isFile();

const demands: Readonly<Record<string, Demand>> = tableOf({
  Directory: { holds: isDirectory, what: 'a directory' },
  DirectoryOrCreate: {
    holds: isDirectory,
    what: 'a directory',
    create: async (path) => {
      await mkdir(path, { recursive: true, mode: 0o755 });
    },
  },
  File: { holds: isFile, what: 'a file' },
  FileOrCreate: {
    holds: isFile,
    what: 'a file',
    create: (path) => writeFile(path, '', { mode: 0o644, flag: 'a' }), // without its parent directory
  },
  Socket: { holds: (stats) => stats.isSocket(), what: 'a socket file' },
  CharDevice: { holds: (stats) => stats.isCharacterDevice(), what: 'a character device' },
  BlockDevice: { holds: (stats) => stats.isBlockDevice(), what: 'a block device' },
});

/** A path that cannot be inspected counts as missing. */
const statOf = (path: string): Promise<Stats | undefined> => stat(path).catch(() => undefined);

/**
 * Checks a host path against the volume's type, and creates it where the type allows. Follows kubelet `hostpath.checkType`.
 *
 * @throws {AgentError} `failed_precondition` when the path is of another type, is missing, or cannot be created
 */
export async function checkHostPath(path: string, type: string | undefined): Promise<void> {
  if (type === undefined || type === '') return;
  const demand = demands[type];
  if (!demand) throw new AgentError('invalid_argument', `${type} is an invalid volume type`);
  const stats = await statOf(path);
  if (stats && demand.holds(stats)) return;
  if (stats || !demand.create)
    throw new AgentError('failed_precondition', `hostPath type check failed: ${path} is not ${demand.what}`);
  try {
    await demand.create(path);
  } catch (cause) {
    throw new AgentError('failed_precondition', messageOf(cause), { cause });
  }
}
