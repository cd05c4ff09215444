import { StringDecoder } from 'node:string_decoder';
import { createSecureContext } from 'node:tls';
import type { Dispatcher } from 'undici';
// only the pool: loading it takes a third of the time of the whole of undici at process start
import Pool from 'undici/lib/dispatcher/pool.js';
import { machineAuthorities } from '../../pki/authorities.ts';
import type { Clock } from '../../base/clock.ts';
import { addressPatienceMs } from '../../base/host-port.ts';
import {
  type ApiConnection,
  type CredentialSource,
  type Credentials,
  fixedCredentials,
} from './connection.ts';
import { ApiError } from '../client.ts';
import { tunnelConnector } from './proxy-tunnel.ts';

/** One HTTP request; `path` includes its query. */
export interface HttpRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly signal?: AbortSignal;
  /** Timeout until the complete response (for a stream, its head) is received; absent: none. */
  readonly timeoutMs?: number;
  /** Whether the text of a success response is discarded. */
  readonly discardAnswer?: boolean;
  /** Maximum size of a response in bytes; a longer one fails. Default: {@link answerBytes}. */
  readonly mostBytes?: number;
  /** Converts the response's bytes, which it may modify, to text; for responses of one object. Default: all of them. */
  readonly textOf?: (bytes: Buffer) => string;
}

/** A complete response. */
export interface HttpAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
}

/** A response whose body is still being received. Leaving the loop over `body` cancels the request. */
export interface HttpStream {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: AsyncIterable<Buffer>;
}

/**
 * Bytes of a stream that may wait for their reader before the parser pauses, and the level at which it resumes. The two are far apart
 * because undici reads some 64 KiB more from the socket whenever it resumes, and joins them with all that it buffers: a parser that
 * pauses again after each event accumulates sixteen times what is read.
 */
const highWaterBytes = 1024 * 1024;
const lowWaterBytes = highWaterBytes / 4;
/** Maximum size of a response in bytes: ten times what an API server stores of one object. */
export const answerBytes: number = 32 * 1024 * 1024;

/** Sockets for calls; each watch has one of its own in addition. */
const defaultConnections = 16;

type Pools = Readonly<{ calls: Pool; streams: Pool; credentials: Credentials }>;

/**
 * Transport holds the shared connections to one API server: a bounded pool of kept-alive sockets for calls and an unbounded one for
 * watches, so that no number of watches can starve the calls. Pools are created on first use and again when a client certificate was
 * renewed or the trusted authorities changed; calls in flight on the old ones complete, watches break and are resumed by their reflectors
 * (kubelet `closeAllConns`).
 */
export class Transport {
  readonly #connection: ApiConnection;
  readonly #clock: Clock;
  readonly #connections: number;
  readonly #http2: boolean;
  readonly #credentials: CredentialSource;
  #pools: Pools | undefined;
  #closed = false;

  constructor(
    connection: ApiConnection,
    clock: Clock,
    options: { readonly connections?: number; readonly http2?: boolean } = {},
  ) {
    this.#connection = connection;
    this.#clock = clock;
    this.#connections = options.connections ?? defaultConnections;
    this.#http2 = options.http2 ?? false;
    this.#credentials = connection.credentials ?? fixedCredentials(connection);
  }

