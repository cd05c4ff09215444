import { type Clock, steadyNow } from '../base/clock.ts';
import type { PodProvider } from '../provider/provider.ts';
import { messageOf } from '../base/errors.ts';

/** How long the runtime may be silent before it counts as down, ms (kubelet `maxWaitForContainerRuntime`). */
export const runtimeDownAfterMs = 30_000;

/** One part of the runtime whose health the sync loop waits for, e.g. the PLEG. */
export interface HealthCheck {
  readonly name: string;
  /** What is wrong; absent: healthy. */
  readonly check: () => string | undefined;
}

/**
 * What is known of the runtime's health (R36). `errors()` stops the sync loop, `networkError()` only pods that want a network (R143).
 * Follows kubelet `runtimeState`.
 */
export class RuntimeState {
  readonly #clock: Clock;
  readonly #checks: HealthCheck[] = [];
  #lastSyncAt: number | undefined;
  #runtimeError: string | undefined;
  #networkError: string | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  addHealthCheck(check: HealthCheck): void {
    this.#checks.push(check);
  }

  /** The runtime answered its status call. An absent member means that the condition holds. */
  observed(status: { readonly runtimeError?: string; readonly networkError?: string }): void {
    this.#lastSyncAt = steadyNow(this.#clock);
    this.#runtimeError = status.runtimeError;
    this.#networkError = status.networkError;
  }

  /** The runtime has not answered at all so far; `error` says why. */
  unreachable(error: string): void {
    this.#runtimeError = error;
  }

  errors(): readonly string[] {
    const found: string[] = [];
    if (this.#lastSyncAt === undefined)
      found.push('container runtime status check may not have completed yet');
    else if (steadyNow(this.#clock) - this.#lastSyncAt >= runtimeDownAfterMs)
      found.push('container runtime is down');
    for (const { name, check } of this.#checks) {
      const wrong = check();
      if (wrong !== undefined) found.push(`${name} is not healthy: ${wrong}`);
    }
    if (this.#runtimeError !== undefined) found.push(this.#runtimeError);
    return found;
  }

  networkError(): string | undefined {
    return this.#networkError;
  }
}

/** Between two looks at the runtime's health, ms (kubelet `updateRuntimeUp`). */
const periodMs = 5000;

/** Until the runtime has answered once it is asked this often, ms. */
const firstPeriodMs = 100;

/** Keeps the runtime state fresh until `signal` aborts: a provider without the power to tell counts as well. */
export async function watchRuntime(
  { clock, provider }: { readonly clock: Clock; readonly provider: Pick<PodProvider, 'runtimeHealth'> },
  state: RuntimeState,
  signal: AbortSignal,
): Promise<void> {
  let answered = false;
  while (!signal.aborted) {
    try {
      state.observed((await provider.runtimeHealth?.(signal)) ?? {});
      answered = true;
    } catch (reason) {
      // silence is what counts: after 30 s the state says that the runtime is down
      if (!answered) state.unreachable(messageOf(reason));
    }
    await clock.sleep(answered ? periodMs : firstPeriodMs, signal).catch(() => undefined);
  }
}
