import type { IncomingMessage, ServerResponse } from 'node:http';
import {
  createServer,
  type Http2Server,
  Http2ServerRequest,
  Http2ServerResponse,
  type IncomingHttpHeaders,
  type ServerHttp2Stream,
} from 'node:http2';
import type { ReadableOptions } from 'node:stream';

/** Streams of one connection at a time, as with kube-apiserver; Go's clients open a further connection beyond it. */
const mostStreams = 100;

/** Memory of one connection's streams beyond which new ones are refused, MiB: lists that wait for their readers. */
const sessionMiB = 1024;

/** Headers that HTTP/2 does not have. */
const connectionHeader = /^(connection|keep-alive|proxy-connection|transfer-encoding|upgrade)$/i;

const isPseudo = (name: string): boolean => name.startsWith(':');

/** Request is a request over HTTP/2 with the members of one over HTTP/1 that handlers use. */
class Request extends Http2ServerRequest {
  constructor(
    stream: ServerHttp2Stream,
    headers: IncomingHttpHeaders,
    options: ReadableOptions,
    rawHeaders: readonly string[],
  ) {
    const authority = headers[':authority'];
    if (authority !== undefined) headers.host ??= authority;
    const raw = rawHeaders.filter((_text, i) => !isPseudo(rawHeaders[i - (i % 2)] ?? ''));
    const plain = authority === undefined ? raw : [...raw, 'host', authority];
    super(stream, headers, options, plain);
    // the pseudo headers stay behind: a proxy passes `headers` on, and they are no headers elsewhere
    const own = Object.entries(headers).filter(([name]) => !isPseudo(name));
    Object.defineProperty(this, 'headers', { value: Object.fromEntries(own) });
  }

  get headersDistinct(): NodeJS.Dict<string[]> {
    const distinct = Object.create(null) as NodeJS.Dict<string[]>;
    for (let i = 0; i + 1 < this.rawHeaders.length; i += 2) {
      const [name = '', value = ''] = this.rawHeaders.slice(i, i + 2);
      (distinct[name.toLowerCase()] ??= []).push(value);
    }
    return distinct;
  }
}

type Head = Readonly<Record<string, number | string | readonly string[]>>;

/** Response is a response over HTTP/2 that leaves out headers of HTTP/1 connections. */
class Response extends Http2ServerResponse<Request> {
  override writeHead(status: number, first?: unknown, second?: unknown): this {
    const headers = typeof first === 'string' ? second : first;
    super.writeHead(status, Object.fromEntries(entriesOf(headers)));
    return this;
  }
}

/** Returns the headers of a response: of an object, or of alternating names and values. */
function entriesOf(headers: unknown): readonly (readonly [string, string | string[]])[] {
  const pairs = Array.isArray(headers)
    ? paired(headers as readonly string[])
    : Object.entries((headers ?? {}) as Head);
  return pairs
    .filter(([name]) => !connectionHeader.test(name))
    .map(([name, value]) => [name, Array.isArray(value) ? (value as string[]) : String(value)] as const);
}

function paired(list: readonly string[]): [string, string | string[]][] {
  const found = new Map<string, string[]>();
  for (let i = 0; i + 1 < list.length; i += 2) {
    const [name = '', value = ''] = list.slice(i, i + 2);
    const key = name.toLowerCase();
    found.set(key, [...(found.get(key) ?? []), value]);
  }
  return [...found].map(([name, values]) => [name, values.length === 1 ? (values[0] ?? '') : values]);
}

/**
 * Returns a server of HTTP/2 that serves connections which another server accepts: pass each with `emit('connection', socket)`.
 *
 * @param handle receives requests and responses that behave as those over HTTP/1; `socket` of a request ends only its own stream
 */
export function http2Server(
  handle: (request: IncomingMessage, response: ServerResponse) => void,
): Http2Server {
  const server = createServer({
    Http2ServerRequest: Request,
    Http2ServerResponse: Response as unknown as typeof Http2ServerResponse,
    settings: { maxConcurrentStreams: mostStreams, initialWindowSize: 256 * 1024 },
    maxSessionMemory: sessionMiB,
  });
  server.on('request', (request, response) => {
    handle(request as unknown as IncomingMessage, response as unknown as ServerResponse);
  });
  server.on('sessionError', () => undefined);
  return server;
}
