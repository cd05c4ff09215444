import type { IncomingMessage, ServerResponse } from 'node:http';
import type { JsonObject } from '../../apimachinery/json.ts';
import { AgentError } from '../../base/errors.ts';

/** A request that is answered with an HTTP status. */
export class BodyError extends Error {
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

/**
 * Reads the JSON text of a request.
 *
 * @throws {BodyError} 400 for an empty body or another content type, 413 above `limit` bytes
 */
export async function readJsonText(request: IncomingMessage, limit: number): Promise<string> {
  if (Number(request.headers['content-length'] ?? 0) > limit) throw tooLarge(limit);
  const body = await bytesOf(request, limit);
  if (body.length === 0) throw new BodyError(400, 'request body is empty');
  const type = request.headers['content-type'] ?? '';
  if (type !== 'application/json' && type.split(';')[0]?.trim().toLowerCase() !== 'application/json')
    throw new BodyError(400, `contentType=${type}, expected application/json`);
  return body.toString('utf8');
}

const tooLarge = (limit: number): BodyError =>
  new BodyError(413, `request entity is too large; limit is ${limit} bytes`);

/** Reads a body by its events: the iterator of a stream costs more than the body of most requests. */
function bytesOf(request: IncomingMessage, limit: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    request.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size <= limit) {
        chunks.push(chunk);
        return;
      }
      chunks.length = 0;
      request.pause();
      reject(tooLarge(limit));
    });
    request.on('end', () => {
      const [first] = chunks;
      resolve(first && chunks.length === 1 ? first : Buffer.concat(chunks));
    });
    request.on('error', reject);
    request.on('close', () => {
      if (!request.complete) reject(new AgentError('cancelled', 'the client has gone'));
    });
  });
}

/** Answers with JSON; what has not been read of the request is not waited for. */
export function writeJson(
  request: IncomingMessage,
  response: ServerResponse,
  { status = 200, body }: { readonly status?: number; readonly body: JsonObject },
): void {
  const text = JSON.stringify(body);
  response.writeHead(status, {
    'Content-Type': 'application/json',
    'Content-Length': Buffer.byteLength(text),
    ...(!request.complete && { Connection: 'close' }),
  });
  response.end(text);
}
