import type { Emitter } from '../../base/emitter.ts';
import type { ContainerEventResponse } from '../../provider/cri-messages.ts';
import type * as cri from '../../provider/cri-messages.ts';

/** Yields the changes of all containers in order until `signal` aborts. */
export async function* eventStream(
  events: Emitter<ProcessEvents>,
  signal: AbortSignal | undefined,
): AsyncGenerator<ContainerEventResponse> {
  const queue: ContainerEventResponse[] = [];
  let wake = (): void => undefined;
  const off = events.on('change', (_uid, event) => {
    queue.push(event);
    wake();
  });
  const abort = (): void => {
    wake();
  };
  signal?.addEventListener('abort', abort);
  try {
    while (!signal?.aborted) {
      const event = queue.shift();
      if (event) yield event;
      else await new Promise<void>((resolve) => (wake = resolve));
    }
  } finally {
    off();
    signal?.removeEventListener('abort', abort);
  }
}

/** Callbacks for events as they happen. */
export interface ProcessEvents {
  change: [podUid: string, event: cri.ContainerEventResponse];
}
