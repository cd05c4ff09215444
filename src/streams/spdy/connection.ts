import type { Duplex } from 'node:stream';
import { type Clock, type StopTimer, steadyNow } from '../../base/clock.ts';
import { AgentError } from '../../base/errors.ts';
import {
  controlFrame,
  dataHead,
  flagFin,
  type Frame,
  FrameReader,
  frameType,
  goAway,
  ProtocolError,
  resetStatus,
  rstStream,
  synReply,
  synStream,
} from './frames.ts';
import { HeaderDecoder, HeaderEncoder, type Headers } from './header-block.ts';
import { SpdyStream } from './stream.ts';

/** Longest data frame that is sent. */
const mostFrameBytes = 128 * 1024;

/** How long the peer has to close a connection that this side has closed, ms. */
const lingerMs = 10_000;

export interface SpdyOptions {
  readonly clock: Clock;
  /** Accepts a stream that the peer opens; throwing refuses it. Absent: the peer may open none. */
  readonly onStream?: (stream: SpdyStream) => void;
  /** Closes the connection after no byte in either direction for this long, ms (kubelet streamingConnectionIdleTimeout). */
  readonly idleMs: number;
  /** Maximum number of concurrent streams. */
  readonly mostStreams?: number;
}

/**
 * SpdyConnection is one end of a SPDY/3.1 connection over any byte stream, with the parts of the protocol that Kubernetes' exec, attach
 * and port-forward use: no priorities, no flow control. A stream that is not read blocks the whole connection, so memory stays bounded.
 */
export class SpdyConnection {
  readonly #transport: Duplex;
  readonly #options: SpdyOptions;
  readonly #streams = new Map<number, SpdyStream>();
  readonly #replies = new Map<number, () => void>();
  readonly #decoder = new HeaderDecoder();
  readonly #encoder = new HeaderEncoder();
  #waiting: (() => void)[] = [];
  #lastRemoteId = 0;
  #nextId = 1;
  #lastActiveAt: number;
  #stopIdle: StopTimer = () => undefined;
  #closed = false;

  constructor(transport: Duplex, options: SpdyOptions) {
    this.#transport = transport;
    this.#options = options;
    this.#lastActiveAt = steadyNow(options.clock);
    transport.on('error', () => undefined);
    transport.on('drain', () => {
      this.#drained();
    });
    transport.once('close', () => {
      this.#stopIdle(); // bytes already read are still delivered: run() ends the streams
      this.#drained();
    });
    this.#watchIdle(options.idleMs);
  }

