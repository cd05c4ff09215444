import { X509Certificate } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { KeyPair } from '../base/certificates.ts';
import type { Clock } from '../base/clock.ts';
import { messageOf } from '../base/errors.ts';
import type { Logger } from '../base/logger.ts';
import { selfSigned } from '../server/kubelet-server.ts';

/** Where a serving certificate and its key lie, PEM. */
export interface CertificateFiles {
  readonly certFile: string;
  readonly keyFile: string;
}

/** How often the files are looked at, ms. */
const periodMs = 60_000;

export async function readPair({ certFile, keyFile }: CertificateFiles): Promise<KeyPair> {
  const [cert, key] = await Promise.all([readFile(certFile, 'utf8'), readFile(keyFile, 'utf8')]);
  return { cert, key };
}

/** Calls `renew` with each new pair until `signal` aborts. A pair that cannot be read or used is reported, and the old one stays. */
export async function followPair(
  files: CertificateFiles,
  first: KeyPair,
  renew: (pair: KeyPair) => void,
  { clock, logger, signal }: { readonly clock: Clock; readonly logger: Logger; readonly signal: AbortSignal },
): Promise<void> {
  let known = first;
  for (;;) {
    await clock.sleep(periodMs, signal).catch(() => undefined);
    if (signal.aborted) return;
    try {
      const pair = await readPair(files);
      if (pair.cert === known.cert && pair.key === known.key) continue;
      renew(pair);
      known = pair;
    } catch (reason) {
      logger.error('the new serving certificate cannot be used', {
        file: files.certFile,
        err: messageOf(reason),
      });
    }
  }
}

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
