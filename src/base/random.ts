import { randomBytes, randomInt, randomUUID } from 'node:crypto';

/** Random is the source of randomness for jitter, suffixes and IDs, so that a test can choose the values. */
export interface Random {
  /** Returns a number from 0 (inclusive) to 1 (exclusive). */
  float(): number;
  /** Returns a version 4 UUID. */
  uuid(): string;
  /** Returns `bytes` random bytes in hexadecimal. */
  hex(bytes: number): string;
}

/** The randomness of this machine. */
export const systemRandom: Random = {
  float: () => randomInt(0, 2 ** 32) / 2 ** 32,
  uuid: () => randomUUID(),
  hex: (bytes) => randomBytes(bytes).toString('hex'),
};

/** Extends `ms` by a random fraction of itself, up to `factor` (Kubernetes `wait.Jitter`). */
export function jitter(random: Random, ms: number, factor: number): number {
  return ms + random.float() * factor * ms;
}