  /** Reads frames until either side closes the connection. Never rejects: a protocol error closes it. */
  async run(head: Buffer = Buffer.alloc(0)): Promise<void> {
    const reader = new FrameReader();
    try {
      if (head.length > 0) await this.#take(reader, head);
      for await (const chunk of this.#transport) await this.#take(reader, chunk as Buffer);
    } catch (reason) {
      if (reason instanceof ProtocolError) this.close();
    } finally {
      this.#end();
      this.#transport.destroy();
    }
  }

  /** Opens a stream; resolves when the peer has accepted it. */
  async open(headers: Headers): Promise<SpdyStream> {
    if (this.#closed) throw new AgentError('unavailable', 'the connection is closed');
    const id = this.#nextId;
    this.#nextId += 2;
    const stream = this.#make(id, headers);
    const replied = new Promise<void>((resolve, reject) => {
      this.#replies.set(id, resolve);
      stream.once('reset', () => {
        reject(new AgentError('unavailable', 'the stream was refused'));
      });
    });
    this.#send(synStream(id, this.#encoder.encode(headers)));
    await replied.finally(() => this.#replies.delete(id));
    return stream;
  }

  /** Sends GOAWAY and closes the connection once everything written has been sent. */
  close(): void {
    if (this.#closed) return;
    this.#send(goAway(this.#lastRemoteId));
    this.#stopIdle();
    this.#stopIdle = this.#options.clock.timer(lingerMs, () => this.#transport.destroy());
    this.#transport.end();
  }

  async #take(reader: FrameReader, chunk: Buffer): Promise<void> {
    this.#lastActiveAt = steadyNow(this.#options.clock);
    reader.push(chunk);
    for (let frame = reader.next(); frame; frame = reader.next()) await this.#handle(frame);
  }

  #handle(frame: Frame): Promise<void> | undefined {
    if (frame.kind === 'control') return this.#control(frame);
    const stream = this.#streams.get(frame.streamId);
    if (!stream) {
      if (frame.streamId > this.#lastRemoteId && frame.streamId % 2 === 1)
        this.#send(rstStream(frame.streamId, resetStatus.protocolError));
      return undefined;
    }
    const room = stream.accept(frame.data);
    if (frame.fin) stream.acceptEnd();
    return room;
  }

  #control({ type, flags, body }: Extract<Frame, { kind: 'control' }>): Promise<void> | undefined {
    switch (type) {
      case frameType.synStream:
        return this.#opened(body, flags);
      case frameType.synReply:
        return this.#replied(body);
      case frameType.headers:
        return this.#decoder.decode(body.subarray(4)).then(() => undefined);
      case frameType.rstStream:
        this.#streams.get(idOf(body))?.acceptReset();
        return undefined;
      case frameType.ping:
        if (idOf(body) % 2 === 1 || this.#options.onStream) this.#send(controlFrame(frameType.ping, 0, body));
        return undefined;
      default:
        return undefined; // settings, window updates and the like have no effect without flow control
    }
  }

  async #opened(body: Buffer, flags: number): Promise<void> {
    const id = idOf(body);
    const headers = await this.#decoder.decode(body.subarray(10));
    if (id <= this.#lastRemoteId || id % 2 === 0)
      throw new ProtocolError(`stream ${id} cannot be opened now`);
    this.#lastRemoteId = id;
    const { onStream, mostStreams = 1024 } = this.#options;
    if (!onStream || this.#streams.size >= mostStreams) {
      this.#send(rstStream(id, resetStatus.refused));
      return;
    }
    const stream = this.#make(id, headers);
    try {
      onStream(stream);
    } catch {
      this.#streams.delete(id);
      this.#send(rstStream(id, resetStatus.refused));
      return;
    }
    this.#send(synReply(id, this.#encoder.encode(new Map())));
    if ((flags & flagFin) !== 0) stream.acceptEnd();
  }

  async #replied(body: Buffer): Promise<void> {
    await this.#decoder.decode(body.subarray(4));
    this.#replies.get(idOf(body))?.();
  }

  #make(id: number, headers: Headers): SpdyStream {
    const stream = new SpdyStream(id, headers, {
      sendData: (streamId, data, fin, sent) => {
        this.#sendData(streamId, data, fin, sent);
      },
      forget: (streamId, reset) => {
        if (this.#streams.delete(streamId) && reset) this.#send(rstStream(streamId, resetStatus.cancel));
      },
    });
    this.#streams.set(id, stream);
    return stream;
  }

  #send(frame: Buffer): void {
    if (!this.#closed && this.#transport.writable) this.#transport.write(frame);
  }

  #sendData(streamId: number, data: Buffer, fin: boolean, sent: () => void): void {
    if (!this.#streams.has(streamId) || !this.#transport.writable) {
      sent();
      return;
    }
    this.#lastActiveAt = steadyNow(this.#options.clock);
    let room = true;
    this.#transport.cork();
    for (let at = 0; at === 0 || at < data.length; at += mostFrameBytes) {
      const part = data.subarray(at, at + mostFrameBytes);
      const last = at + mostFrameBytes >= data.length;
      this.#transport.write(dataHead(streamId, part.length, fin && last));
      if (part.length > 0) room = this.#transport.write(part);
    }
    this.#transport.uncork();
    if (room) sent();
    else this.#waiting.push(sent);
  }

  #drained(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const sent of waiting) sent();
  }

  #end(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#stopIdle();
    this.#decoder.close();
    for (const stream of [...this.#streams.values()]) stream.acceptReset();
    this.#streams.clear();
    this.#drained();
  }

  #watchIdle(ms: number): void {
    this.#stopIdle = this.#options.clock.timer(ms, () => {
      const left = this.#lastActiveAt + this.#options.idleMs - steadyNow(this.#options.clock);
      if (left > 0) this.#watchIdle(left);
      else this.#transport.destroy();
    });
  }
}

/** Returns the first word of a control frame's body. @throws {ProtocolError} when it is missing */
function idOf(body: Buffer): number {
  if (body.length < 4) throw new ProtocolError('a control frame is cut off');
  return body.readUInt32BE(0) & 0x7fffffff;
}
