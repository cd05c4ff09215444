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
 * Records of pulls on disk, one file each, under the names and in the form of the kubelet's (`<root>/image_manager`), so that each reads
 * the other's. Follows `fsPullRecordsAccessor` (pkg/kubelet/images/pullmanager).
 */
export class PullRecordFiles {
  readonly #pulling: string;
  readonly #pulled: string;
  readonly #logger: Logger;

  /** Makes the folders. @throws {Error} they cannot be made */
  constructor(rootDir: string, logger: Logger) {
    this.#pulling = join(rootDir, 'image_manager', 'pulling');
    this.#pulled = join(rootDir, 'image_manager', 'pulled');
    this.#logger = logger;
    for (const dir of [this.#pulling, this.#pulled]) mkdirSync(dir, { recursive: true, mode: 0o700 });
  }

  writeIntent(image: string): void {
    write(this.#pulling, image, intentText(image));
  }

  /** @throws {Error} there is a file that cannot be read */
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

  /** @throws {Error} there is a file that cannot be read */
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

  /** Files that are no records are logged and passed over. */
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

/** Whole or not at all: a reader never sees half a file. */
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
