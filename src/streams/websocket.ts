import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { type Duplex, Readable, Writable } from 'node:stream';
import { type RawData, type WebSocket, WebSocketServer } from 'ws';
import { AgentError } from '../base/errors.ts';

/** What a handshake needs of a request. */
export interface UpgradeRequest {
  readonly method: string;
  /** Path and query as they stood in the request line. */
  readonly target: string;
  readonly headers: IncomingHttpHeaders;
}

/** Longest message that is taken. */
const longestMessage = 32 * 1024 * 1024;

/** What the client offers, in its order. */
export const offeredProtocols = ({ headers }: Pick<UpgradeRequest, 'headers'>): readonly string[] =>
  (headers['sec-websocket-protocol'] ?? '')
    .split(',')
    .map((one) => one.trim())
    .filter((one) => one !== '');

/** The first offered protocol that is supported; a client that offers none gets the unnamed one, if that is. */
export function chooseProtocol(request: UpgradeRequest, supported: readonly string[]): string | undefined {
  const offered = offeredProtocols(request);
  if (offered.length === 0) return supported.includes('') ? '' : undefined;
  return offered.find((one) => supported.includes(one));
}

/**
 * Makes a WebSocket of an upgrade. The protocol is told by hand, as the library takes no name with a slash, and the unnamed one has none.
 *
 * @throws {AgentError} `invalid_argument` when the handshake is none
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
    server.handleUpgrade(handshake as unknown as IncomingMessage, socket, head, (made) => {
      made.on('error', () => undefined);
      resolve(made);
    });
  });
}

/** A message's bytes, whatever shape the library gives them. */
export const bytesOf = (data: RawData): Buffer => {
  if (Buffer.isBuffer(data)) return data;
  return Array.isArray(data) ? Buffer.concat(data) : Buffer.from(data);
};

/**
 * Several streams over one WebSocket: the first byte of a message names the channel, in base64 protocols the first digit.
 * Follows `wsstream` (apimachinery).
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

  /** What the client sends on a channel. A reader who is slow holds the whole socket back. */
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

  /** Sends one message; `sent` is called when it is on its way, or never will be. */
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
