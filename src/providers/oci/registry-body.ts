import type { Readable } from 'node:stream';
import { AgentError } from '../../base/errors.ts';

/**
 * Reads the whole body of a response.
 *
 * @param what the subject of the error message
 * @throws {AgentError} `invalid_argument` for a body beyond `maxBytes`, of which no more is read
 */
export async function readBody(body: Readable, maxBytes: number, what: string): Promise<Buffer> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of body as AsyncIterable<Buffer>) {
    parts.push(part);
    bytes += part.length;
    if (bytes > maxBytes) throw new AgentError('invalid_argument', `${what} has more than ${maxBytes} bytes`);
  }
  return Buffer.concat(parts);
}
