import { X509Certificate } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { KeyPair } from '../pki/certificates.ts';
import type { Clock } from '../base/clock.ts';
import { messageOf } from '../base/errors.ts';
import type { Logger } from '../base/logger.ts';
import { selfSigned } from '../pki/self-signed.ts';

/** Where a serving certificate and its key lie, PEM. */
export interface CertificateFiles {
  readonly certFile: string;
  readonly keyFile: string;
}

/** How often the files are looked at, ms: the kubelet is told of changes, or looks once a minute. */
const periodMs = 5000;

export async function readPair({ certFile, keyFile }: CertificateFiles): Promise<KeyPair> {
  const [cert, key] = await Promise.all([readFile(certFile, 'utf8'), readFile(keyFile, 'utf8')]);
  return { cert, key };
}

/** @throws when there is no such file, or no certificate in it */
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

/** Calls `use` with each new content until `signal` aborts. What cannot be read or used is reported, and the old content stays. */
async function follow<T>(
  { file, read, isSame, use }: Followed<T>,
  first: T,
  deps: FollowDeps,
): Promise<void> {
  const { clock, logger, signal } = deps;
  let known = first;
  for (;;) {
    await clock.sleep(periodMs, signal).catch(() => undefined);
    if (signal.aborted) return;
    try {
      const value = await read();
      if (isSame(value, known)) continue;
      use(value);
      known = value;
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
 * The self-signed pair of a folder (`kubelet.crt`, `kubelet.key`), made where there is none that is in force.
 *
 * Follows kubelet `InitializeTLS`.
 */
export function selfSignedIn(dir: string, nodeName: string, now: number): KeyPair {
  const [certFile, keyFile] = [join(dir, 'kubelet.crt'), join(dir, 'kubelet.key')];
  const kept = readKept(certFile, keyFile, now);
  if (kept) return kept;
  const made = selfSigned(nodeName, now);
  mkdirSync(dir, { recursive: true, mode: 0o755 });
  writeFileSync(certFile, made.cert, { mode: 0o644 });
  writeFileSync(keyFile, made.key, { mode: 0o600 });
  return made;
}

function readKept(certFile: string, keyFile: string, now: number): KeyPair | undefined {
  try {
    const pair = { cert: readFileSync(certFile, 'utf8'), key: readFileSync(keyFile, 'utf8') };
    return Date.parse(new X509Certificate(pair.cert).validTo) > now ? pair : undefined;
  } catch {
    return undefined;
  }
}
