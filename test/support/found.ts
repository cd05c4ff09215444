import { setTimeout as sleep } from 'node:timers/promises';

/** How {@link found} asks. */
export interface Asking {
  /** Default 20 s. */
  readonly withinMs?: number;
  /** Default 50 ms. */
  readonly everyMs?: number;
  /** Said besides when it is not found. */
  readonly otherwise?: () => string;
}

/**
 * Asks until something is found: for what is outside of this process and tells nobody. A question that fails is asked again.
 *
 * @throws when the time is over, with the last failure
 */
export async function found<T>(
  what: string,
  look: () => T | undefined | Promise<T | undefined>,
  { withinMs = 20_000, everyMs = 50, otherwise }: Asking = {},
): Promise<T> {
  const end = Date.now() + withinMs;
  for (;;) {
    let cause: unknown;
    try {
      const seen = await look();
      if (seen !== undefined) return seen;
    } catch (reason) {
      cause = reason;
    }
    if (Date.now() > end)
      throw new Error(`${what}: not within ${withinMs} ms. ${otherwise?.() ?? ''}`, { cause });
    await sleep(everyMs);
  }
}

/** Asks until it is so, as {@link found}. */
export async function soon(
  what: string,
  isSo: () => boolean | Promise<boolean>,
  asking?: Asking,
): Promise<void> {
  await found(what, async () => (await isSo()) || undefined, asking);
}
