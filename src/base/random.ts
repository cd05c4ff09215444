import { randomBytes, randomInt, randomUUID } from 'node:crypto';

/** Chance as a dependency: jitter, suffixes and identities come from here, so that a test can say what falls. */
export interface Random {
  /** At least 0, below 1. */
  float(): number;
  /** A version 4 UUID. */
  uuid(): string;
  /** `bytes` random bytes in hexadecimal. */
  hex(bytes: number): string;
}

/** The machine's own chance. */
export const systemRandom: Random = {
  float: () => randomInt(0, 2 ** 32) / 2 ** 32,
  uuid: () => randomUUID(),
  hex: (bytes) => randomBytes(bytes).toString('hex'),
};

/** `ms` made longer by a random part of up to `factor` (kubelet `wait.Jitter`). */
export function jitter(random: Random, ms: number, factor: number): number {
  return ms + random.float() * factor * ms;
}
