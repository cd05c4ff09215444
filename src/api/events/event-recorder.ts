import { microTimeText } from '../../kube/time.ts';
import type { Clock } from '../../base/clock.ts';
import { messageOf } from '../../base/errors.ts';
import { type Logger, silentLogger } from '../../base/logger.ts';
import { jitter, type Random, systemRandom } from '../../base/random.ts';
import type { EventDetails, EventRecorder } from '../../kube/events.ts';
import { withKind } from '../../kube/names.ts';
import { rfc3339 } from '../../kube/time.ts';
import type { Event, KubeObject } from '../../kube/types.ts';
import { type ApiClient, ApiError, hasCause, isAlreadyExists, isNotFound } from '../client.ts';
import { EventCorrelator, type RawEvent, type Verdict } from './event-correlator.ts';
import { RateLimiter } from '../rest/rate-limiter.ts';
import { eventResource, type Resource } from '../resources.ts';

/** Events in API group `events.k8s.io/v1`. */
const eventV1Resource: Resource = { ...eventResource, group: 'events.k8s.io' };

export interface EventBroadcasterDeps {
  readonly client: ApiClient;
  readonly clock: Clock;
  readonly random?: Random;
  readonly logger?: Logger;
  /** Called with each event as it is reported, before it is combined or limited. */
  readonly observe?: (event: RawEvent) => void;
}

export interface EventBroadcasterOptions {
  /** The reporting component: `source.component` and `reportingComponent`. Default `kubelet`. */
  readonly component?: string;
  /** The node: `source.host` and `reportingInstance`. */
  readonly host: string;
  /**
   * The API that events are written to; falls back to the core one where the server has no `events.k8s.io/v1`. Default `v1`, as the
   * kubelet's.
   */
  readonly api?: 'v1' | 'events.k8s.io/v1';
  /** Events that may wait while the server is unreachable; further ones are dropped and counted. Default 1,000. */
  readonly maxWaiting?: number;
  /** Writes per second, and burst (R281). Default 50 and 100. */
  readonly qps?: number;
  readonly burst?: number;
}

/** How often and how far apart an event is retried while the server is unreachable (client-go). */
const maxTries = 12;
const retryMs = 10_000;

/**
 * EventBroadcaster writes events in the background: counted, combined and limited as client-go does it. An outage of the server costs at
 * most `maxWaiting` events of memory; waiting events are written when it is back.
 *
 * @example
 * const events = new EventBroadcaster({ client, clock }, { host: 'worker-1' });
 * events.event(pod, 'Normal', 'Started', 'Started container main');
 * await events.flush();
 */
export class EventBroadcaster implements EventRecorder {
  readonly #deps: EventBroadcasterDeps;
  readonly #options: Required<EventBroadcasterOptions>;
  readonly #correlator = new EventCorrelator();
  readonly #limiter: RateLimiter;
  readonly #random: Random;
  readonly #logger: Logger;
  readonly #waiting: RawEvent[] = [];
  readonly #stop = new AbortController();
  #sending: Promise<void> | undefined;
  #lost = 0;
  #sequence = 0;
  #core: boolean;

  constructor(deps: EventBroadcasterDeps, options: EventBroadcasterOptions) {
    this.#deps = deps;
    this.#options = { component: 'kubelet', api: 'v1', maxWaiting: 1000, qps: 50, burst: 100, ...options };
    this.#core = this.#options.api === 'v1';
    this.#limiter = new RateLimiter(deps.clock, this.#options.qps, this.#options.burst);
    this.#random = deps.random ?? systemRandom;
    this.#logger = deps.logger ?? silentLogger;
  }

  /** The number of events dropped because too many were waiting. */
  get lost(): number {
    return this.#lost;
  }

  // eslint-disable-next-line @typescript-eslint/max-params -- the contract's shape, which is client-go's
  event(
    object: KubeObject,
    type: 'Normal' | 'Warning',
    reason: string,
    message: string,
    details: EventDetails = {},
  ): void {
    this.#record({ object, type, reason, message }, details);
  }

  /** Returns a recorder for another node of this process: its events share the queue, the limits and the memory of this broadcaster. */
  recorderOf(host: string): EventRecorder {
    return {
      // eslint-disable-next-line @typescript-eslint/max-params -- as above
      event: (object, type, reason, message, details = {}) => {
        this.#record({ object, type, reason, message, host }, details);
      },
    };
  }

