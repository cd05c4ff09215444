/** Random numbers from 0 (inclusive) to 1 (exclusive). */
type Chance = () => number;

const upTo = (chance: Chance, most: number): number => Math.floor(chance() * most);

export const pick = <T>(chance: Chance, from: readonly T[]): T => {
  const found = from[upTo(chance, from.length)];
  if (found === undefined) throw new Error('there is nothing to pick from');
  return found;
};

/** Bytes that are difficult for parsers of text and of frames. */
const awkward = [
  '\0',
  '\r',
  '\n',
  '\r\n\r\n',
  '\r\n ',
  ' ',
  '%00',
  '%2e%2e%2f',
  '/../',
  '//',
  '?',
  ';',
  'ÿ',
  '0',
  '-1',
  '99999999999999999999',
  'Transfer-Encoding: chunked\r\n',
  'Content-Length: 4\r\n',
  'Host: y\r\n',
  'Authorization: Bearer x\r\n',
].map((text) => Buffer.from(text, 'latin1'));

const splice = (bytes: Buffer, at: number, out: number, into: Buffer = Buffer.alloc(0)): Buffer =>
  Buffer.concat([bytes.subarray(0, at), into, bytes.subarray(at + out)]);

/** Makes one fault in a sequence of bytes; pieces may be copied from `others`. */
function mutateOnce(bytes: Buffer, others: readonly Buffer[], chance: Chance): Buffer {
  const at = upTo(chance, bytes.length + 1);
  const some = upTo(chance, 24);
  switch (upTo(chance, 8)) {
    case 0: {
      const copy = Buffer.from(bytes);
      if (at < copy.length) copy[at] = upTo(chance, 256);
      return copy;
    }
    case 1:
      return splice(bytes, at, some);
    case 2:
      return splice(bytes, at, 0, bytes.subarray(at, at + some));
    case 3:
      return bytes.subarray(0, at);
    case 4:
      return splice(bytes, at, 0, pick(chance, awkward));
    case 5:
      return splice(bytes, at, 0, Buffer.from(Array.from({ length: some }, () => upTo(chance, 256))));
    case 6: {
      const other = pick(chance, others);
      const from = upTo(chance, other.length);
      return splice(bytes, at, 0, other.subarray(from, from + 4 * some));
    }
    default: {
      const copy = Buffer.from(bytes);
      if (at < copy.length) copy[at] = (copy[at] ?? 0) ^ (1 << upTo(chance, 8));
      return copy;
    }
  }
}

/** Makes one to four faults in a sequence of bytes. */
export function mutate(bytes: Buffer, others: readonly Buffer[], chance: Chance): Buffer {
  let out = bytes;
  for (let left = 1 + upTo(chance, 4); left > 0; left--) out = mutateOnce(out, others, chance);
  return out;
}