  /** @throws {ApiError} status 0 when no complete response was received */
  async send(request: HttpRequest): Promise<HttpAnswer> {
    const { calls, credentials } = await this.#ready();
    const answer = await new Exchange(request, this.#clock).collect(calls, credentials.headers);
    if (answer.status === 401) this.#credentials.invalidate();
    return answer;
  }

  /** Resolves once the response's head is received. @throws {ApiError} status 0 when there was none */
  async stream(request: HttpRequest): Promise<HttpStream> {
    const { streams, credentials } = await this.#ready();
    const answer = await new Exchange(request, this.#clock).open(streams, credentials.headers);
    if (answer.status === 401) this.#credentials.invalidate();
    return answer;
  }

  /** Closes every connection; requests in flight fail. */
  async close(): Promise<void> {
    this.#closed = true;
    const pools = this.#pools;
    this.#pools = undefined;
    await Promise.all([pools?.calls.destroy(), pools?.streams.destroy()]);
  }

  async #ready(): Promise<Pools> {
    if (this.#closed) throw unreachable('the API client is closed');
    const current = this.#credentials.current();
    const credentials = current instanceof Promise ? await current.catch(notAuthenticated) : current;
    const existing = this.#pools;
    if (existing?.credentials === credentials) return existing;
    if (existing && sameIdentity(existing.credentials, credentials))
      return (this.#pools = { ...existing, credentials });
    const fresh = { ...this.#makePools(credentials), credentials };
    this.#pools = fresh;
    if (existing) retire(existing);
    return fresh;
  }

  #makePools(credentials: Credentials): { calls: Pool; streams: Pool } {
    const { skipTlsVerify, tlsServerName, server, proxyUrl } = this.#connection;
    const { ca = this.#connection.ca, cert, key } = credentials;
    const isSecure = server.startsWith('https:');
    const trusted = ca ?? (isSecure && skipTlsVerify !== true ? machineAuthorities() : undefined);
    const connect = {
      timeout: 10_000,
      autoSelectFamilyAttemptTimeout: addressPatienceMs,
      keepAlive: true,
      keepAliveInitialDelay: 15_000,
      // Created once: it takes longer than the rest of a new connection.
      ...(isSecure && {
        secureContext: createSecureContext({ ca: trusted, cert, key }),
      }),
      ...(skipTlsVerify === true && { rejectUnauthorized: false }),
      ...(tlsServerName !== undefined && { servername: tlsServerName }),
    };
    const options: Pool.Options = {
      headersTimeout: 0,
      bodyTimeout: 0,
      keepAliveTimeout: 30_000,
      allowH2: this.#http2,
      connect:
        proxyUrl === undefined
          ? connect
          : tunnelConnector({
              proxy: new URL(proxyUrl),
              timeout: connect.timeout,
              connect: { ...connect, allowH2: this.#http2 },
              ...(ca !== undefined && { proxyCa: ca }),
            }),
    };
    const { origin } = new URL(server);
    return {
      calls: new Pool(origin, { ...options, connections: this.#http2 ? 1 : this.#connections }),
      streams: new Pool(origin, options),
    };
  }
}

/** Retires the connections that were made with earlier credentials. */
function retire({ calls, streams }: Pools): void {
  void calls.close();
  void streams.destroy(unreachable('the certificates were renewed'));
}

const sameIdentity = (a: Credentials, b: Credentials): boolean =>
  String(a.cert) === String(b.cert) && String(a.key) === String(b.key) && String(a.ca) === String(b.ca);

const notAuthenticated = (reason: unknown): never => {
  throw new ApiError(
    401,
    { message: `no credentials for the API server: ${text(reason)}` },
    { cause: reason },
  );
};

const text = (reason: unknown): string => (reason instanceof Error ? reason.message : String(reason));

/** Returns the error for a missing or incomplete response. */
export function unreachable(message: string, cause?: unknown): ApiError {
  return new ApiError(0, { message, reason: 'ServiceUnavailable' }, { cause });
}

/** The reason of the error for a response that is too long. */
export const tooLongReason = 'AnswerTooLong';

/** Returns the error for a response that exceeds the size limit. */
export const tooLong = (
  { method, path }: Pick<HttpRequest, 'method' | 'path'>,
  mostBytes: number,
): ApiError =>
  new ApiError(0, {
    message: `${method} ${path}: the answer is longer than ${mostBytes} bytes; it was cut`,
    reason: tooLongReason,
  });

const nothing = (): void => undefined;

/** Exchange is one request on the wire, from dispatch to the last byte, with its deadline and cancellation. */
class Exchange {
  readonly #request: HttpRequest;
  readonly #clock: Clock;
  #controller: Dispatcher.DispatchController | undefined;
  #failure: Error | undefined;
  #settled = false;
  #release: () => void = nothing;

  constructor(request: HttpRequest, clock: Clock) {
    this.#request = request;
    this.#clock = clock;
  }

  collect(pool: Pool, credentials: Readonly<Record<string, string>>): Promise<HttpAnswer> {
    return new Promise((resolve, reject) => {
      const { discardAnswer = false, textOf, mostBytes = answerBytes } = this.#request;
      let bytes = 0;
      const body = textOf ? new AnswerBytes(textOf) : new AnswerText();
      let status = 0;
      let headers: HttpAnswer['headers'] = {};
      this.#guard(reject);
      this.#dispatch(pool, credentials, {
        onResponseStart: (_controller, code, fields) => {
          status = code;
          headers = fields;
        },
        onResponseData: (_controller, chunk) => {
          bytes += chunk.length;
          if (bytes > mostBytes) this.#end(tooLong(this.#request, mostBytes), reject);
          else if (!discardAnswer || status >= 300) body.push(chunk);
        },
        onResponseEnd: () => {
          if (this.#settled) return;
          this.#settle();
          resolve({ status, headers, text: body.end() });
        },
        onResponseError: (_controller, error) => {
          this.#settle();
          reject(this.#failed(error));
        },
      });
    });
  }

  open(pool: Pool, credentials: Readonly<Record<string, string>>): Promise<HttpStream> {
    return new Promise((resolve, reject) => {
      const body = new BodyQueue((reason) => {
        this.#abort(reason);
      });
      this.#guard((reason) => {
        reject(reason);
        body.fail(reason);
      });
      this.#dispatch(pool, credentials, {
        onResponseStart: (controller, status, headers) => {
          body.controller = controller;
          // The body of an error response is read within the deadline; a stream may last.
          if (status < 300) this.#stopTimer();
          resolve({ status, headers, body });
        },
        onResponseData: (_controller, chunk) => {
          body.push(chunk);
        },
        onResponseEnd: () => {
          this.#settle();
          body.end();
        },
        onResponseError: (_controller, error) => {
          this.#settle();
          const failure = this.#failed(error);
          reject(failure);
          body.fail(failure);
        },
      });
    });
  }

  #dispatch(
    pool: Pool,
    credentials: Readonly<Record<string, string>>,
    handler: Omit<Dispatcher.DispatchHandler, 'onRequestStart'>,
  ): void {
    const { method, path, headers, body } = this.#request;
    if (this.#settled) return;
    pool.dispatch(
      // Without `reset`, undici gives up the connection after each DELETE that has a body.
      {
        method,
        path,
        headers: { ...headers, ...credentials },
        reset: false,
        ...(body !== undefined && { body }),
      },
      {
        ...handler,
        onRequestStart: (controller) => {
          this.#controller = controller;
          // unlike an abort, an error here leaves the connection to the requests that wait behind this one
          if (this.#failure) throw this.#failure;
        },
      },
    );
  }

  #stopTimer: () => void = nothing;

  /** Observes the caller's signal and the deadline until the exchange settles. */
  #guard(fail: (reason: Error) => void): void {
    const { signal, timeoutMs, method, path } = this.#request;
    const end = (reason: Error): void => {
      this.#end(reason, fail);
    };
    if (timeoutMs !== undefined) {
      this.#stopTimer = this.#clock.timer(timeoutMs, () => {
        end(
          new ApiError(504, {
            message: `${method} ${path}: no answer within ${timeoutMs} ms`,
            reason: 'Timeout',
          }),
        );
      });
    }
    const aborted = (): void => {
      end(cancelled(signal));
    };
    this.#release = () => {
      this.#stopTimer();
      signal?.removeEventListener('abort', aborted);
    };
    if (signal?.aborted) aborted();
    else signal?.addEventListener('abort', aborted, { once: true });
  }

