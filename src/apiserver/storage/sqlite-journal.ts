import { accessSync, constants, mkdirSync, type Stats, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { AgentError, messageOf } from '../../base/errors.ts';
import { isObject, type JsonObject } from '../../apimachinery/json.ts';
import { damaged, StorageError } from './storage-error.ts';
import type { Journal, JournalRow, JournalWrite } from './store.ts';

/** The layout version of the database; a database of another version is rejected, never converted silently. */
export const dataVersion = 1;

const schema = `
CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS objects (storage TEXT NOT NULL, key TEXT NOT NULL, version INTEGER NOT NULL, json TEXT NOT NULL,
  PRIMARY KEY (storage, key)) WITHOUT ROWID;`;

/** Loads node:sqlite, only where data is stored. Suppresses Node.js' warning that this module is experimental, and no other. */
function sqlite(): typeof import('node:sqlite') {
  const emitWarning = process.emitWarning.bind(process);
  process.emitWarning = (warning: string | Error, ...details: never[]): void => {
    if (!String(warning).startsWith('SQLite is an experimental feature')) emitWarning(warning, ...details);
  };
  try {
    return createRequire(import.meta.url)('node:sqlite') as typeof import('node:sqlite');
  } finally {
    process.emitWarning = emitWarning;
  }
}

/**
 * SqliteJournal stores objects in an SQLite database in the data directory. Write-ahead log with `synchronous=FULL`: a commit returns
 * after fsync, so an acknowledged write survives `kill -9` and power loss. One process at a time: the database is locked exclusively.
 *
 * @throws {StorageError} `failed_precondition` for a database of another version, in use or damaged, `permission_denied` or `internal`
 * otherwise
 */
export class SqliteJournal implements Journal {
  readonly #file: string;
  readonly #db: DatabaseSync;
  readonly #put: StatementSync;
  readonly #remove: StatementSync;
  readonly #meta: StatementSync;

  /** @param sync whether a commit waits for the disk; without it a crash of the machine, not of the process, may lose writes */
  constructor(dataDir: string, sync = true) {
    this.#file = join(dataDir, 'objects.db');
    this.#db = open(this.#file, dataDir, sync);
    try {
      this.#put = this.#db.prepare(
        'INSERT INTO objects (storage, key, version, json) VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET version = excluded.version, json = excluded.json',
      );
      this.#remove = this.#db.prepare('DELETE FROM objects WHERE storage = ? AND key = ?');
      this.#meta = this.#db.prepare(
        'INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value',
      );
    } catch (reason) {
      this.#db.close();
      throw damaged(this.#file, messageOf(reason), reason);
    }
  }

  /** @throws {StorageError} `failed_precondition` for rows that are unreadable or not objects */
  load(): { readonly version: number; readonly rows: readonly JournalRow[] } {
    try {
      const found = this.#db.prepare("SELECT value FROM meta WHERE name = 'resourceVersion'").get();
      const version = Number(found?.['value'] ?? 1);
      if (!Number.isSafeInteger(version)) throw damaged(this.#file, 'its resourceVersion is no number');
      const rows = this.#db.prepare('SELECT storage, key, version, json FROM objects').all();
      const read = rows.map((row) => this.#rowOf(row));
      // never below a version that was served
      return { version: read.reduce((most, row) => Math.max(most, row.version), version), rows: read };
    } catch (reason) {
      this.#db.close();
      throw reason instanceof StorageError ? reason : damaged(this.#file, messageOf(reason), reason);
    }
  }

  #rowOf({ storage, key, version, json }: Readonly<Record<string, unknown>>): JournalRow {
    if (typeof storage !== 'string' || typeof key !== 'string' || typeof json !== 'string')
      throw damaged(this.#file, 'a row is not of text');
    const where = `${storage} ${JSON.stringify(key)}`;
    if (!Number.isSafeInteger(version)) throw damaged(this.#file, `the version of ${where} is no number`);
    return { storage, key, version: version as number, json, object: this.#objectOf(json, where) };
  }

  #objectOf(json: string, where: string): JsonObject {
    let object: unknown;
    try {
      object = JSON.parse(json);
    } catch (reason) {
      throw damaged(this.#file, `${where} is not JSON: ${messageOf(reason)}`, reason);
    }
    if (!isObject(object) || !isObject(object['metadata']))
      throw damaged(this.#file, `${where} is no object`);
    return object;
  }

  /** @throws {AgentError} `resource_exhausted` when the disk is full; {@link StorageError} for anything else */
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
      if (errcodeOf(reason) !== sqliteFull) throw failure(reason, this.#file, 'cannot be written');
      throw new AgentError('resource_exhausted', `objects cannot be kept: ${messageOf(reason)}`, {
        cause: reason,
      });
    }
  }

  close(): void {
    this.#db.close();
  }
}

/** `SQLITE_FULL`: the disk is full; nothing of the transaction was stored. */
const sqliteFull = 13;
const errcodeOf = (reason: unknown): unknown =>
  reason instanceof Error && 'errcode' in reason ? reason.errcode : undefined;

function open(file: string, dataDir: string, sync: boolean): DatabaseSync {
  let db: DatabaseSync | undefined;
  try {
    mkdirSync(dataDir, { recursive: true, mode: 0o700 });
    checkFiles(file, dataDir);
    const { DatabaseSync: Database } = sqlite();
    db = new Database(file);
    db.exec(
      `PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA synchronous = ${sync ? 'FULL' : 'OFF'}; PRAGMA busy_timeout = 200;`,
    );
    db.exec(schema);
    checkVersion(db, file);
    checkPages(db, file);
    return db;
  } catch (reason) {
    if (db?.isOpen) db.close();
    throw reason instanceof StorageError ? reason : openFailure(reason, file);
  }
}

const statOf = (path: string): Stats | undefined => statSync(path, { throwIfNoEntry: false });

function regular(path: string): Stats | undefined {
  const found = statOf(path);
  if (found && !found.isFile())
    throw damaged(path, found.isDirectory() ? 'it is a directory' : 'it is not a regular file');
  return found;
}

/** Rejects what SQLite would silently create anew: a used data directory must have a non-empty database. */
function checkFiles(file: string, dataDir: string): void {
  const found = regular(file);
  if (found?.size === 0 && statOf(join(dataDir, 'ca.pem')))
    throw damaged(file, 'it is empty, though the directory has been in use');
  // SQLite opens what it may only read, and calls the first lock of it a fault of the disk
  if (found) accessSync(file, constants.R_OK | constants.W_OK);
  const journal = `${file}-wal`;
  const left = regular(journal);
  if (!found && left && left.size > 0)
    throw damaged(file, `it is missing, but its journal ${journal} is there`);
}

function checkVersion(db: DatabaseSync, file: string): void {
  const found = db.prepare("SELECT value FROM meta WHERE name = 'dataVersion'").get()?.['value'];
  if (found === undefined) {
    const objects = db.prepare('SELECT count(*) AS count FROM objects').get()?.['count'];
    if (objects !== 0) throw damaged(file, 'it has objects, but no version');
    db.prepare("INSERT INTO meta (name, value) VALUES ('dataVersion', ?)").run(String(dataVersion));
    return;
  }
  if (String(found) === String(dataVersion)) return;
  throw new StorageError(
    'failed_precondition',
    file,
    `is of version ${String(found).slice(0, 60)}, this program reads version ${dataVersion}: use the program that wrote it, or another directory`,
  );
}

function checkPages(db: DatabaseSync, file: string): void {
  const [first] = db.prepare('PRAGMA quick_check(1)').all();
  const verdict = String(Object.values(first ?? {})[0] ?? 'no answer');
  if (verdict !== 'ok') throw damaged(file, verdict.replace(/\s+/g, ' '));
}

/** Primary result codes of SQLite; the bits above hold details. */
const results = {
  error: 1,
  perm: 3,
  busy: 5,
  locked: 6,
  readonly: 8,
  corrupt: 11,
  cannotOpen: 14,
  notADatabase: 26,
};

function openFailure(reason: unknown, file: string): StorageError {
  const text = messageOf(reason);
  const code = errcodeOf(reason);
  const result = typeof code === 'number' ? code & 0xff : 0;
  if (result === results.busy || result === results.locked)
    return new StorageError('failed_precondition', file, 'is in use by another process', { cause: reason });
  // a generic error means that the tables are not ours
  if ([results.corrupt, results.notADatabase, results.error].includes(result))
    return damaged(file, text, reason);
  return failure(reason, file, 'cannot be used');
}

/** What of SQLite and of the system means that the files are there and must not be used. */
const denials: ReadonlySet<unknown> = new Set([
  ...[results.perm, results.readonly, results.cannotOpen],
  ...['EACCES', 'EPERM', 'EROFS'],
]);

function failure(reason: unknown, file: string, what: string): StorageError {
  const code = errcodeOf(reason) ?? (reason as NodeJS.ErrnoException).code;
  const isDenied = denials.has(typeof code === 'number' ? code & 0xff : code);
  return new StorageError(
    isDenied ? 'permission_denied' : 'internal',
    file,
    `${what}: ${messageOf(reason)}`,
    {
      cause: reason,
    },
  );
}
