import type { IncomingMessage, ServerResponse } from 'node:http';
import { isAborted } from '../../base/abort.ts';
import { messageOf } from '../../base/errors.ts';
import { type Logger, silentLogger } from '../../base/logger.ts';
import { isPanic } from '../controller/attempt.ts';
import type { ServingContext, WebhookHandler } from './handler.ts';
import { BodyError, readJsonText, writeJson } from './http-body.ts';
import { keepPristine } from './pristine.ts';
import { RequestLife } from './request-life.ts';
import { errored, refusalOf } from './responses.ts';
import {
  type AdmissionRequest,
  type AdmissionResponse,
  answeredReview,
  defaultReviewVersion,
  parseReview,
  type ReceivedReview,
} from './review.ts';

/** The largest review, bytes: an object of etcd's limit twice, and room for the rest. */
const maxBytes = 7 * 1024 * 1024;

/** What a handler works with besides the request. */
export interface AdmissionContext {
  /** Aborts at the deadline of the request. */
  readonly signal: AbortSignal;
  /** Carries webhook, kind, namespace, name, user and uid of the request. */
  readonly logger: Logger;
}

/** AdmissionHandler decides on a request. What it throws refuses the request. */
export type AdmissionHandler = (
  request: AdmissionRequest,
  context: AdmissionContext,
) => AdmissionResponse | Promise<AdmissionResponse>;

export interface AdmissionOptions {
  /** Answers 500 when a handler panics, i.e. throws a TypeError, RangeError or ReferenceError. Default true; otherwise it ends the process. */
  readonly recoverPanic?: boolean;
}

/** Makes what a handler asks for when it asks: few write a line, and fewer watch the signal. */
class Context implements AdmissionContext {
  readonly #life: Pick<ServingContext, 'signal' | 'until'>;
  readonly #loggerOf: () => Logger;
  #logger: Logger | undefined;

  constructor(life: Pick<ServingContext, 'signal' | 'until'>, loggerOf: () => Logger) {
    this.#life = life;
    this.#loggerOf = loggerOf;
  }

  get signal(): AbortSignal {
    return this.#life.signal;
  }

  get logger(): Logger {
    this.#logger ??= this.#loggerOf();
    return this.#logger;
  }

  until<T>(work: Promise<T>): Promise<T> {
    return this.#life.until(work);
  }
}

/** AdmissionWebhook answers AdmissionReviews, v1 and v1beta1. Register it with a webhook server, or call `handle` in tests. */
export class AdmissionWebhook implements WebhookHandler {
  readonly type: 'validating' | 'mutating';
  readonly #handler: AdmissionHandler;
  readonly #recoverPanic: boolean;

  constructor(
    type: 'validating' | 'mutating',
    handler: AdmissionHandler,
    { recoverPanic = true }: AdmissionOptions = {},
  ) {
    this.type = type;
    this.#handler = handler;
    this.#recoverPanic = recoverPanic;
  }

  /** Decides on a request; never rejects, except for a panic with `recoverPanic: false`. @param onPanic is called for each panic */
  handle(
    request: AdmissionRequest,
    { signal, logger = silentLogger }: Partial<AdmissionContext> = {},
    onPanic: () => void = () => undefined,
  ): Promise<AdmissionResponse> {
    const life = signal ? RequestLife.within(signal) : new RequestLife();
    return this.#decide(request, new Context(life, () => logger), onPanic);
  }

