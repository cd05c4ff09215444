import { X509Certificate } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { KeyPair } from '../pki/certificates.ts';
import type { Clock } from '../base/clock.ts';
import { messageOf } from '../base/errors.ts';
import type { Logger } from '../base/logger.ts';
import { selfSigned } from '../pki/self-signed.ts';

/** Files of a serving certificate and its key, PEM. */
export interface CertificateFiles {
  readonly certFile: string;
  readonly keyFile: string;
}

/** Interval of checking the files, ms; the kubelet uses inotify, or checks once a minute. */
const periodMs = 5000;

export async function readPair({ certFile, keyFile }: CertificateFiles): Promise<KeyPair> {
  const [cert, key] = await Promise.all([readFile(certFile, 'utf8'), readFile(keyFile, 'utf8')]);
  return { cert, key };
}

/** Reads a CA file. @throws when it does not exist, or contains no certificate */
export async function readClientCa(file: string): Promise<string> {
  const text = await readFile(file, 'utf8');
  new X509Certificate(text);
  return text;
}

interface FollowDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

interface Followed<T> {
  readonly file: string;
  readonly read: () => Promise<T>;
  readonly isSame: (a: T, b: T) => boolean;
  readonly use: (value: T) => void;
}

/** Calls `use` with each new content until `signal` aborts. Errors are logged, and the previous content stays in use. */
async function follow<T>(
  { file, read, isSame, use }: Followed<T>,
  first: T,
  deps: FollowDeps,
): Promise<void> {
  const { clock, logger, signal } = deps;
  let current = first;
  for (;;) {
    await clock.sleep(periodMs, signal).catch(() => undefined);
    if (signal.aborted) return;
    try {
      const value = await read();
      if (isSame(value, current)) continue;
      use(value);
      current = value;
    } catch (reason) {
      logger.error('new certificates cannot be used', { file, err: messageOf(reason) });
    }
  }
}

/** Calls `renew` with each new serving pair. */
export const followPair = (
  files: CertificateFiles,
  first: KeyPair,
  renew: (pair: KeyPair) => void,
  deps: FollowDeps,
): Promise<void> =>
  follow(
    {
      file: files.certFile,
      read: () => readPair(files),
      isSame: (a, b) => a.cert === b.cert && a.key === b.key,
      use: renew,
    },
    first,
    deps,
  );

/** Calls `trust` with each new bundle of client authorities (gate ReloadKubeletClientCAFile). */
export const followClientCa = (
  file: string,
  first: string,
  trust: (clientCa: string) => void,
  deps: FollowDeps,
): Promise<void> =>
  follow({ file, read: () => readClientCa(file), isSame: (a, b) => a === b, use: trust }, first, deps);

/**
 * Returns the self-signed pair of a directory (`kubelet.crt`, `kubelet.key`), creating it when there is no valid one.
 *
 * Follows kubelet `InitializeTLS`.
 */
export function selfSignedIn(dir: string, nodeName: string, now: number): KeyPair {
  const [certFile, keyFile] = [join(dir, 'kubelet.crt'), join(dir, 'kubelet.key')];
  const existing = readStored(certFile, keyFile, now);
  if (existing) return existing;
  const pair = selfSigned(nodeName, now);
  mkdirSync(dir, { recursive: true, mode: 0o755 });
  writeFileSync(certFile, pair.cert, { mode: 0o644 });
  writeFileSync(keyFile, pair.key, { mode: 0o600 });
  return pair;
}

function readStored(certFile: string, keyFile: string, now: number): KeyPair | undefined {
  try {
    const pair = { cert: readFileSync(certFile, 'utf8'), key: readFileSync(keyFile, 'utf8') };
    return Date.parse(new X509Certificate(pair.cert).validTo) > now ? pair : undefined;
  } catch {
    return undefined;
  }
}