  #end(reason: Error, fail: (reason: Error) => void): void {
    if (this.#settled) return;
    this.#settled = true;
    this.#abort(reason);
    this.#settle();
    fail(reason);
  }

  #abort(reason: Error): void {
    this.#failure = reason;
    this.#controller?.abort(reason);
  }

  /** Releases all references: an old response that V8 has not collected yet would keep whatever it reaches alive. */
  #settle(): void {
    this.#settled = true;
    this.#release();
    this.#release = this.#stopTimer = nothing;
    this.#controller = undefined;
  }

  #failed(error: Error): Error {
    if (this.#failure) return this.#failure;
    const { method, path } = this.#request;
    return unreachable(`${method} ${path}: ${error.message || error.name}`, error);
  }
}

/** Returns the caller's own reason if it is an error, as `AbortSignal` users expect. */
function cancelled(signal: AbortSignal | undefined): Error {
  return signal?.reason instanceof Error ? signal.reason : new Error('cancelled', { cause: signal?.reason });
}

/** Text of a response, mostly one chunk. Bytes are released at once: retained, they survive many garbage collections. */
class AnswerText {
  #only: Buffer | undefined;
  #text = '';
  #decoder: StringDecoder | undefined;

  push(chunk: Buffer): void {
    if (this.#decoder) this.#text += this.#decoder.write(chunk);
    else if (this.#only) {
      this.#decoder = new StringDecoder();
      this.#text = this.#decoder.write(this.#only) + this.#decoder.write(chunk);
      this.#only = undefined;
    } else this.#only = chunk;
  }

  end(): string {
    const only = this.#only;
    this.#only = undefined;
    return only ? only.toString() : this.#text + (this.#decoder?.end() ?? '');
  }
}

/** Bytes of a response that are converted as a whole. */
class AnswerBytes {
  readonly #textOf: (bytes: Buffer) => string;
  #chunks: Buffer[] = [];

