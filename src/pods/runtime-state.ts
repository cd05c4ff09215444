import { type Clock, steadyNow } from '../base/clock.ts';
import type { PodProvider } from '../provider/provider.ts';
import { messageOf } from '../base/errors.ts';

/** How long the runtime may fail to respond before it counts as down, ms (kubelet `maxWaitForContainerRuntime`). */
export const runtimeDownAfterMs = 30_000;

/** A component whose health the sync loop requires, e.g. the PLEG. */
export interface HealthCheck {
  readonly name: string;
  /** Returns the problem; `undefined` when healthy. */
  readonly check: () => string | undefined;
}

/**
 * RuntimeState holds the health of the runtime (R36). `errors()` stops the sync loop; `networkError()` stops only pods that are not on the
 * host network (R143). Follows kubelet `runtimeState`.
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

  /** Records a response of the runtime to the status call. An absent member means that there is no problem. */
  observed(status: { readonly runtimeError?: string; readonly networkError?: string }): void {
    this.#lastSyncAt = steadyNow(this.#clock);
    this.#runtimeError = status.runtimeError;
    this.#networkError = status.networkError;
  }

  /** Records that the runtime has no health of its own to check: it never counts as down. */
  hasNoHealth(): void {
    this.#lastSyncAt = Infinity;
  }

  /** Records that the runtime has never responded so far, with the error. */
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

/** The time between two health checks of the runtime, ms (kubelet `updateRuntimeUp`). */
const periodMs = 5000;

/** The time between two health checks until the runtime has responded once, ms. */
const firstPeriodMs = 100;

/** Checks the runtime's health until `signal` aborts. A provider without `runtimeHealth` counts as healthy. */
export async function watchRuntime(
  { clock, provider }: { readonly clock: Clock; readonly provider: Pick<PodProvider, 'runtimeHealth'> },
  state: RuntimeState,
  signal: AbortSignal,
): Promise<void> {
  const { runtimeHealth } = provider;
  if (!runtimeHealth) {
    state.hasNoHealth();
    return;
  }
  let answered = false;
  while (!signal.aborted) {
    try {
      state.observed(await runtimeHealth.call(provider, signal));
      answered = true;
    } catch (reason) {
      // a missing response counts: after 30 s the state reports that the runtime is down
      if (!answered) state.unreachable(messageOf(reason));
    }
    await clock.sleep(answered ? periodMs : firstPeriodMs, signal).catch(() => undefined);
  }
}
