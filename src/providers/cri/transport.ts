import type { ClientHttp2Session } from 'node:http2';
import type { Clock } from '../../base/clock.ts';
import { AgentError, messageOf } from '../../base/errors.ts';
import type { CallOptions } from '../../provider/container-runtime.ts';
import { GrpcCall } from './call.ts';
import { decode, encode } from './codec.ts';
import { Connection } from './connection.ts';
import { criError, GrpcError } from './errors.ts';
import type { MethodRow } from './gen/methods.ts';
import { framed, framePrefixBytes, MessageSplitter } from './grpc-messages.ts';

/** How one call goes out. */
export interface WireOptions extends CallOptions {
  /** Sent along as gRPC metadata. */
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * gRPC to a runtime's socket, over one connection that is made at the first call and anew whenever it was lost. Calls made while the
 * runtime is away fail at once with `unavailable`.
 */
export class CriTransport {
  readonly #socket: string;
  readonly #clock: Clock;
  readonly #connection: Connection;
  #isClosed = false;

  constructor(socket: string, clock: Clock) {
    this.#socket = socket;
    this.#clock = clock;
    this.#connection = new Connection(socket);
  }

  /** One request, one answer. @throws {AgentError} with the text of {@link criError} */
  async unary(row: MethodRow, request: object, options: WireOptions): Promise<object> {
    try {
      const session = await this.#session(options);
      return decode(row.response, await this.#answer(session, row, request, options));
    } catch (reason) {
      throw this.#errorOf(reason);
    }
  }

  /** One request, answers until the runtime or `signal` ends them. @throws {AgentError} with the text of {@link criError} */
  async *stream(row: MethodRow, request: object, options: CallOptions): AsyncGenerator<object, void> {
    let call: GrpcCall | undefined;
    let over: (() => void) | undefined;
    try {
      const session = await this.#session(options);
      call = callOf(session, row, request, options);
      over = this.#bound(call, session, options);
      const messages = new MessageSplitter();
      for await (const chunk of call.stream)
        for (const message of messages.push(chunk as Buffer)) yield decode(row.response, message);
      if (call.status.code !== 0) throw new GrpcError(call.status);
    } catch (reason) {
      const isTold = reason instanceof GrpcError || reason instanceof AgentError;
      throw this.#errorOf(isTold || !call ? reason : new GrpcError(call.status));
    } finally {
      call?.fail(cancelled);
      over?.();
    }
  }

  /** Ends the connection; calls in flight fail, later ones too. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#connection.close();
  }

  /** @throws {GrpcError} why no call can be made */
  async #session({ signal }: CallOptions): Promise<ClientHttp2Session> {
    if (this.#isClosed) throw new GrpcError(closing);
    if (signal?.aborted) throw new GrpcError(cancelled);
    return this.#connection.session();
  }

  /** @throws {GrpcError} how the call failed */
  #answer(
    session: ClientHttp2Session,
    row: MethodRow,
    request: object,
    options: WireOptions,
  ): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      const call = callOf(session, row, request, options);
      const over = this.#bound(call, session, options);
      const messages = new MessageSplitter();
      let answer: Buffer | undefined;
      const settle = (): void => {
        over();
        const { status } = call;
        if (status.code !== 0) reject(new GrpcError(status));
        else if (answer) resolve(answer);
        else reject(new GrpcError(noAnswer));
      };
      call.stream
        .on('data', (chunk: Buffer) => {
          try {
            const [message] = messages.push(chunk);
            answer ??= message;
          } catch (reason) {
            call.fail(reason as GrpcError);
          }
        })
        .once('trailers', () => {
          if (answer) settle();
        })
        .once('close', settle);
    });
  }

  /** Ends a call at its deadline or by its signal; call the result when it is over. */
  #bound(call: GrpcCall, session: ClientHttp2Session, { signal, timeoutMs }: CallOptions): () => void {
    const release = this.#connection.hold(session);
    const cancel = (): void => {
      call.fail(cancelled);
    };
    signal?.addEventListener('abort', cancel, { once: true });
    const stopTimer =
      timeoutMs === undefined
        ? undefined
        : this.#clock.timer(timeoutMs, () => {
            call.fail(expired);
          });
    return () => {
      release();
      stopTimer?.();
      signal?.removeEventListener('abort', cancel);
    };
  }

  /** A connection that cannot be made, or is lost, is no fault of the call. */
  #errorOf(reason: unknown): AgentError {
    if (reason instanceof AgentError) return reason;
    if (this.#isClosed && reason instanceof GrpcError && reason.code === unavailable)
      return criError(closing, this.#socket);
    const failure =
      reason instanceof GrpcError ? reason : new GrpcError({ code: unavailable, details: messageOf(reason) });
    return criError(failure, this.#socket);
  }
}

const unavailable = 14;
const cancelled = { code: 1, details: 'context canceled' };
const closing = { code: 1, details: 'grpc: the client connection is closing' };
const expired = { code: 4, details: 'context deadline exceeded' };
const noAnswer = {
  code: 13,
  details: 'cardinality violation: received no response message from non-server-streaming RPC',
};

const callOf = (
  session: ClientHttp2Session,
  { path, request: message }: MethodRow,
  request: object,
  { timeoutMs, headers }: WireOptions,
): GrpcCall =>
  new GrpcCall(session, { path, timeoutMs, headers }, framed(encode(message, request, framePrefixBytes)));
