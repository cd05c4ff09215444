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
import { setOwn } from '../base/own.ts';

/** Streams of one connection at a time, as with kube-apiserver; Go's clients open a further connection beyond it. */
const mostStreams = 100;

/** Memory of one connection's streams beyond which new ones are refused, MiB: lists that wait for their readers. */
const sessionMiB = 1024;

/** Headers that HTTP/2 does not have. */
const connectionHeader = /^(connection|keep-alive|proxy-connection|transfer-encoding|upgrade)$/i;

const isPseudo = (name: string): boolean => name.codePointAt(0) === colon;
const colon = 58;

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
    super(stream, headers, options, plainHeaders(rawHeaders, authority));
    // the pseudo headers stay behind: a proxy passes `headers` on, and they are no headers elsewhere
    const own: IncomingHttpHeaders = {};
    for (const [name, value] of Object.entries(headers)) if (!isPseudo(name)) setOwn(own, name, value);
    Object.defineProperty(this, 'headers', { value: own });
  }

  get headersDistinct(): NodeJS.Dict<string[]> {
    const distinct = Object.create(null) as NodeJS.Dict<string[]>;
    const { rawHeaders } = this;
    for (let i = 0; i + 1 < rawHeaders.length; i += 2)
      (distinct[rawHeaders[i]?.toLowerCase() ?? ''] ??= []).push(rawHeaders[i + 1] ?? '');
    return distinct;
  }
}

/** Returns alternating names and values without pseudo headers, with `host` in place of `:authority`. */
function plainHeaders(raw: readonly string[], authority: string | undefined): string[] {
  const plain: string[] = [];
  for (let i = 0; i + 1 < raw.length; i += 2)
    if (!isPseudo(raw[i] ?? '')) plain.push(raw[i] ?? '', raw[i + 1] ?? '');
  if (authority !== undefined) plain.push('host', authority);
  return plain;
}

/**
 * Returns an object that stands for the connection of a request: the same for all of its requests. Over HTTP/2 `socket` is another object for each
 * of them.
 */
export const connectionOf = (request: IncomingMessage): object =>
  (request as { readonly stream?: ServerHttp2Stream }).stream?.session ?? request.socket;

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