  #record(
    event: Pick<RawEvent, 'object' | 'type' | 'reason' | 'message' | 'host'>,
    { fieldPath = '', annotations }: EventDetails,
  ): void {
    if (this.#stop.signal.aborted) return;
    const raw: RawEvent = {
      ...event,
      object: withKind(event.object),
      fieldPath,
      annotations,
      at: this.#deps.clock.now(),
    };
    this.#deps.observe?.(raw);
    if (this.#waiting.length >= this.#options.maxWaiting) {
      this.#lost++;
      return;
    }
    this.#waiting.push(raw);
    this.#sending ??= this.#send();
  }

  /** Resolves when no event is waiting. */
  async flush(): Promise<void> {
    while (this.#sending) await this.#sending;
  }

  /** Discards waiting events and stops writing. */
  stop(): void {
    this.#waiting.length = 0;
    this.#stop.abort();
  }

  async #send(): Promise<void> {
    await Promise.resolve();
    for (let raw = this.#waiting[0]; raw; raw = this.#waiting[0]) {
      const verdict = this.#correlator.judge(raw);
      if (verdict.action !== 'drop') await this.#deliver(raw, verdict);
      this.#waiting.shift();
    }
    this.#sending = undefined;
  }

  async #deliver(raw: RawEvent, first: Exclude<Verdict, { action: 'drop' }>): Promise<void> {
    const { signal } = this.#stop;
    let verdict = first;
    for (let tries = 1; !signal.aborted; tries++) {
      try {
        await this.#limiter.acquire(2, signal);
        this.#correlator.remember(verdict.key, await this.#write(raw, verdict));
        return;
      } catch (reason) {
        if (this.#stopped()) return;
        if (verdict.action === 'count' && isNotFound(reason)) {
          this.#correlator.forget(verdict.key);
          verdict = { action: 'create', key: verdict.key, message: verdict.message };
        } else if (!this.#core && isNotFound(reason)) this.#core = true;
        else if (!worthRetry(reason) || tries >= maxTries) {
          this.#report(raw, reason);
          return;
        } else await this.#pause(tries);
      }
    }
  }

  #stopped(): boolean {
    return this.#stop.signal.aborted;
  }

  /** The first wait is a random part of its length, so that a fleet of agents does not retry at once. */
  async #pause(tries: number): Promise<void> {
    const ms = tries === 1 ? this.#random.float() * retryMs : jitter(this.#random, retryMs, 0.1);
    await this.#deps.clock.sleep(ms, this.#stop.signal).catch(() => undefined);
  }

  #report(raw: RawEvent, reason: unknown): void {
    if (isAlreadyExists(reason)) return;
    // Deleting a namespace with pods rejects the last events of all of them.
    const level = hasCause(reason, 'NamespaceTerminating') ? 'debug' : 'warn';
    this.#logger[level]('cannot write event', { reason: raw.reason, err: messageOf(reason) });
  }

  async #write(raw: RawEvent, verdict: Exclude<Verdict, { action: 'drop' }>): Promise<Event> {
    const { client } = this.#deps;
    const options = { signal: this.#stop.signal };
    if (verdict.action === 'create') {
      const event = this.#core ? this.#coreEvent(raw, verdict.message) : this.#newEvent(raw, verdict.message);
      return await client.create<Event>(this.#core ? eventResource : eventV1Resource, event, options);
    }
    const { namespace = 'default', name = '' } = verdict.recorded.metadata;
    const body = this.#core
      ? { count: verdict.count, lastTimestamp: rfc3339(raw.at), message: verdict.message }
      : { series: { count: verdict.count, lastObservedTime: microTimeText(raw.at) } };
    const resource = this.#core ? eventResource : eventV1Resource;
    const patch = { type: 'strategic', body } as const;
    const patched = await client.patch<Event>(resource, { namespace, name }, patch, options);
    return { ...patched, count: verdict.count };
  }

  #coreEvent(raw: RawEvent, message: string): Event {
    const { component } = this.#options;
    const { host = this.#options.host } = raw;
    return {
      kind: 'Event',
      apiVersion: 'v1',
      metadata: this.#metadata(raw),
      involvedObject: reference(raw),
      reason: raw.reason,
      message,
      source: { component, host },
      firstTimestamp: rfc3339(raw.at),
      lastTimestamp: rfc3339(raw.at),
      count: 1,
      type: raw.type,
      reportingComponent: component,
      reportingInstance: host,
    };
  }

  #newEvent(raw: RawEvent, message: string): Event {
    const { component } = this.#options;
    const { host = this.#options.host } = raw;
    const event = {
      kind: 'Event',
      apiVersion: 'events.k8s.io/v1',
      metadata: this.#metadata(raw),
      eventTime: microTimeText(raw.at),
      action: raw.reason,
      regarding: reference(raw),
      reason: raw.reason,
      note: message.slice(0, 1024),
      type: raw.type,
      reportingController: component,
      reportingInstance: host,
    };
    return event as unknown as Event;
  }

  #metadata(raw: RawEvent): Event['metadata'] {
    const { name = '', namespace = 'default' } = raw.object.metadata ?? {};
    const stamp = BigInt(raw.at) * 1_000_000n + BigInt(this.#sequence++ % 1_000_000);
    return {
      name: `${name}.${stamp.toString(16)}`,
      namespace: namespace === '' ? 'default' : namespace,
      ...(raw.annotations && { annotations: raw.annotations }),
    };
  }
}

/** True when a retry may help: the server was busy or unreachable, and did not reject the event. */
const worthRetry = (reason: unknown): boolean =>
  !(reason instanceof ApiError) || reason.status === 0 || reason.status === 429 || reason.status >= 500;

function reference({ object, fieldPath }: RawEvent): Event['involvedObject'] {
  const { kind, apiVersion, metadata } = object;
  return {
    ...(kind !== undefined && { kind }),
    ...(metadata?.namespace !== undefined && { namespace: metadata.namespace }),
    ...(metadata?.name !== undefined && { name: metadata.name }),
    ...(metadata?.uid !== undefined && { uid: metadata.uid }),
    ...(apiVersion !== undefined && { apiVersion }),
    ...(metadata?.resourceVersion !== undefined && { resourceVersion: metadata.resourceVersion }),
    ...(fieldPath !== '' && { fieldPath }),
  };
}
