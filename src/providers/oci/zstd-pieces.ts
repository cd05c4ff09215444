import { Transform, type TransformCallback } from 'node:stream';

/** The first bytes of a frame. */
const frameMagic = 0xfd2fb528;
/** The first bytes of a frame without content, whose last four bits are free. */
const skippableMagic = 0x184d2a50;

const isSkippable = (magic: number): boolean => (magic & 0xfffffff0) >>> 0 === skippableMagic;

/** True for the beginning of a zstd file. */
export function isZstd(head: Buffer): boolean {
  if (head.length < 4) return false;
  const magic = head.readUInt32LE(0);
  return magic === frameMagic || isSkippable(magic);
}

/** What the next bytes of a file are, and how many bytes they have at least before that is clear. */
type State = 'frame' | 'block';

/**
 * ZstdPieces cuts a zstd file after each of its frames: the decompressor of Node.js leaves out what follows a frame in one piece, and writers
 * of layers that can be fetched in parts make many frames.
 */
export class ZstdPieces extends Transform {
  #state: State = 'frame';
  /** The head of a frame or block, as far as it has come. */
  readonly #head = Buffer.alloc(18);
  #headBytes = 0;
  /** The bytes up to the next head. */
  #body = 0;
  /** True when a frame ends after those. */
  #isLast = false;
  #hasChecksum = false;

  override _transform(part: Buffer, _: BufferEncoding, done: TransformCallback): void {
    try {
      let from = 0;
      for (let at = 0; at < part.length;) {
        at = this.#advance(part, at);
        if (!this.#isAtEnd()) continue;
        this.push(part.subarray(from, at));
        from = at;
      }
      if (from < part.length) this.push(part.subarray(from));
      done();
    } catch (reason) {
      done(reason as Error);
    }
  }

  /** Reads on in a head or a body. @returns how far */
  #advance(part: Buffer, at: number): number {
    if (this.#body > 0) {
      const count = Math.min(this.#body, part.length - at);
      this.#body -= count;
      return at + count;
    }
    this.#head[this.#headBytes++] = part[at] ?? 0;
    if (this.#state === 'frame') this.#readFrame();
    else this.#readBlock();
    return at + 1;
  }

  /** True once at the end of each frame. */
  #isAtEnd(): boolean {
    if (!this.#isLast || this.#body > 0) return false;
    this.#isLast = false;
    this.#state = 'frame';
    return true;
  }

  #readFrame(): void {
    if (this.#headBytes < 5) return;
    const magic = this.#head.readUInt32LE(0);
    if (isSkippable(magic)) {
      if (this.#headBytes === 8) this.#goTo('frame', this.#head.readUInt32LE(4), true);
      return;
    }
    if (magic !== frameMagic) throw new Error('there is no zstd frame where one should begin');
    const descriptor = this.#head[4] ?? 0;
    if (this.#headBytes < 5 + descriptionBytes(descriptor)) return;
    this.#hasChecksum = (descriptor & 0x04) !== 0;
    this.#goTo('block', 0, false);
  }

  #readBlock(): void {
    if (this.#headBytes < 3) return;
    const head = this.#head.readUIntLE(0, 3);
    const isRepeated = ((head >> 1) & 3) === 1;
    const isLast = (head & 1) === 1;
    const checksum = isLast && this.#hasChecksum ? 4 : 0;
    this.#goTo('block', (isRepeated ? 1 : head >> 3) + checksum, isLast);
  }

  #goTo(state: State, body: number, isLast: boolean): void {
    this.#state = state;
    this.#body = body;
    this.#isLast = isLast;
    this.#headBytes = 0;
  }
}

/** Returns the size of what follows the descriptor of a frame: window, dictionary and size of the content. */
function descriptionBytes(descriptor: number): number {
  const isSingle = (descriptor & 0x20) !== 0;
  const dictionary = [0, 1, 2, 4][descriptor & 3] ?? 0;
  const size = [isSingle ? 1 : 0, 2, 4, 8][descriptor >> 6] ?? 0;
  return (isSingle ? 0 : 1) + dictionary + size;
}
