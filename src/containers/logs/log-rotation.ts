import { createReadStream, createWriteStream } from 'node:fs';
import { readdir, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import type { Clock } from '../../base/clock.ts';
import { messageOf } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';

/** When container logs are cut and how many parts stay (kubelet `containerLogMaxSize`, `containerLogMaxFiles`). */
export interface LogRotationPolicy {
  /** Bytes; a log that is larger is rotated. Negative: never. */
  readonly maxBytes: number;
  /** Parts kept of one container, the live one included; at least 2. */
  readonly maxFiles: number;
}

/** A container whose log is written now. */
export interface LoggedContainer {
  /** The runtime's own id. */
  readonly id: string;
  readonly logPath: string;
}

export interface LogRotationDeps {
  readonly clock: Pick<Clock, 'now'>;
  readonly logger: Logger;
  readonly runningContainers: () => Promise<readonly LoggedContainer[]>;
  /** The runtime opens the log anew: what it had open was renamed. */
  readonly reopen: (containerId: string) => Promise<void>;
}

const zipped = '.gz';
const unfinished = '.tmp';

/** `YYYYMMDD-HHMMSS` in UTC, what a rotated part's name ends in. */
const stampOf = (now: number): string =>
  new Date(now).toISOString().slice(0, 19).replace(/[-:]/g, '').replace('T', '-');

/**
 * Which parts of a log go, given the names of all rotated ones: leftovers of an interrupted compression, plain parts whose compressed form
 * exists, and the oldest beyond the limit.
 *
 * @param maxRotated parts that may stay beside the live log and the one about to be cut
 */
export function partsToRemove(names: readonly string[], maxRotated: number): readonly string[] {
  const all = new Set(names);
  const junk = names.filter((name) => name.endsWith(unfinished) || all.has(`${name}${zipped}`));
  const parts = names.filter((name) => !junk.includes(name)).sort();
  return [...junk, ...parts.slice(0, Math.max(0, parts.length - maxRotated))];
}

/**
 * Cuts logs that have grown too large: the live file is renamed, the runtime opens a new one, older parts are compressed and the oldest
 * removed. No line is lost: the runtime writes to the renamed file until it has opened the new one.
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

  /** One round over all running containers; one that fails is logged and tried again in the next. */
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
      await this.#deps.reopen(id); // a rotation that was cut short, or somebody took the file away
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
      await rename(part, logPath); // the runtime goes on with the file that it has open
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
