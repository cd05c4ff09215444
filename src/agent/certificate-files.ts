import { readFile } from 'node:fs/promises';
import type { KeyPair } from '../base/certificates.ts';
import type { Clock } from '../base/clock.ts';
import { messageOf } from '../base/errors.ts';
import type { Logger } from '../base/logger.ts';

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
