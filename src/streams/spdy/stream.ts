import { Duplex } from 'node:stream';
import type { Headers } from './header-block.ts';

/** The connection, as its streams use it. */
export interface StreamCarrier {
  /** Sends bytes and calls `sent` when more can be accepted. */
  sendData(streamId: number, data: Buffer, fin: boolean, sent: () => void): void;
  /** Removes the finished stream; `reset` also notifies the peer. */
  forget(streamId: number, reset: boolean): void;
}

/** Bytes that a stream buffers for a slow reader before the connection waits for it. */
const readAhead = 256 * 1024;

/** SpdyStream is one stream of a SPDY connection: two directions that end independently. */
export class SpdyStream extends Duplex {
  readonly id: number;
  readonly headers: Headers;
  readonly #carrier: StreamCarrier;
  #onRoom: (() => void) | undefined;
  #remoteEnded = false;
  #localEnded = false;

  constructor(id: number, headers: Headers, carrier: StreamCarrier) {
    super({
      allowHalfOpen: true,
      autoDestroy: true,
      emitClose: true,
      readableHighWaterMark: readAhead,
      writableHighWaterMark: readAhead,
    });
    this.id = id;
    this.headers = headers;
    this.#carrier = carrier;
    this.on('error', () => undefined);
  }

  /** Receives bytes from the peer; the promise resolves when the reader has room for more. */
  accept(data: Buffer): Promise<void> | undefined {
    if (this.destroyed || this.#remoteEnded || data.length === 0) return undefined;
    if (this.push(data)) return undefined;
    return new Promise((resolve) => {
      this.#onRoom = resolve;
    });
  }

  /** Handles the end of the peer's direction. */
  acceptEnd(): void {
    if (this.#remoteEnded) return;
    this.#remoteEnded = true;
    if (!this.destroyed) this.push(null);
    this.#forgetIfOver();
  }

  /**
   * Handles a reset by the peer or the loss of the connection: received bytes can still be read, later writes are discarded. Emits
   * `reset`.
   */
  acceptReset(): void {
    this.#carrier.forget(this.id, false);
    this.#localEnded = true;
    if (!this.#remoteEnded) {
      this.#remoteEnded = true;
      if (!this.destroyed) this.push(null);
    }
    this._read();
    this.emit('reset');
  }

  override _read(): void {
    const onRoom = this.#onRoom;
    this.#onRoom = undefined;
    onRoom?.();
  }

  override _write(chunk: Buffer, _encoding: string, done: (error?: Error) => void): void {
    this.#carrier.sendData(this.id, chunk, false, done);
  }

  override _final(done: (error?: Error) => void): void {
    this.#localEnded = true;
    this.#carrier.sendData(this.id, Buffer.alloc(0), true, () => {
      this.#forgetIfOver();
      done();
    });
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this._read();
    this.#carrier.forget(this.id, !(this.#remoteEnded && this.#localEnded));
    done(error);
  }

  #forgetIfOver(): void {
    if (this.#remoteEnded && this.#localEnded) this.#carrier.forget(this.id, false);
  }
}
