import type { RecordedFrame } from './kubelet-answers.ts';

/** A client's frame, masked as the protocol wants it. */
export function encodeFrame(opcode: number, payload: Buffer): Buffer {
  const mask = Buffer.from([1, 2, 3, 4]);
  const head = payload.length < 126 ? Buffer.from([0x80 | opcode, 0x80 | payload.length]) : Buffer.alloc(4);
  if (payload.length >= 126) {
    head[0] = 0x80 | opcode;
    head[1] = 0x80 | 126;
    head.writeUInt16BE(payload.length, 2);
  }
  const masked = payload.map((byte, i) => byte ^ (mask[i % 4] ?? 0));
  return Buffer.concat([head, mask, masked]);
}

/** A server's frames, read as they come. */
export class FrameParser {
  readonly frames: RecordedFrame[] = [];
  #rest: Buffer = Buffer.alloc(0);

  push(chunk: Buffer): void {
    this.#rest = Buffer.concat([this.#rest, chunk]);
    while (this.#next());
  }

  #next(): boolean {
    const bytes = this.#rest;
    if (bytes.length < 2) return false;
    const short = (bytes[1] ?? 0) & 0x7f;
    const start = short === 126 ? 4 : short === 127 ? 10 : 2;
    if (bytes.length < start) return false;
    const length =
      short === 126 ? bytes.readUInt16BE(2) : short === 127 ? Number(bytes.readBigUInt64BE(2)) : short;
    if (bytes.length < start + length) return false;
    const opcode = (bytes[0] ?? 0) & 0x0f;
    const payload = bytes.subarray(start, start + length);
    if (opcode === 1 || opcode === 2)
      this.frames.push({ opcode, channel: payload[0] ?? -1, base64: payload.subarray(1).toString('base64') });
    else this.frames.push({ opcode, base64: payload.toString('base64') });
    this.#rest = bytes.subarray(start + length);
    return true;
  }
}

/** What came on each channel, in one text. */
export function channelsOf(frames: readonly RecordedFrame[]): Map<number, string> {
  const channels = new Map<number, string>();
  for (const { opcode, channel, text, base64 = '' } of frames) {
    if ((opcode !== 1 && opcode !== 2) || channel === undefined) continue;
    const content = text ?? Buffer.from(base64, 'base64').toString('latin1');
    channels.set(channel, (channels.get(channel) ?? '') + Buffer.from(content).toString());
  }
  return channels;
}
