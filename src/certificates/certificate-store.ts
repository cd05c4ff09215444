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
 * Certificates with their keys in a folder: each in a dated file, `NAME-current.pem` a link to the newest. What was stored is whole whenever the
 * process ends. The files are small and seldom written: that is done at once.
 *
 * Follows client-go `certificate.FileStore`; the key of a request that is under way is in `NAME.key.tmp`, as kubelet's bootstrap has it.
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

  /** What is stored; nothing before the first. @throws {AgentError} `failed_precondition` when the file is none of ours */
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

  /** Makes it the current one. @param now for the name of its file, ms since the epoch */
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

  /** The key of the request that is under way, made and kept where there is none. */
  pendingKey(): string {
    const kept = this.keptKey();
    if (kept?.includes('PRIVATE KEY') === true) return kept;
    const key = createKey();
    this.#write(this.#path('key.tmp', '.'), key);
    return key;
  }

  /** The key of the request that was under way, if there is one. */
  keptKey(): string | undefined {
    return readIfThere(this.#path('key.tmp', '.'));
  }

  /** The request has come to its end: the next one has a key of its own. */
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
