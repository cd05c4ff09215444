import type { CallOptions as GrpcCallOptions, Client, ClientOptions, Metadata } from '@grpc/grpc-js';
import type { Clock } from '../../base/clock.ts';
import type { CallOptions } from '../../provider/container-runtime.ts';
import { decode, encode } from './codec.ts';
import { criError, type GrpcFailure } from './errors.ts';
import type { MethodRow } from './gen/methods.ts';

/** Maximum message size, bytes, as in the kubelet's client. */
const maxMessageBytes = 16 * 1024 * 1024;

/** Reconnects after 100 ms, then with growing delays up to 3 s, as the kubelet's client does. */
const channelOptions: ClientOptions = {
  'grpc.max_receive_message_length': maxMessageBytes,
  'grpc.max_send_message_length': -1,
  'grpc.initial_reconnect_backoff_ms': 100,
  'grpc.min_reconnect_backoff_ms': 100,
  'grpc.max_reconnect_backoff_ms': 3000,
  'grpc.enable_http_proxy': 0,
  'grpc.enable_retries': 0,
  // channelz would keep unused records of each call
  'grpc.enable_channelz': 0,
  'grpc.service_config_disable_resolution': 1,
};

/** Options of one call. */
export interface WireOptions extends CallOptions {
  /** gRPC metadata to send. */
  readonly headers?: Readonly<Record<string, string>>;
}

interface Connected {
  readonly client: Client;
  readonly metadataOf: (headers: Readonly<Record<string, string>>) => Metadata;
}

/**
 * CriTransport is a connection to a runtime's socket, opened on the first call and reopened when it was lost. Calls while the runtime is
 * down fail at once with `unavailable`.
 */
export class CriTransport {
  readonly #socket: string;
  readonly #clock: Clock;
  #client: Promise<Connected> | undefined;
  #isClosed = false;

  constructor(socket: string, clock: Clock) {
    this.#socket = socket;
    this.#clock = clock;
  }

  /** Makes a unary call. @throws {AgentError} with the message of {@link criError} */
  async unary(row: MethodRow, request: object, options: WireOptions): Promise<object> {
    const { signal } = options;
    try {
      signal?.throwIfAborted();
      return await this.#call(await this.#connected(), row, request, options);
    } catch (reason) {
      throw criError(signal?.aborted === true ? cancelled : reason, this.#socket);
    }
  }

  /** Makes a streaming call that the runtime or `signal` ends. @throws {AgentError} with the message of {@link criError} */
  async *stream(row: MethodRow, request: object, options: CallOptions): AsyncGenerator<object, void> {
    const { signal } = options;
    const { serialize, deserialize } = codecOf(row);
    const cancel = (): void => {
      call?.cancel();
    };
    let call: { cancel(): void } | undefined;
    try {
      signal?.throwIfAborted();
      const { client } = await this.#connected();
      const open = client.makeServerStreamRequest(
        row.path,
        serialize,
        deserialize,
        request,
        this.#grpcOptions(options),
      );
      call = open;
      signal?.addEventListener('abort', cancel, { once: true });
      for await (const message of open) yield message as object;
    } catch (reason) {
      throw criError(signal?.aborted === true ? cancelled : reason, this.#socket);
    } finally {
      signal?.removeEventListener('abort', cancel);
      call?.cancel();
    }
  }

  /** Closes the connection; calls in flight and later calls fail. */
  async close(): Promise<void> {
    this.#isClosed = true;
    (await this.#client)?.client.close();
  }

  async #connected(): Promise<Connected> {
    if (this.#isClosed) throw criError(closing, this.#socket);
    return (this.#client ??= this.#connect());
  }

  async #connect(): Promise<Connected> {
    const { Client, credentials, Metadata } = await import('@grpc/grpc-js');
    return {
      client: new Client(`unix://${this.#socket}`, credentials.createInsecure(), channelOptions),
      metadataOf: (headers) => {
        const metadata = new Metadata();
        for (const [name, value] of Object.entries(headers)) metadata.set(name, value);
        return metadata;
      },
    };
  }

  #call(
    { client, metadataOf }: Connected,
    row: MethodRow,
    request: object,
    options: WireOptions,
  ): Promise<object> {
    const { signal, headers = {} } = options;
    const { serialize, deserialize } = codecOf(row);
    return new Promise((resolve, reject) => {
      const call = client.makeUnaryRequest(
        row.path,
        serialize,
        deserialize,
        request,
        metadataOf(headers),
        this.#grpcOptions(options),
        (failure, answer) => {
          signal?.removeEventListener('abort', cancel);
          if (failure) reject(failure);
          else resolve(answer ?? {});
        },
      );
      const cancel = (): void => {
        call.cancel();
      };
      signal?.addEventListener('abort', cancel, { once: true });
    });
  }

  #grpcOptions({ timeoutMs }: CallOptions): GrpcCallOptions {
    return timeoutMs === undefined || timeoutMs >= foreverMs
      ? {}
      : { deadline: this.#clock.now() + timeoutMs };
  }
}

/** Longest deadline that gRPC can encode (eight digits of hours); a pod's grace period may be longer. */
const foreverMs = 99_999_999 * 3_600_000;

const cancelled: GrpcFailure = { code: 1, details: 'context canceled' };
const closing: GrpcFailure = { code: 1, details: 'grpc: the client connection is closing' };

function codecOf({ request, response }: MethodRow): {
  serialize: (message: object) => Buffer;
  deserialize: (bytes: Buffer) => object;
} {
  return {
    serialize: (message) => encode(request, message),
    deserialize: (bytes) => decode(response, bytes),
  };
}
