import {
  closeSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import { createKey } from '../pki/certificates.ts';
import { AgentError, messageOf } from '../base/errors.ts';
import { readIfThere } from '../base/files/read-if-there.ts';
import { type Certificate, readCertificate } from './certificate.ts';

/**
 * CertificateStore stores certificates with their keys in a directory: each in a dated file, with `NAME-current.pem` as a link to the
 * newest. Writes are atomic.
 * Calls are synchronous, as the files are small and rarely written.
 *
 * Follows client-go `certificate.FileStore`; the key of a pending request is in `NAME.key.tmp`, as in kubelet's bootstrap.
 */
export class CertificateStore {
  readonly #dir: string;
  readonly #name: string;

  /** @param name `kubelet-client` or `kubelet-server` */
  constructor(dir: string, name: string) {
    this.#dir = dir;
    this.#name = name;
  }

  get currentPath(): string {
    return this.#path('current.pem', '-');
  }

  /**
   * Returns the stored certificate; `undefined` before the first. @throws {AgentError} `failed_precondition` when the file is not a
   * certificate file
   */
  current(): Certificate | undefined {
    const text = readIfThere(this.currentPath);
    if (text === undefined) return undefined;
    try {
      return readCertificate(text);
    } catch (cause) {
      const message = `${this.currentPath} cannot be used: ${messageOf(cause)}`;
      throw new AgentError('failed_precondition', message, { cause });
    }
  }

  /** Stores the certificate as the current one. @param now ms since the epoch, for the file name */
  update({ cert, key }: Pick<Certificate, 'cert' | 'key'>, now: number): void {
    const current = lstatSync(this.currentPath, { throwIfNoEntry: false });
    if (current && !current.isSymbolicLink())
      throw new AgentError(
        'failed_precondition',
        `${this.currentPath} is not a link: it was put there by hand`,
      );
    const dated = new Date(now).toISOString().slice(0, 19).replace(/[T:]/g, '-');
    const file = this.#path(`${dated}.pem`, '-');
    this.#write(file, cert.endsWith('\n') ? cert + key : `${cert}\n${key}`);
    const next = this.#path('updated.pem', '-');
    rmSync(next, { force: true });
    symlinkSync(basename(file), next);
    renameSync(next, this.currentPath);
    this.dropPendingKey();
  }

  /** Returns the key of the pending request; creates and stores one when there is none. */
  pendingKey(): string {
    const existing = this.keptKey();
    if (existing?.includes('PRIVATE KEY') === true) return existing;
    const key = createKey();
    this.#write(this.#path('key.tmp', '.'), key);
    return key;
  }

  /** Returns the key of the pending request; `undefined` when there is none. */
  keptKey(): string | undefined {
    return readIfThere(this.#path('key.tmp', '.'));
  }

  /** Deletes the key of a completed request; the next one gets a new key. */
  dropPendingKey(): void {
    rmSync(this.#path('key.tmp', '.'), { force: true });
  }

  #path(end: string, by: string): string {
    return join(this.#dir, `${this.#name}${by}${end}`);
  }

  #write(path: string, text: string): void {
    mkdirSync(this.#dir, { recursive: true, mode: 0o755 });
    const part = `${path}.part`;
    rmSync(part, { force: true });
    const file = openSync(part, 'wx', 0o600);
    try {
      writeSync(file, text);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    renameSync(part, path);
  }
}
