import { GrpcError } from './errors.ts';

/** Before each message: a flag that it is compressed, and its length in four bytes. */
export const framePrefixBytes = 5;

/** Largest message that is taken, as the kubelet's client has it. */
export const maxMessageBytes: number = 16 * 1024 * 1024;

/** Fills in the prefix of a message that lies behind it. */
export function framed(bytes: Buffer): Buffer {
  bytes[0] = 0;
  bytes.writeUInt32BE(bytes.length - framePrefixBytes, 1);
  return bytes;
}

/** Cuts what comes over a stream into messages, however it was cut on the way. */
export class MessageSplitter {
  readonly #limit: number;
  #chunks: Buffer[] = [];
  #held = 0;

  /** @param limit bytes of the largest message that is taken */
  constructor(limit: number = maxMessageBytes) {
    this.#limit = limit;
  }

  /** Whether a message has begun and not ended. */
  get isWithin(): boolean {
    return this.#held > 0;
  }

  /** The messages that are whole now. @throws {GrpcError} for one that is too large or compressed */
  push(chunk: Buffer): readonly Buffer[] {
    this.#chunks.push(chunk);
    this.#held += chunk.length;
    const messages: Buffer[] = [];
    for (let next = this.#next(); next; next = this.#next()) messages.push(next);
    return messages;
  }

  #next(): Buffer | undefined {
    if (this.#held < framePrefixBytes) return undefined;
    const prefix = this.#joined(framePrefixBytes);
    if (prefix[0] !== 0)
      throw new GrpcError({ code: internal, details: 'grpc: compressed message, though none was asked for' });
    const length = prefix.readUInt32BE(1);
    if (length > this.#limit) {
      const details = `grpc: received message larger than max (${length} vs. ${this.#limit})`;
      throw new GrpcError({ code: resourceExhausted, details });
    }
    const end = framePrefixBytes + length;
    if (this.#held < end) return undefined;
    const whole = this.#joined(this.#held);
    const rest = whole.subarray(end);
    this.#chunks = rest.length > 0 ? [rest] : [];
    this.#held = rest.length;
    return whole.subarray(framePrefixBytes, end);
  }

  /** At least so many bytes in one piece; only a message that came in several is copied. */
  #joined(bytes: number): Buffer {
    const [first] = this.#chunks;
    if (first && first.length >= bytes) return first;
    const whole = Buffer.concat(this.#chunks);
    this.#chunks = [whole];
    return whole;
  }
}

const resourceExhausted = 8;
const internal = 13;

/** How long the runtime may take, as the header `grpc-timeout` has it: at most eight digits. @param ms more than 0 */
export const timeoutText = (ms: number): string =>
  ms < 1e8 ? `${Math.max(1, Math.ceil(ms))}m` : `${Math.min(Math.ceil(ms / 1000), 99_999_999)}S`;

/** The header `grpc-message` with its escapes resolved; those that are broken stay as they came. */
export function messageText(text: string): string {
  if (!text.includes('%')) return text;
  try {
    return decodeURIComponent(text);
  } catch {
    return text.replace(/(?:%[0-9a-f]{2})+/gi, (escapes) =>
      Buffer.from(escapes.replaceAll('%', ''), 'hex').toString(),
    );
  }
}
