import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { AgentError, messageOf } from '../../base/errors.ts';
import { selfSigned } from '../../pki/self-signed.ts';

/**
 * Reads `tls.crt` and `tls.key` of a folder; without a folder, makes a self-signed certificate.
 *
 * @throws {AgentError} `invalid_argument` when a file cannot be read
 */
export async function certificate(
  certDir: string | undefined,
  now: number,
): Promise<{ readonly cert: string; readonly key: string }> {
  if (certDir === undefined) return selfSigned('localhost', now);
  try {
    const [cert, key] = await Promise.all(
      ['tls.crt', 'tls.key'].map((name) => readFile(join(certDir, name), 'utf8')),
    );
    return { cert: cert ?? '', key: key ?? '' };
  } catch (reason) {
    throw new AgentError(
      'invalid_argument',
      `certDir ${certDir}: tls.crt and tls.key are required: ${messageOf(reason)}`,
      { cause: reason },
    );
  }
}
