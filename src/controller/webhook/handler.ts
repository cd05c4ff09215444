import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/logger.ts';
import type { WebhookMetrics } from './webhook-metrics.ts';

/** What a webhook is served with. */
export interface ServingContext {
  /** Aborts at the deadline of the request, and when the client has gone. */
  readonly signal: AbortSignal;
  readonly logger: Logger;
  readonly clock: Clock;
  readonly metrics: WebhookMetrics;
  /** Settles as `work` does, or rejects with the reason of `signal` as soon as that aborts; `work` itself goes on then. */
  until<T>(work: Promise<T>): Promise<T>;
}

/** WebhookHandler answers the requests of one path. */
export interface WebhookHandler {
  serve(request: IncomingMessage, response: ServerResponse, context: ServingContext): Promise<void>;
}
