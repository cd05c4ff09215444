import { constants, createInflate, type Inflate } from 'node:zlib';
import { spdyDictionary } from './dictionary.ts';
import { ProtocolError } from './frames.ts';

/** Headers with lower case names; several values of a name are joined by NUL, as in SPDY. */
export type Headers = ReadonlyMap<string, string>;

const mostHeaders = 64;
const mostBytes = 64 * 1024;

/** HeaderDecoder reads the header blocks of one connection, in order, since they share one compression context. */
export class HeaderDecoder {
  readonly #inflate: Inflate = createInflate({
    dictionary: spdyDictionary,
    finishFlush: constants.Z_SYNC_FLUSH,
  });
  #out: Buffer[] = [];
  #bytes = 0;
  #failed: Error | undefined;

  constructor() {
    this.#inflate.on('data', (chunk: Buffer) => {
      this.#bytes += chunk.length;
      if (this.#bytes <= mostBytes) this.#out.push(chunk);
      else this.#failed = new ProtocolError('a header block is too long');
    });
    this.#inflate.on('error', (error) => {
      this.#failed = new ProtocolError(`a header block cannot be read: ${error.message}`);
    });
  }

  /** @throws {ProtocolError} */
  async decode(block: Buffer): Promise<Headers> {
    this.#out = [];
    this.#bytes = 0;
    await new Promise<void>((resolve) => {
      const settle = (): void => {
        this.#inflate.off('error', settle);
        resolve();
      };
      this.#inflate.once('error', settle);
      this.#inflate.write(block, settle);
    });
    if (this.#failed) throw this.#failed;
    return parse(Buffer.concat(this.#out));
  }

  close(): void {
    this.#inflate.on('error', () => undefined);
    this.#inflate.destroy();
  }
}

function parse(bytes: Buffer): Headers {
  const headers = new Map<string, string>();
  try {
    const count = bytes.readUInt32BE(0);
    if (count > mostHeaders) throw new ProtocolError(`${count} headers are too many`);
    let at = 4;
    const text = (): string => {
      const length = bytes.readUInt32BE(at);
      if (at + 4 + length > bytes.length) throw new ProtocolError('a header is cut off');
      const value = bytes.toString('utf8', at + 4, at + 4 + length);
      at += 4 + length;
      return value;
    };
    for (let i = 0; i < count; i++) {
      const name = text().toLowerCase();
      headers.set(name, text());
    }
  } catch (reason) {
    if (reason instanceof ProtocolError) throw reason;
    throw new ProtocolError('a header block is cut off');
  }
  return headers;
}

/**
 * HeaderEncoder writes the header blocks of one connection, uncompressed. Each block ends with an empty stored block, because Go's reader
 * otherwise treats the preceding data as unfinished.
 */
export class HeaderEncoder {
  #started = false;

  encode(headers: Headers): Buffer {
    const parts = [counted(headers.size)];
    for (const [name, value] of headers) parts.push(...withLength(name), ...withLength(value));
    const bytes = Buffer.concat(parts);
    const head = Buffer.alloc(5);
    head.writeUInt16LE(bytes.length, 1);
    head.writeUInt16LE(~bytes.length & 0xffff, 3);
    const zlibHead = this.#started ? Buffer.alloc(0) : Buffer.from([0x78, 0x01]);
    this.#started = true;
    return Buffer.concat([zlibHead, head, bytes, Buffer.from([0, 0, 0, 0xff, 0xff])]);
  }
}

function counted(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

function withLength(text: string): readonly Buffer[] {
  const bytes = Buffer.from(text);
  return [counted(bytes.length), bytes];
}
