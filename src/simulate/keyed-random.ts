import { fnv1a32 } from '../base/fnv.ts';
import type { Random } from '../base/random.ts';

/**
 * KeyedRandom is the chance of a simulation. A number depends on the seed and the key only, not on how many numbers were drawn before it:
 * two runs with one seed decide the same for each object, in whatever order their requests are answered.
 * @example
 * const chance = new KeyedRandom('42');
 * const delayMs = 1000 * chance.float('pod-ready', uid);
 */
export class KeyedRandom {
  readonly seed: string;

  constructor(seed: string) {
    this.seed = seed;
  }

  /** Returns a number from 0 (inclusive) to 1 (exclusive). */
  float(...key: readonly (string | number)[]): number {
    return mixed(fnv1a32([this.seed, ...key].join('|'))) / 2 ** 32;
  }

  /** Returns the sequence of numbers that belongs to a key. */
  of(...key: readonly (string | number)[]): Random {
    let drawn = 0;
    const next = (): number => this.float(...key, drawn++);
    const hex = (bytes: number): string =>
      Array.from({ length: bytes }, () =>
        Math.floor(next() * 256)
          .toString(16)
          .padStart(2, '0'),
      ).join('');
    return {
      float: next,
      hex,
      uuid: () => {
        const text = hex(16);
        const variant = (8 + (Number.parseInt(text.charAt(16), 16) % 4)).toString(16);
        const parts = [text.slice(0, 8), text.slice(8, 12), `4${text.slice(13, 16)}`];
        return [...parts, `${variant}${text.slice(17, 20)}`, text.slice(20)].join('-');
      },
    };
  }
}

/** Spreads the bits of a hash, so that keys that differ in one digit get unrelated numbers (the finalizer of MurmurHash3). */
function mixed(hash: number): number {
  let bits = hash;
  bits = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
  return (bits ^ (bits >>> 16)) >>> 0;
}
