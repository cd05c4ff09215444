import { setTimeout as sleep } from 'node:timers/promises';

/** The options of {@link found}. */
export interface Asking {
  /** The timeout; default 20 s. */
  readonly withinMs?: number;
  /** The polling interval; default 50 ms. */
  readonly everyMs?: number;
  /** Additional text for the error on timeout. */
  readonly otherwise?: () => string;
}

/**
 * Polls until something is found: for things outside this process that send no notification. A failing attempt is repeated.
 *
 * @throws on timeout, with the last failure
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

/** Polls until a condition is true, like {@link found}. */
export async function soon(
  what: string,
  isSo: () => boolean | Promise<boolean>,
  asking?: Asking,
): Promise<void> {
  await found(what, async () => (await isSo()) || undefined, asking);
}
