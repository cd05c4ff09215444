import { existsSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '../../base/clock.ts';
import { AgentError, messageOf } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';
import type { Random } from '../../base/random.ts';
import type { RunPodSandboxRequest } from '../../provider/cri-messages.ts';
import { loadAll, saveRecord, type SandboxRecord } from './record.ts';

/** Dependencies of SandboxStore. */
export interface SandboxStoreDeps {
  readonly dir: string;
  readonly bootId: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

/** SandboxStore keeps the sandbox records in memory and on disk in sync. */
export class SandboxStore {
  readonly #records = new Map<string, SandboxRecord>();
  readonly #deps: SandboxStoreDeps;

  constructor(deps: SandboxStoreDeps) {
    this.#deps = deps;
  }

  load(): void {
    mkdirSync(this.#deps.dir, { recursive: true, mode: 0o700 });
    const { records, cleared } = loadAll(this.#deps.dir, 'sandbox.json');
    for (const record of records as readonly SandboxRecord[]) this.#records.set(record.id, record);
    if (cleared.length > 0)
      this.#deps.logger.warn('incomplete sandbox records were removed', { ids: cleared });
  }

  create(request: RunPodSandboxRequest): SandboxRecord {
    const record: SandboxRecord = {
      id: this.#deps.random.hex(32),
      config: request.config ?? {},
      runtimeHandler: request.runtimeHandler ?? '',
      createdAt: this.#deps.clock.now() * 1e6,
      bootId: this.#deps.bootId,
      stopped: false,
    };
    const { logDirectory } = record.config;
    if (logDirectory !== undefined && logDirectory !== '') mkdirSync(logDirectory, { recursive: true });
    mkdirSync(join(this.#deps.dir, record.id), { mode: 0o700 });
    this.#write(record);
    this.#records.set(record.id, record);
    return record;
  }

  find(id: string | undefined): SandboxRecord | undefined {
    return this.#records.get(id ?? '');
  }

  /** Returns a sandbox. @throws {AgentError} `not_found` */
  get(id: string | undefined): SandboxRecord {
    const record = this.find(id);
    if (record) return record;
    throw new AgentError('not_found', `no sandbox "${id ?? ''}"`);
  }

  all(): readonly SandboxRecord[] {
    return [...this.#records.values()];
  }

  /** Stops a sandbox, even when that cannot be stored; the next agent stops it again then. */
  stop(id: string): void {
    const record = this.#records.get(id);
    if (!record || record.stopped) return;
    const stopped = { ...record, stopped: true };
    this.#records.set(id, stopped);
    try {
      this.#write(stopped);
    } catch (reason) {
      this.#deps.logger.error('the stopped state of a sandbox cannot be stored', {
        sandbox: id,
        err: messageOf(reason),
      });
    }
  }

  remove(id: string): void {
    this.#records.delete(id);
    rmSync(join(this.#deps.dir, id), { recursive: true, force: true });
  }

  #write(record: SandboxRecord): void {
    const dir = join(this.#deps.dir, record.id);
    // A sandbox whose directory was removed does not exist after the next start anyway.
    if (existsSync(dir)) saveRecord(join(dir, 'sandbox.json'), record);
  }
}
