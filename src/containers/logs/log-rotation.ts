import { createReadStream, createWriteStream } from 'node:fs';
import { readdir, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import type { Clock } from '../../base/clock.ts';
import { messageOf } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';

/** When container logs are rotated and how many files are kept (kubelet `containerLogMaxSize`, `containerLogMaxFiles`). */
export interface LogRotationPolicy {
  /** Size above which a log is rotated, bytes. Negative: never. */
  readonly maxBytes: number;
  /** Number of files to keep per container including the live one; at least 2. */
  readonly maxFiles: number;
}

/** A running container with its log path. */
export interface LoggedContainer {
  /** The runtime's own id. */
  readonly id: string;
  readonly logPath: string;
}

export interface LogRotationDeps {
  readonly clock: Pick<Clock, 'now'>;
  readonly logger: Logger;
  readonly runningContainers: () => Promise<readonly LoggedContainer[]>;
  /** Makes the runtime reopen the log after the file was renamed. */
  readonly reopen: (containerId: string) => Promise<void>;
}

const zipped = '.gz';
const unfinished = '.tmp';

/** Returns the suffix of a rotated file: `YYYYMMDD-HHMMSS` in UTC. */
const stampOf = (now: number): string =>
  new Date(now).toISOString().slice(0, 19).replace(/[-:]/g, '').replace('T', '-');

/**
 * Returns which rotated files to remove: leftovers of an interrupted compression, uncompressed files whose compressed form
 * exists, and the oldest above the limit.
 *
 * @param maxRotated number of rotated files to keep besides the live log and the one being rotated
 */
export function partsToRemove(names: readonly string[], maxRotated: number): readonly string[] {
  const all = new Set(names);
  const junk = names.filter((name) => name.endsWith(unfinished) || all.has(`${name}${zipped}`));
  const parts = names.filter((name) => !junk.includes(name)).sort();
  return [...junk, ...parts.slice(0, Math.max(0, parts.length - maxRotated))];
}

/**
 * LogRotation rotates logs that are too large: the live file is renamed, the runtime opens a new one, older files are compressed and the
 * oldest removed. No line is lost: the runtime writes to the renamed file until it has opened the new one.
 *
 * Follows kubelet `logs.containerLogManager`.
 */
export class LogRotation {
  readonly #deps: LogRotationDeps;
  readonly #policy: LogRotationPolicy;

  constructor(deps: LogRotationDeps, policy: LogRotationPolicy) {
    this.#deps = deps;
    this.#policy = policy;
  }

  /** Checks the logs of all running containers once; failures are logged and retried in the next round. */
  async rotateAll(): Promise<void> {
    if (this.#policy.maxBytes < 0) return;
    for (const container of await this.#deps.runningContainers()) {
      try {
        await this.#rotate(container);
      } catch (reason) {
        this.#deps.logger.error('a container log could not be rotated', {
          path: container.logPath,
          err: messageOf(reason),
        });
      }
    }
  }

  async #rotate({ id, logPath }: LoggedContainer): Promise<void> {
    const size = await sizeOf(logPath);
    if (size === undefined) {
      await this.#deps.reopen(id); // an interrupted rotation, or the file was removed
      return;
    }
    if (size < this.#policy.maxBytes) return;
    const dir = dirname(logPath);
    const rotated = (await readdir(dir)).filter((name) => name.startsWith(`${basename(logPath)}.`));
    const gone = partsToRemove(rotated, this.#policy.maxFiles - 2);
    for (const name of gone) await rm(join(dir, name), { force: true });
    for (const name of rotated)
      if (!gone.includes(name) && !name.endsWith(zipped)) await compress(join(dir, name));
    await this.#cut(id, logPath);
  }

  async #cut(id: string, logPath: string): Promise<void> {
    const part = `${logPath}.${stampOf(this.#deps.clock.now())}`;
    await rename(logPath, part);
    try {
      await this.#deps.reopen(id);
    } catch (reason) {
      await rename(part, logPath); // the runtime continues with its open file
      throw reason;
    }
  }
}

async function sizeOf(path: string): Promise<number | undefined> {
  try {
    return (await stat(path)).size;
  } catch (reason) {
    if ((reason as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw reason;
  }
}

async function compress(path: string): Promise<void> {
  const half = `${path}${unfinished}`;
  await pipeline(createReadStream(path), createGzip(), createWriteStream(half, { mode: 0o640 }));
  await rename(half, `${path}${zipped}`);
  await rm(path);
}
