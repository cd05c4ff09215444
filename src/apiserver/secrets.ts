import { createPrivateKey } from 'node:crypto';
import { closeSync, fsyncSync, mkdirSync, openSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '../base/clock.ts';
import { messageOf } from '../base/errors.ts';
import { Authority, type KeyPair } from '../pki/certificates.ts';
import { damaged, StorageError } from './storage/storage-error.ts';
import { validity } from './validity.ts';

/** Keys that are kept across runs. */
export interface Secrets {
  readonly ca: KeyPair;
  readonly tokenKey?: string;
}

function readSecret(dataDir: string | undefined, name: string): string | undefined {
  if (dataDir === undefined) return undefined;
  const file = join(dataDir, name);
  try {
    return readFileSync(file, 'utf8');
  } catch (reason) {
    if ((reason as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new StorageError('permission_denied', file, `cannot be read: ${messageOf(reason)}`, {
      cause: reason,
    });
  }
}

/** Parses a stored key. @throws {StorageError} naming its file when it is invalid */
export function readKey<T>(dataDir: string | undefined, name: string, read: () => T): T {
  try {
    return read();
  } catch (reason) {
    if (dataDir === undefined) throw reason;
    throw damaged(join(dataDir, name), messageOf(reason), reason);
  }
}

/** Writes a file atomically, readable only by its owner. */
export function saveSecret(dataDir: string | undefined, name: string, text: string): void {
  if (dataDir === undefined) return;
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  const file = join(dataDir, name);
  const handle = openSync(`${file}.new`, 'w', 0o600);
  writeFileSync(handle, text);
  fsyncSync(handle);
  closeSync(handle);
  renameSync(`${file}.new`, file);
}

/** Loads the keys of an earlier run, or creates them. @throws {StorageError} naming a file that is damaged or unreadable */
export function loadSecrets(dataDir: string | undefined, clock: Pick<Clock, 'now'>): Secrets {
  const pem = readSecret(dataDir, 'ca.pem');
  const tokenKey = readSecret(dataDir, 'service-account.key');
  // it is used later, but damage is reported at the start
  if (tokenKey !== undefined) readKey(dataDir, 'service-account.key', () => createPrivateKey(tokenKey));
  if (pem !== undefined) {
    const ca = readKey(dataDir, 'ca.pem', () => wholePem(pem));
    return { ca, ...(tokenKey !== undefined && { tokenKey }) };
  }
  const { cert, key } = Authority.create('podtender-ca', clock.now(), validity(clock, 10));
  saveSecret(dataDir, 'ca.pem', `${cert}${key}`);
  return { ca: { cert, key }, ...(tokenKey !== undefined && { tokenKey }) };
}

function wholePem(text: string): KeyPair {
  const pair = splitPem(text);
  if (!pair) throw new Error('it holds no certificate with its key');
  return pair;
}

function splitPem(text: string): KeyPair | undefined {
  const cert = /-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----\n?/.exec(text)?.[0];
  const key = /-----BEGIN (EC )?PRIVATE KEY-----[\s\S]*?-----END \1PRIVATE KEY-----\n?/.exec(text)?.[0];
  return cert !== undefined && key !== undefined ? { cert, key } : undefined;
}