  async serve(request: IncomingMessage, response: ServerResponse, serving: ServingContext): Promise<void> {
    const answer = (apiVersion: string, uid: string, decided: AdmissionResponse): void => {
      writeJson(request, response, { body: answeredReview(apiVersion, uid, decided) });
    };
    let review: ReceivedReview;
    try {
      const text = await serving.until(readJsonText(request, maxBytes));
      review = parseReview(text);
      keepPristine(review.request, text);
    } catch (reason) {
      serving.logger.error('unable to read the admission review', { err: messageOf(reason) });
      answer(defaultReviewVersion, '', errored(reason instanceof BodyError ? reason.code : 400, reason));
      return;
    }
    const { apiVersion, request: reviewed } = review;
    const { uid } = reviewed;
    const context = new Context(serving, () => serving.logger.with(fieldsOf(reviewed)));
    const decided = await this.#decide(reviewed, context, () => {
      serving.metrics.panicked('admission');
    });
    context.logger.debug('wrote response', { allowed: decided.allowed, code: decided.result?.code });
    answer(apiVersion, uid, decided);
  }

  async #decide(
    request: AdmissionRequest,
    context: Context,
    onPanic: () => void,
  ): Promise<AdmissionResponse> {
    try {
      const response = await context.until(this.#call(request, context));
      if (this.type === 'validating' && response.patches !== undefined && response.patches.length > 0)
        return errored(500, 'a validating webhook must not return patches');
      return response;
    } catch (reason) {
      const { signal } = context;
      if (!isPanic(reason) || (isAborted(signal) && reason === signal.reason))
        return refusalOf(reason, signal);
      onPanic();
      return this.#panicked(reason, context.logger);
    }
  }

  async #call(request: AdmissionRequest, context: AdmissionContext): Promise<AdmissionResponse> {
    return this.#handler(request, context);
  }

  #panicked(reason: unknown, logger: Logger): AdmissionResponse {
    const stack = reason instanceof Error ? reason.stack : undefined;
    logger.error('panic in webhook', { err: messageOf(reason), stack });
    if (!this.#recoverPanic) throw reason;
    return errored(500, `panic: ${messageOf(reason)} [recovered]`);
  }
}

const fieldsOf = ({ uid, kind, namespace, name, userInfo }: AdmissionRequest): Record<string, unknown> => ({
  kind: kind.kind,
  ...(namespace !== undefined && { namespace }),
  ...(name !== undefined && { name }),
  user: userInfo.username,
  requestID: uid,
});

/**
 * Returns a webhook that admits or refuses requests.
 *
 * @example
 * manager.webhookServer.register('/validate', validating(({ object }) =>
 *   object?.metadata?.labels?.['team'] ? allowed() : denied('metadata.labels.team is required')));
 */
export const validating = (handler: AdmissionHandler, options?: AdmissionOptions): AdmissionWebhook =>
  new AdmissionWebhook('validating', handler, options);

/** Returns a webhook that may change the objects of requests: answer with {@link patched}. */
export const mutating = (handler: AdmissionHandler, options?: AdmissionOptions): AdmissionWebhook =>
  new AdmissionWebhook('mutating', handler, options);

/** Returns a handler that asks each handler in turn until one refuses; warnings and audit annotations of all are answered. */
export const multiValidating =
  (...handlers: readonly AdmissionHandler[]): AdmissionHandler =>
  async (request, context) => {
    let merged: AdmissionResponse = { allowed: true, result: { code: 200 } };
    for (const handler of handlers) {
      const response = await handler(request, context);
      merged = mergedResponse(merged, response);
      if (!response.allowed) break;
    }
    return merged;
  };

/** Returns a handler that collects the patches of each handler until one refuses. All of them see the object as it was received. */
export const multiMutating =
  (...handlers: readonly AdmissionHandler[]): AdmissionHandler =>
  async (request, context) => {
    let merged: AdmissionResponse = { allowed: true, result: { code: 200 }, patches: [] };
    for (const handler of handlers) {
      const response = await handler(request, context);
      merged = mergedResponse(merged, response);
      if (!response.allowed) return { ...merged, patches: [] };
    }
    return merged;
  };

const mergedResponse = (merged: AdmissionResponse, next: AdmissionResponse): AdmissionResponse => ({
  ...merged,
  ...next,
  patches: [...(merged.patches ?? []), ...(next.patches ?? [])],
  warnings: [...(merged.warnings ?? []), ...(next.warnings ?? [])],
  ...((merged.auditAnnotations ?? next.auditAnnotations) && {
    auditAnnotations: { ...merged.auditAnnotations, ...next.auditAnnotations },
  }),
});
