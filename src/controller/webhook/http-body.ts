import type { IncomingMessage, ServerResponse } from 'node:http';
import type { JsonObject } from '../../apimachinery/json.ts';

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
  const tooLarge = (): BodyError =>
    new BodyError(413, `request entity is too large; limit is ${limit} bytes`);
  if (Number(request.headers['content-length'] ?? 0) > limit) throw tooLarge();
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > limit) throw tooLarge();
    chunks.push(chunk);
  }
  if (size === 0) throw new BodyError(400, 'request body is empty');
  const type = request.headers['content-type'] ?? '';
  if (type.split(';')[0]?.trim().toLowerCase() !== 'application/json')
    throw new BodyError(400, `contentType=${type}, expected application/json`);
  return Buffer.concat(chunks).toString('utf8');
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