  constructor(textOf: (bytes: Buffer) => string) {
    this.#textOf = textOf;
  }

  push(chunk: Buffer): void {
    this.#chunks.push(chunk);
  }

  end(): string {
    const chunks = this.#chunks;
    this.#chunks = [];
    return this.#textOf(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks));
  }
}

/** Bytes between the socket and their one reader; pauses the socket while too many wait. */
class BodyQueue implements AsyncIterableIterator<Buffer, undefined> {
  controller: Dispatcher.DispatchController | undefined;
  readonly #cancel: (reason: Error) => void;
  readonly #chunks: Buffer[] = [];
  #bytes = 0;
  #ended = false;
  #failure: Error | undefined;
  #reader: PromiseWithResolvers<IteratorResult<Buffer, undefined>> | undefined;

  constructor(cancel: (reason: Error) => void) {
    this.#cancel = cancel;
  }

  push(chunk: Buffer): void {
    const reader = this.#takeReader();
    if (reader) {
      reader.resolve({ done: false, value: chunk });
      return;
    }
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    if (this.#bytes > highWaterBytes) this.controller?.pause();
  }

  end(): void {
    this.#ended = true;
    this.#takeReader()?.resolve({ done: true, value: undefined });
  }

  fail(reason: Error): void {
    this.#failure ??= reason;
    this.#takeReader()?.reject(this.#failure);
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<IteratorResult<Buffer, undefined>> {
    const chunk = this.#chunks.shift();
    if (chunk) {
      this.#bytes -= chunk.length;
      if (this.#bytes <= lowWaterBytes && this.controller?.paused) this.controller.resume();
      return Promise.resolve({ done: false, value: chunk });
    }
    if (this.#failure) return Promise.reject(this.#failure);
    if (this.#ended) return Promise.resolve({ done: true, value: undefined });
    this.#reader = Promise.withResolvers();
    return this.#reader.promise;
  }

  return(): Promise<IteratorResult<Buffer, undefined>> {
    if (!this.#ended && !this.#failure) this.#cancel(new Error('the reader left'));
    return Promise.resolve({ done: true, value: undefined });
  }

  #takeReader(): PromiseWithResolvers<IteratorResult<Buffer, undefined>> | undefined {
    const reader = this.#reader;
    this.#reader = undefined;
    return reader;
  }
}
