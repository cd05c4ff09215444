import { setOwn } from '../../base/own.ts';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { createGzip, gzip } from 'node:zlib';
import { isObject, textOf } from '../../apimachinery/json.ts';
import { auditOf } from '../request/audit-record.ts';
import { countingBytes, sentBytesOf } from '../request/sent-bytes.ts';
import type { Representation } from './negotiate.ts';
import { writeProtobuf } from '../../apimachinery/serializer/protobuf-writer.ts';
import { StatusError } from '../../apimachinery/status-error.ts';
import { toYaml } from '../../apimachinery/serializer/yaml-writer.ts';

const compress = promisify(gzip);
const gzipLeast = 128 * 1024;

/** Encodes a body as text, by default as JSON. */
export function encode(body: unknown, representation: Representation): string {
  if (representation.format === 'yaml') return toYaml(body);
  return representation.pretty ? JSON.stringify(body, null, 2) : `${JSON.stringify(body)}\n`;
}

/** Optional parts of a response. */
export interface Extras {
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  readonly warnings?: readonly string[];
}

/** Maximum characters of all warnings together; beyond it each one is cut. */
const mostWarned = 4096;
const cutAt = 256;

/**
 * Returns values of the `Warning` header. Go writes text there as UTF-8, and Node.js expects one character per byte.
 *
 * Follows apiserver `WithWarningRecorder`: without duplicates and control characters.
 */
export function warningHeaders(warnings: readonly string[]): string[] {
  const texts = [...new Set(warnings)]
    .filter((text) => text !== '' && !/\p{Cc}/u.test(text))
    .map((text) => Array.from(text));
  let size = 0;
  const beyond = texts.findIndex((text) => (size += text.length) > mostWarned);
  if (beyond < 0) return texts.map(warningHeader);
  size = 0;
  const out: string[] = [];
  for (const [at, text] of texts.entries()) {
    if (at > beyond && size >= mostWarned) break;
    const short = text.slice(0, cutAt);
    size += short.length;
    out.push(warningHeader(short));
  }
  return out;
}

const warningHeader = (text: readonly string[]): string =>
  Buffer.from(`299 - "${text.join('').replace(/["\\]/g, '\\$&')}"`).toString('latin1');

/** Deprecation warnings of a request's kind, which are sent with any response. */
const deprecated = new WeakMap<IncomingMessage, readonly string[]>();

/** Adds a deprecation warning to every response to this request. */
export function warnOf(request: IncomingMessage, warning: string | undefined): void {
  if (warning !== undefined) deprecated.set(request, [warning]);
}

const isZipped = ({ method, headers }: IncomingMessage, size: number): boolean =>
  size > gzipLeast && method === 'GET' && /\bgzip\b/.test(textOf(headers['accept-encoding']));

/** Returns the headers of a body, before its length. */
function headersOf(
  request: IncomingMessage,
  { type, extras }: { readonly type: string; readonly extras?: Extras },
): Record<string, string | string[]> {
  const headers: Record<string, string | string[]> = {
    'Cache-Control': 'no-cache, private',
    'Content-Type': type,
  };
  for (const [name, value] of Object.entries(extras?.headers ?? {}))
    setOwn(headers, name, value as string | string[]);
  const warnings = warningHeaders([...(deprecated.get(request) ?? []), ...(extras?.warnings ?? [])]);
  if (warnings.length > 0) headers['Warning'] = warnings;
  return headers;
}

const zippedHeaders = { 'Content-Encoding': 'gzip', Vary: 'Accept-Encoding' };

/** Sends a body that is text. */
export async function sendText(
  request: IncomingMessage,
  response: ServerResponse,
  answer: {
    readonly status: number;
    readonly type: string;
    readonly text: string | Buffer;
    readonly extras?: Extras;
  },
): Promise<void> {
  const headers = headersOf(request, answer);
  let body: string | Buffer = answer.text;
  if (isZipped(request, answer.text.length)) {
    body = await compress(answer.text, { level: 4 });
    const vary = headers['Vary'];
    Object.assign(headers, zippedHeaders);
    if (vary !== undefined) headers['Vary'] = [zippedHeaders.Vary, String(vary)];
  }
  // Node.js writes headers in the encoding of a text body: only before a Buffer is one character one byte
  if (headers['Warning'] !== undefined) body = Buffer.from(body);
  const length = Buffer.byteLength(body);
  headers['Content-Length'] = String(length);
  sentBytesOf(response).bytes = length;
  response.writeHead(answer.status, headers);
  response.end(request.method === 'HEAD' ? '' : body);
}

/** Characters from which on a body is sent while it is made. */
const streamedFrom = 1024 * 1024;

/** Sends a body that consists of pieces of text: a large one piece by piece, as fast as its client reads, without holding it as a whole. */
export async function sendPieces(
  request: IncomingMessage,
  response: ServerResponse,
  { type, pieces }: { readonly type: string; readonly pieces: Iterator<string> },
): Promise<void> {
  const first: string[] = [];
  for (let size = 0; size <= streamedFrom;) {
    const next = pieces.next();
    if (next.done) return sendText(request, response, { status: 200, type, text: first.join('') });
    first.push(next.value);
    size += next.value.length;
  }
  const zips = isZipped(request, streamedFrom);
  response.writeHead(200, { ...headersOf(request, { type }), ...(zips && zippedHeaders) });
  const body = Readable.from(buffers(first, pieces));
  const counting = countingBytes(response);
  const sent = zips
    ? pipeline(body, createGzip({ level: 4 }), counting, response)
    : pipeline(body, counting, response);
  await sent.catch(() => response.destroy()); // the client has gone
}

function* buffers(first: readonly string[], rest: Iterator<string>): Iterable<Buffer> {
  for (const piece of first) yield Buffer.from(piece);
  for (let next = rest.next(); !next.done; next = rest.next()) yield Buffer.from(next.value);
}

/** Encodes a body in the negotiated format; without a protobuf message as JSON. */
function encoded(
  body: unknown,
  representation: Representation,
): { readonly type: string; readonly text: string | Buffer } {
  const message = representation.format === 'protobuf' && isObject(body) ? writeProtobuf(body) : undefined;
  if (message) return { type: 'application/vnd.kubernetes.protobuf', text: message };
  const type = representation.format === 'yaml' ? 'application/yaml' : 'application/json';
  return { type, text: encode(body, representation) };
}

export const sendBody = (
  request: IncomingMessage,
  response: ServerResponse,
  answer: {
    readonly status: number;
    readonly body: unknown;
    readonly representation: Representation;
    readonly extras?: Extras;
  },
): Promise<void> => {
  auditOf(request)?.answers(answer.body);
  return sendText(request, response, {
    status: answer.status,
    ...encoded(answer.body, answer.representation),
    ...(answer.extras && { extras: answer.extras }),
  });
};

const plainJson: Representation = { format: 'json', pretty: false };

/** Sends an error as a Status; anything but a StatusError is an internal error. */
export async function sendError(
  request: IncomingMessage,
  response: ServerResponse,
  reason: StatusError,
  more: { readonly representation?: Representation; readonly extras?: Extras } = {},
): Promise<void> {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  await sendBody(request, response, {
    status: reason.code,
    body: reason.body,
    representation: more.representation ?? plainJson,
    extras: { ...more.extras, headers: { ...reason.headers, ...more.extras?.headers } },
  });
}
