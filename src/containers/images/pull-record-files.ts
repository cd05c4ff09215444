import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { messageOf } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';
import { readIfThere } from '../../base/files/read-if-there.ts';
import {
  type ImagePulledRecord,
  intentText,
  pulledRecordText,
  readIntent,
  readPulledRecord,
} from './pull-record.ts';

const prefix = 'sha256-';

/**
 * PullRecordFiles stores pull records on disk, one file each, with the kubelet's names and format (`<root>/image_manager`), so that the
 * agent and a kubelet can read each other's records. Follows `fsPullRecordsAccessor` (pkg/kubelet/images/pullmanager).
 */
export class PullRecordFiles {
  readonly #pulling: string;
  readonly #pulled: string;
  readonly #logger: Logger;

  /** Creates the directories. @throws {Error} when they cannot be created */
  constructor(rootDir: string, logger: Logger) {
    this.#pulling = join(rootDir, 'image_manager', 'pulling');
    this.#pulled = join(rootDir, 'image_manager', 'pulled');
    this.#logger = logger;
    for (const dir of [this.#pulling, this.#pulled]) mkdirSync(dir, { recursive: true, mode: 0o700 });
  }

  writeIntent(image: string): void {
    write(this.#pulling, image, intentText(image));
  }

  /** True when a pull intent is recorded. @throws {Error} when the file cannot be read */
  hasIntent(image: string): boolean {
    const text = readIfThere(join(this.#pulling, fileName(image)));
    return text !== undefined && readIntent(text) === image;
  }

  deleteIntent(image: string): void {
    rmSync(join(this.#pulling, fileName(image)), { force: true });
  }

  intents(): readonly string[] {
    return this.#readAll(this.#pulling, readIntent);
  }

  /** Returns the record of a pulled image. @throws {Error} when the file cannot be read */
  pulled(imageRef: string): ImagePulledRecord | undefined {
    const text = readIfThere(join(this.#pulled, fileName(imageRef)));
    const record = text === undefined ? undefined : readPulledRecord(text);
    return record?.imageRef === imageRef ? record : undefined;
  }

  writePulled(record: ImagePulledRecord): void {
    write(this.#pulled, record.imageRef, pulledRecordText(record));
  }

  deletePulled(imageRef: string): void {
    rmSync(join(this.#pulled, fileName(imageRef)), { force: true });
  }

  allPulled(): readonly ImagePulledRecord[] {
    return this.#readAll(this.#pulled, readPulledRecord);
  }

  /** Reads all records; invalid files are logged and skipped. */
  #readAll<T>(dir: string, read: (text: string) => T): T[] {
    const names = readdirSync(dir).filter((name) => name.startsWith(prefix) && !name.endsWith('.tmp'));
    return names.flatMap((name) => {
      try {
        return [read(readFileSync(join(dir, name), 'utf8'))];
      } catch (reason) {
        this.#logger.warn('record of an image pull cannot be read', {
          file: join(dir, name),
          err: messageOf(reason),
        });
        return [];
      }
    });
  }
}

const fileName = (text: string): string => `${prefix}${createHash('sha256').update(text).digest('hex')}`;

/** Writes a file atomically through a temporary file. */
function write(dir: string, key: string, text: string): void {
  const path = join(dir, fileName(key));
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  try {
    writeFileSync(`${path}.tmp`, text, { mode: 0o600 });
    renameSync(`${path}.tmp`, path);
  } catch (reason) {
    rmSync(`${path}.tmp`, { force: true });
    throw reason;
  }
}
