import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { type Duplex, Readable, Writable } from 'node:stream';
import { type RawData, type WebSocket, WebSocketServer } from 'ws';
import { AgentError } from '../base/errors.ts';

/** The parts of a request that a handshake needs. */
export interface UpgradeRequest {
  readonly method: string;
  /** Path and query as sent in the request line. */
  readonly target: string;
  readonly headers: IncomingHttpHeaders;
}

/** Longest accepted message. */
const longestMessage = 32 * 1024 * 1024;

/** Returns the protocols that the client offers, in its order. */
export const offeredProtocols = ({ headers }: Pick<UpgradeRequest, 'headers'>): readonly string[] =>
  (headers['sec-websocket-protocol'] ?? '')
    .split(',')
    .map((one) => one.trim())
    .filter((one) => one !== '');

/** Returns the first offered protocol that is supported; for a client that offers none, the unnamed one, if supported. */
export function chooseProtocol(request: UpgradeRequest, supported: readonly string[]): string | undefined {
  const offered = offeredProtocols(request);
  if (offered.length === 0) return supported.includes('') ? '' : undefined;
  return offered.find((one) => supported.includes(one));
}

/**
 * Accepts an upgrade to WebSocket. The protocol header is written here because the library rejects names with a slash; the unnamed
 * protocol has no header.
 *
 * @throws {AgentError} `invalid_argument` for an invalid handshake
 */
export function acceptWebSocket(
  request: UpgradeRequest,
  socket: Duplex,
  head: Buffer,
  protocol: string | undefined,
): Promise<WebSocket> {
  const server = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    maxPayload: longestMessage,
  });
  server.on('headers', (headers: string[]) => {
    if (protocol !== undefined) headers.push(`Sec-WebSocket-Protocol: ${protocol}`);
  });
  const { 'sec-websocket-protocol': _offered, ...headers } = request.headers;
  const handshake = { method: request.method, url: request.target, headers, socket };
  return new Promise((resolve, reject) => {
    socket.once('close', () => {
      reject(new AgentError('invalid_argument', 'the handshake failed'));
    });
    server.handleUpgrade(handshake as unknown as IncomingMessage, socket, head, (webSocket) => {
      webSocket.on('error', () => undefined);
      resolve(webSocket);
    });
  });
}

/** Returns a message's bytes, whatever type the library delivers. */
export const bytesOf = (data: RawData): Buffer => {
  if (Buffer.isBuffer(data)) return data;
  return Array.isArray(data) ? Buffer.concat(data) : Buffer.from(data);
};

/**
 * Channels carries several streams over one WebSocket: the first byte of a message is the channel number; in base64 protocols it is the
 * first digit. Follows `wsstream` (apimachinery).
 */
export class Channels {
  readonly #socket: WebSocket;
  readonly #base64: boolean;
  readonly #readers = new Map<number, Readable>();
  readonly #paused = new Set<number>();
  readonly #texts = new Map<number, (text: string) => void>();
  /** Half-close: a message `255, channel` ends that channel (protocol v5). */
  readonly #closable: boolean;

  constructor(socket: WebSocket, protocol: string) {
    this.#socket = socket;
    this.#base64 = protocol.includes('base64');
    this.#closable = protocol.startsWith('v5');
    socket.on('message', (data) => {
      this.#take(bytesOf(data));
    });
    socket.once('close', () => {
      for (const reader of this.#readers.values()) if (!reader.destroyed) reader.push(null);
    });
  }

  /** Returns what the client sends on a channel. A slow reader blocks the whole socket. */
  readable(channel: number): Readable {
    const reader = new Readable({
      highWaterMark: 256 * 1024,
      read: () => {
        if (this.#paused.delete(channel) && this.#paused.size === 0) this.#socket.resume();
      },
      destroy: (error, done) => {
        this.#readers.delete(channel);
        if (this.#paused.delete(channel) && this.#paused.size === 0) this.#socket.resume();
        done(error);
      },
    });
    this.#readers.set(channel, reader);
    return reader;
  }

  /** Calls `take` with each message of a channel. */
  onText(channel: number, take: (text: string) => void): void {
    this.#texts.set(channel, take);
  }

  writable(channel: number): Writable {
    return new Writable({
      highWaterMark: 256 * 1024,
      write: (chunk: Buffer, _encoding, done) => {
        this.send(channel, chunk, () => {
          done();
        });
      },
    });
  }

  /** Sends one message; `sent` is called once it is sent or can no longer be sent. */
  send(channel: number, data: Buffer, sent: () => void = () => undefined): void {
    if (this.#socket.readyState !== this.#socket.OPEN) {
      sent();
      return;
    }
    const message = this.#base64
      ? `${channel}${data.toString('base64')}`
      : Buffer.concat([Buffer.from([channel]), data]);
    this.#socket.send(message, () => {
      sent();
    });
  }

  #take(message: Buffer): void {
    const [first = 0, second = 0] = message;
    if (this.#closable && first === 255) {
      this.#endOf(second);
      return;
    }
    const body = message.subarray(1);
    if (this.#base64) this.#deliver(first - 0x30, Buffer.from(body.toString('latin1'), 'base64'));
    else this.#deliver(first, body);
  }

  #deliver(channel: number, data: Buffer): void {
    this.#texts.get(channel)?.(data.toString());
    const reader = this.#readers.get(channel);
    if (!reader || reader.destroyed || data.length === 0) return;
    if (reader.push(data)) return;
    this.#paused.add(channel);
    this.#socket.pause();
  }

  #endOf(channel: number): void {
    const reader = this.#readers.get(channel);
    this.#readers.delete(channel);
    if (reader && !reader.destroyed) reader.push(null);
  }
}
