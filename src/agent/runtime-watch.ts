import type { Clock } from '../base/clock.ts';
import { messageOf } from '../base/errors.ts';
import type { PodProvider } from '../provider/provider.ts';
import type { RuntimeState } from '../pods/runtime-state.ts';

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
