import { once } from 'node:events';
import {
  type ClientHttp2Session,
  connect,
  createServer,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import { connect as connectSocket } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { decode, encode } from '../../src/providers/cri/codec.ts';
import { type UnaryMethods, unaryMethods } from '../../src/providers/cri/gen/methods.ts';

export type CriMethod = keyof UnaryMethods;

/** The fault of one call. */
export type CriFault =
  /** The call fails without reaching the runtime. */
  | { readonly kind: 'fail'; readonly code?: number; readonly message?: string }
  /** The runtime executes the call, but its response is lost. */
  | { readonly kind: 'lose'; readonly code?: number; readonly message?: string }
  /** The call does not reach the runtime and gets no response. */
  | { readonly kind: 'hang' }
  /** The runtime executes the call, and the response is changed. */
  | { readonly kind: 'answer'; readonly change: (answer: Record<string, unknown>) => object };

/** One call, as it comes. */
export interface CriCall {
  readonly method: CriMethod;
  readonly request: Record<string, unknown>;
}

const frame = (message: Buffer): Buffer => {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
};

/** CriProxy is a proxy between an agent and its runtime, on its own socket, that applies `faultOf` to each call. */
export class CriProxy {
  /** Returns the fault of a call; `undefined` forwards the call unchanged. */
  faultOf: (call: CriCall) => CriFault | undefined = () => undefined;
  readonly #runtime: string;
  readonly #server = createServer();
  readonly #sessions = new Set<ServerHttp2Session>();
  #upstream: ClientHttp2Session | undefined;

  private constructor(runtime: string) {
    this.#runtime = runtime;
    this.#server.on('session', (session) => this.#sessions.add(session));
    this.#server.on('stream', (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => {
      stream.on('error', () => undefined);
      void this.#serve(stream, headers[':path'] ?? '').catch(() => {
        stream.close();
      });
    });
  }

  /** @param runtime the runtime's socket */
  static async start(runtime: string, socket: string): Promise<CriProxy> {
    const proxy = new CriProxy(runtime);
    proxy.#server.listen(socket);
    await once(proxy.#server, 'listening');
    return proxy;
  }

  stop(): void {
    this.#upstream?.destroy();
    for (const session of this.#sessions) session.destroy();
    this.#server.close();
  }

  async #serve(stream: ServerHttp2Stream, path: string): Promise<void> {
    const body = await buffer(stream);
    const method = path.split('/').at(-1) as CriMethod;
    const row = unaryMethods[method];
    const request = decode(row.request, body.subarray(5)) as Record<string, unknown>;
    const fault = this.faultOf({ method, request });
    if (fault?.kind === 'hang') return;
    if (fault?.kind === 'fail') {
      end(stream, fault.code ?? 2, fault.message ?? 'injected fault');
      return;
    }
    const answer = await this.#ask(path, body);
    if (fault?.kind === 'lose') {
      end(stream, fault.code ?? 2, fault.message ?? 'injected fault');
      return;
    }
    if (fault?.kind === 'answer' && answer.status === 0) {
      const changed = fault.change(decode(row.response, answer.body.subarray(5)) as Record<string, unknown>);
      end(stream, 0, '', frame(encode(row.response, changed)));
    } else end(stream, answer.status, answer.message, answer.body);
  }

  async #ask(
    path: string,
    body: Buffer,
  ): Promise<{ readonly status: number; readonly message: string; readonly body: Buffer }> {
    if (!this.#upstream || this.#upstream.destroyed) {
      const session = connect('http://localhost', { createConnection: () => connectSocket(this.#runtime) });
      session.on('error', () => undefined);
      this.#upstream = session;
    }
    const call = this.#upstream.request({
      ':method': 'POST',
      ':path': path,
      'content-type': 'application/grpc',
      te: 'trailers',
    });
    let received: IncomingHttpHeaders = {};
    const note = (headers: IncomingHttpHeaders): void => {
      received = { ...received, ...headers };
    };
    call.on('response', note).on('trailers', note);
    call.end(body);
    const answer = await buffer(call);
    return {
      status: Number(received['grpc-status'] ?? 2),
      message: decodeURI(String(received['grpc-message'] ?? '')),
      body: answer,
    };
  }
}

function end(stream: ServerHttp2Stream, status: number, message: string, body?: Buffer): void {
  if (stream.destroyed) return;
  stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
  stream.on('wantTrailers', () => {
    stream.sendTrailers({ 'grpc-status': String(status), 'grpc-message': encodeURI(message) });
  });
  stream.end(body ?? Buffer.alloc(0));
}
