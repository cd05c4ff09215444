import { isAborted } from '../base/abort.ts';
import type { Clock } from '../base/clock.ts';
import { messageOf } from '../base/errors.ts';
import type { NodeProvider } from '../provider/provider.ts';

/** Fault before the first ping has returned, as in the kubelet's runtime status check. */
const notYet = 'container runtime status check may not have completed yet';

/**
 * PingLoop checks periodically whether the provider can run pods, with at most one ping at a time. A ping that exceeds the time limit
 * counts as failed, and its late result is ignored.
 */
export class PingLoop {
  readonly #provider: NodeProvider;
  readonly #clock: Clock;
  readonly #intervalMs: number;
  readonly #timeoutMs: number | undefined;
  #fault: string | undefined = notYet;

  /** @param timeoutMs absent or `Infinity`: no time limit (virtual-kubelet's default) */
  constructor(
    provider: NodeProvider,
    clock: Clock,
    options: { readonly intervalMs: number; readonly timeoutMs?: number },
  ) {
    this.#provider = provider;
    this.#clock = clock;
    this.#intervalMs = options.intervalMs;
    this.#timeoutMs = options.timeoutMs;
  }

  /** Why the provider cannot run pods; `undefined` while it can. */
  get fault(): string | undefined {
    return this.#fault;
  }

  /** Pings until `signal` aborts; `changed` is called when the result differs from the last one. */
  async run(changed: () => void, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const fault = await this.#ping(signal);
      if (isAborted(signal)) return;
      const before = this.#fault;
      this.#fault = fault;
      if (before !== fault) changed();
      await this.#clock.sleep(this.#intervalMs, signal).catch(() => undefined);
    }
  }

  async #ping(signal: AbortSignal): Promise<string | undefined> {
    const own = new AbortController();
    const abort = (): void => {
      own.abort(signal.reason);
    };
    signal.addEventListener('abort', abort, { once: true });
    const late = Promise.withResolvers<string>();
    const timeoutMs = this.#timeoutMs;
    const stop =
      timeoutMs === undefined || timeoutMs === Infinity
        ? () => undefined
        : this.#clock.timer(timeoutMs, () => {
            late.resolve(`the provider did not answer a ping within ${timeoutMs} ms`);
            own.abort(new Error('ping timed out'));
          });
    try {
      // A result that is not a promise is used directly.
      const answer = Promise.resolve(this.#provider.ping(own.signal)).then(
        () => undefined,
        (reason: unknown) => messageOf(reason),
      );
      return await Promise.race([answer, late.promise]);
    } catch (reason) {
      return messageOf(reason);
    } finally {
      stop();
      signal.removeEventListener('abort', abort);
    }
  }
}
