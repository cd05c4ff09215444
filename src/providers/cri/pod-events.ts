import type { Clock } from '../../base/clock.ts';
import { AgentError } from '../../base/errors.ts';
import type { ContainerEventResponse } from '../../provider/cri-messages.ts';
import type { CriRuntime } from './runtime.ts';

/** Delay before an ended event stream is opened again, ms. */
const againAfterMs = 1000;

/** Dependencies of the event watch: the runtime and the clock. */
export interface PodEventsDeps {
  readonly runtime: Pick<CriRuntime, 'getContainerEvents'>;
  readonly clock: Clock;
}

/**
 * Reports pods whose containers changed according to the runtime's events, until `signal` aborts. Without event support nothing is
 * reported; a lost stream is opened again. Missed events are harmless: events only make the next listing come earlier.
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

/** Returns the pod UID of an event; empty for a removed sandbox, whose event has none. */
const podUidOf = ({ podSandboxStatus }: ContainerEventResponse): string =>
  podSandboxStatus?.metadata?.uid ?? '';

/** {@link watchPodEvents} as a power of a provider. */
export const podEventsOf =
  (deps: PodEventsDeps): ((listener: (uid: string) => void) => () => void) =>
  (listener) => {
    const stop = new AbortController();
    void watchPodEvents(deps, listener, stop.signal);
    return () => {
      stop.abort();
    };
  };
