import { linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { AgentError } from '../../base/errors.ts';
import { readBootId, readStat } from '../../processes/proc.ts';

/** The time to wait for another process's change of the store, ms. */
const patienceMs = 120_000;
const pollMs = 50;

/** The parts of a clock that waiting takes. */
export interface LockClock {
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/**
 * StoreLock admits one change of a directory at a time, of any process. A lock whose process is dead is void: it names the process by boot,
 * pid and start time.
 */
export class StoreLock {
  readonly #path: string;
  readonly #clock: LockClock;
  #last: Promise<unknown> = Promise.resolve();

  constructor(path: string, clock: LockClock) {
    this.#path = path;
    this.#clock = clock;
  }

  /** Runs `act` under the lock. @throws {AgentError} `unavailable` when another process holds it for two minutes */
  with<T>(act: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const turn = this.#last.then(() => this.#run(act, signal));
    this.#last = turn.catch(() => undefined);
    return turn;
  }

  async #run<T>(act: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    for (let waited = 0; !this.tryTake(); waited += pollMs) {
      signal?.throwIfAborted();
      if (waited >= patienceMs)
        throw new AgentError('unavailable', `the image store is locked by another process (${this.#path})`);
      await this.#clock.sleep(pollMs, signal);
    }
    try {
      return await act();
    } finally {
      this.release();
    }
  }

  /** Releases the lock, which this process must hold. */
  release(): void {
    rmSync(this.#path, { force: true });
  }

  /** Takes the lock unless it is held: creates it with its content at once, by a link, after one whose holder is dead has been removed. */
  tryTake(): boolean {
    const own = `${this.#path}.${process.pid}`;
    writeFileSync(own, holder(process.pid));
    try {
      if (isVoid(this.#path)) rmSync(this.#path, { force: true });
      linkSync(own, this.#path);
      return true;
    } catch {
      return false;
    } finally {
      rmSync(own, { force: true });
    }
  }
}

const holder = (pid: number): string => `${readBootId()} ${pid} ${readStat(pid)?.startTicks ?? 0}`;

function isVoid(path: string): boolean {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch {
    return false;
  }
  return text !== holder(Number(text.split(' ')[1]));
}
