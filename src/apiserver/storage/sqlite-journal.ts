import { mkdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { AgentError, messageOf } from '../../base/errors.ts';
import type { Journal, JournalRow, JournalWrite } from './store.ts';

/** The layout of the database; a directory of another one is refused, never converted silently. */
export const dataVersion = 1;

const schema = `
CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS objects (storage TEXT NOT NULL, key TEXT NOT NULL, version INTEGER NOT NULL, json TEXT NOT NULL,
  PRIMARY KEY (storage, key)) WITHOUT ROWID;`;

/** node:sqlite prints a warning when it is loaded; it is loaded only by who keeps data. */
function sqlite(): typeof import('node:sqlite') {
  return createRequire(import.meta.url)('node:sqlite') as typeof import('node:sqlite');
}

/**
 * Objects in an SQLite database in the data directory. Write-ahead log with `synchronous=FULL`: a commit returns after fsync, so a write that
 * was acknowledged outlives `kill -9` and power loss. One process at a time: the database is locked exclusively.
 *
 * @throws {AgentError} `failed_precondition` for a directory of another version or one in use, `permission_denied` or `internal` otherwise
 */
export class SqliteJournal implements Journal {
  readonly #db: DatabaseSync;
  readonly #put: StatementSync;
  readonly #remove: StatementSync;
  readonly #meta: StatementSync;

  constructor(dataDir: string) {
    this.#db = open(dataDir);
    this.#put = this.#db.prepare(
      'INSERT INTO objects (storage, key, version, json) VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET version = excluded.version, json = excluded.json',
    );
    this.#remove = this.#db.prepare('DELETE FROM objects WHERE storage = ? AND key = ?');
    this.#meta = this.#db.prepare(
      'INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value',
    );
  }

  load(): { readonly version: number; readonly rows: readonly JournalRow[] } {
    const rows = this.#db.prepare('SELECT storage, key, version, json FROM objects').all();
    const version = this.#db.prepare("SELECT value FROM meta WHERE name = 'resourceVersion'").get();
    return {
      version: Number(version?.['value'] ?? 1),
      rows: rows as unknown as readonly JournalRow[],
    };
  }

  /** @throws {AgentError} `resource_exhausted` when the disk is full */
  commit(writes: readonly JournalWrite[], version: number): void {
    this.#db.exec('BEGIN');
    try {
      for (const write of writes) {
        if (write.json === undefined) this.#remove.run(write.storage, write.key);
        else this.#put.run(write.storage, write.key, write.version, write.json);
      }
      this.#meta.run('resourceVersion', String(version));
      this.#db.exec('COMMIT');
    } catch (reason) {
      if (this.#db.isTransaction) this.#db.exec('ROLLBACK');
      if (errcodeOf(reason) !== sqliteFull) throw reason;
      throw new AgentError('resource_exhausted', `objects cannot be kept: ${messageOf(reason)}`, {
        cause: reason,
      });
    }
  }

  close(): void {
    this.#db.close();
  }
}

/** `SQLITE_FULL`: there is no room; nothing of the transaction has been kept. */
const sqliteFull = 13;
const errcodeOf = (reason: unknown): unknown =>
  reason instanceof Error && 'errcode' in reason ? reason.errcode : undefined;

function open(dataDir: string): DatabaseSync {
  const file = join(dataDir, 'objects.db');
  try {
    mkdirSync(dataDir, { recursive: true, mode: 0o700 });
    const { DatabaseSync: Database } = sqlite();
    const db = new Database(file);
    db.exec(
      'PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA busy_timeout = 200;',
    );
    db.exec(schema);
    checkVersion(db, dataDir);
    return db;
  } catch (reason) {
    throw reason instanceof AgentError ? reason : openFailure(reason, dataDir);
  }
}

function checkVersion(db: DatabaseSync, dataDir: string): void {
  const found = db.prepare("SELECT value FROM meta WHERE name = 'dataVersion'").get()?.['value'];
  if (found === undefined) {
    db.prepare("INSERT INTO meta (name, value) VALUES ('dataVersion', ?)").run(String(dataVersion));
    return;
  }
  if (String(found) === String(dataVersion)) return;
  db.close();
  throw new AgentError(
    'failed_precondition',
    `the data directory ${dataDir} is of version ${String(found)}, this program reads version ${dataVersion}: use the program that wrote it, or another directory`,
  );
}

function openFailure(reason: unknown, dataDir: string): AgentError {
  const text = messageOf(reason);
  if (/locked|busy/i.test(text))
    return new AgentError(
      'failed_precondition',
      `the data directory ${dataDir} is in use by another process`,
      { cause: reason },
    );
  const denied = /EACCES|EPERM|EROFS|readonly|unable to open/i.test(text);
  return new AgentError(
    denied ? 'permission_denied' : 'internal',
    `the data directory ${dataDir} cannot be used: ${text}`,
    { cause: reason },
  );
}
