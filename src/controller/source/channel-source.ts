import { isAborted, untilAborted } from '../../base/abort.ts';
import { AgentError, messageOf } from '../../base/errors.ts';
import type { EventHandler } from '../handler/handler.ts';
import type { GenericEvent } from '../handler/event.ts';
import type { Predicate } from '../predicate/predicate.ts';
import type { KubeObject } from '../types.ts';
import { EventSink } from './event-sink.ts';
import type { Source, SourceQueue } from './source.ts';

/** Options of {@link channelSource}. */
export interface ChannelSourceOptions<T extends KubeObject> {
  /** All of them must let an event pass. */
  readonly predicates?: readonly Predicate<T>[];
  /** Events that are read ahead of an asynchronous handler. Default 1024. */
  readonly bufferSize?: number;
}

/**
 * Returns a source of events from outside of the cluster, e.g. of a webhook or a queue. Each is passed to `generic` of the handler. The
 * events are read from the start of the source until they end or the controller stops.
 *
 * @example
 * const wake = new PassThrough({ objectMode: true });
 * builder.watchesRawSource(channelSource(wake, enqueueRequestForObject));
 * wake.write({ object: { metadata: { namespace: 'default', name: 'web' } } });
 */
export function channelSource<T extends KubeObject>(
  events: AsyncIterable<GenericEvent<T>>,
  handler: EventHandler<T>,
  options: ChannelSourceOptions<T> = {},
): Source {
  if ((events as AsyncIterable<GenericEvent<T>> | undefined)?.[Symbol.asyncIterator] === undefined)
    throw new AgentError('invalid_argument', 'channel source: an async iterable of events is required');
  const { predicates = [], bufferSize = 1024 } = options;
  let sink: EventSink<T> | undefined;
  return {
    start: (signal, queue) => {
      sink = new EventSink({ queue, handler, predicates, source: 'channel source' });
      void deliver(events, sink, { signal, bufferSize }).catch((reason: unknown) => {
        if (!isAborted(signal)) queue.failed?.(`channel source ended: ${messageOf(reason)}`);
      });
    },
    idle: async (signal) => {
      if (sink) await untilAborted(sink.idle(), signal);
    },
    toString: () => 'channel source',
  };
}

async function deliver<T extends KubeObject>(
  events: AsyncIterable<GenericEvent<T>>,
  sink: EventSink<T>,
  { signal, bufferSize }: { readonly signal: AbortSignal; readonly bufferSize: number },
): Promise<void> {
  const iterator = events[Symbol.asyncIterator]();
  try {
    while (!isAborted(signal)) {
      const next = await untilAborted(iterator.next(), signal);
      if (next.done) return;
      sink.generic(next.value);
      if (sink.pending >= bufferSize) await untilAborted(sink.idle(), signal);
    }
  } finally {
    // not awaited: a generator that waits for its next event ends only with that
    if (isAborted(signal)) void Promise.resolve(iterator.return?.()).catch(() => undefined);
  }
}

/**
 * Returns a source that a function starts; it adds requests to the queue itself, until `signal` aborts. The function returns once it has
 * started.
 *
 * @example
 * builder.watchesRawSource(funcSource((signal, queue) => poll(signal, (name) => queue.add({ namespace: '', name }))));
 */
export function funcSource(start: (signal: AbortSignal, queue: SourceQueue) => void | Promise<void>): Source {
  return { start, toString: () => 'func source' };
}
