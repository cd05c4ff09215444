import type { Clock } from '../../base/clock.ts';
import { AgentError } from '../../base/errors.ts';
import type { ContainerEventResponse } from '../../provider/cri-messages.ts';
import type { CriRuntime } from './runtime.ts';

/** Between the end of one stream of events and the next, ms. */
const againAfterMs = 1000;

/** Whom to ask for events, and the clock to wait by. */
export interface PodEventsDeps {
  readonly runtime: Pick<CriRuntime, 'getContainerEvents'>;
  readonly clock: Clock;
}

/**
 * Tells of pods whose containers the runtime says have changed, until `signal` aborts. A runtime without events tells nothing, one
 * that went away is asked again. Events may be missed: they only make the next listing come earlier.
 */
export async function watchPodEvents(
  { runtime, clock }: PodEventsDeps,
  onChange: (podUid: string) => void,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    try {
      for await (const event of runtime.getContainerEvents({}, { signal })) {
        const uid = podUidOf(event);
        if (uid !== '') onChange(uid);
      }
    } catch (reason) {
      if (AgentError.from(reason).code === 'unimplemented') return;
    }
    await clock.sleep(againAfterMs, signal).catch(() => undefined);
  }
}

/** The event of a sandbox that was removed names no pod. */
const podUidOf = ({ podSandboxStatus }: ContainerEventResponse): string =>
  podSandboxStatus?.metadata?.uid ?? '';

/** {@link watchPodEvents} as the power that a provider has. */
export const podEventsOf =
  (deps: PodEventsDeps): ((listener: (uid: string) => void) => () => void) =>
  (listener) => {
    const stop = new AbortController();
    void watchPodEvents(deps, listener, stop.signal);
    return () => {
      stop.abort();
    };
  };
