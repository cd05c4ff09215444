import { steadyNow } from '../../../base/clock.ts';
import { messageOf } from '../../../base/errors.ts';
import { goQuote } from '../../../go/go-quote.ts';
import { type JsonObject, stringAt } from '../../../apimachinery/json.ts';
import type { Kind } from '../../../apimachinery/kinds.ts';
import { badRequest, internalError, StatusError } from '../../../apimachinery/status-error.ts';
import type { Authorizer } from '../../authorization/authorizer.ts';
import type { WebhookClient } from '../../webhooks/webhook-client.ts';
import type { Attributes } from '../plugin.ts';
import type { Invocation } from './matching.ts';
import { type ReviewedObjects, reviewOf, reviewVersionOf, type Verdict, verdictOf } from './review.ts';
import type { Webhook } from './webhook.ts';
import type { WebhookMetrics } from './webhook-metrics.ts';

/** Objects of served kinds, as webhooks see them. */
export interface ServedObjects {
  /** Returns the other kinds that serve the same objects, and have the subresource. */
  equivalents(kind: Kind, subresource: string): readonly Kind[];
  /** Returns an object as the API would read it: without unknown fields, with defaults. @throws {Error} */
  read(kind: Kind, subresource: string, object: JsonObject): JsonObject;
  /** Returns an object of one kind as another one of the same objects. */
  convert(object: JsonObject, from: Kind, to: Kind): Promise<JsonObject>;
  /** Returns a stored object as a kind serves it: a promise where a webhook converts it. */
  served(stored: JsonObject, kind: Kind): JsonObject | Promise<JsonObject>;
}

/** What the plug-ins of webhooks use. */
export interface WebhookDeps {
  readonly client: Pick<WebhookClient, 'post'>;
  readonly objects: ServedObjects;
  /** Decides what match conditions ask of `authorizer`; absent: they have no such variable. */
  readonly authorizer?: Pick<Authorizer, 'decideNow'>;
  readonly metrics: WebhookMetrics;
}

/** A webhook could not be called, or answered with something else than a verdict: its failure policy decides. */
class CallFailure extends Error {
  readonly code: number;

  constructor({ name }: Webhook, why: string, code: number, cause?: unknown) {
    super(`failed calling webhook ${goQuote(name)}: ${why}`, { cause });
    this.code = code;
  }
}

/** A webhook denied the request. */
class Denial extends Error {
  readonly status: StatusError;

  constructor(status: StatusError) {
    super(status.message);
    this.status = status;
  }
}

const noneTypes: ReadonlySet<string> = new Set(['None', 'NoneOnDryRun']);

/** @throws {StatusError} 400 for a dry run of a request whose webhook has side effects */
function checkDryRun({ name, sideEffects }: Webhook, dryRun: boolean): void {
  if (dryRun && !noneTypes.has(sideEffects))
    throw badRequest(`admission webhook ${goQuote(name)} does not support dry run`);
}

/** Returns the error of a denied request. Follows apiserver `ToStatusErr`. */
function denial({ name }: Webhook, result: JsonObject = {}): StatusError {
  const why = stringAt(result, 'message') || stringAt(result, 'reason');
  const head = `admission webhook ${goQuote(name)} denied the request`;
  const code = Math.max(400, Number(result['code'] ?? 0));
  const message = why === '' ? `${head} without explanation` : `${head}: ${why}`;
  const details = result['details'] as JsonObject | undefined;
  return new StatusError(code, stringAt(result, 'reason'), message, details ? { details } : {});
}

const auditKey = /^([A-Za-z0-9]([-A-Za-z0-9.]*[A-Za-z0-9])?)\/[A-Za-z0-9]([-\w.]*[A-Za-z0-9])?$/;

/** Adds the annotations of a webhook under its name; keys that audit does not accept are left out. */
function annotate({ context }: Attributes, { name }: Webhook, { auditAnnotations }: Verdict): void {
  for (const [key, value] of Object.entries(auditAnnotations)) {
    const full = `${name}/${key}`;
    if (auditKey.test(full) && key.length <= 63) context.annotate?.(full, value);
  }
}

async function answerOf(
  attributes: Attributes,
  invocation: Invocation,
  reviewed: ReviewedObjects,
  { client }: WebhookDeps,
): Promise<Verdict> {
  const { webhook } = invocation;
  const uid = attributes.context.world.random.uuid();
  const failed = (why: string, code: number) => (reason: unknown) =>
    new CallFailure(
      webhook,
      `${why}: ${messageOf(reason)}`,
      reason instanceof StatusError ? reason.code : code,
      reason,
    );
  const version = orThrow(
    () => reviewVersionOf(webhook.reviewVersions),
    failed('could not create admission objects', 400),
  );
  const body = reviewOf(attributes, invocation, { ...reviewed, uid });
  const { clientConfig: config, timeoutSeconds } = webhook;
  let answer: JsonObject;
  try {
    answer = await client.post({ config, body, timeoutSeconds });
  } catch (reason) {
    throw failed('failed to call webhook', 503)(reason);
  }
  return orThrow(
    () => verdictOf(answer, { uid, version, mutating: webhook.type === 'mutating' }),
    failed('received invalid webhook response', 503),
  );
}

function orThrow<T>(act: () => T, failure: (reason: unknown) => Error): T {
  try {
    return act();
  } catch (reason) {
    throw failure(reason);
  }
}

/** Sends a review and returns the verdict of a webhook that allowed the request; its warnings and annotations are added. */
async function called(
  attributes: Attributes,
  invocation: Invocation,
  reviewed: ReviewedObjects,
  deps: WebhookDeps,
): Promise<Verdict> {
  const { webhook } = invocation;
  checkDryRun(webhook, attributes.context.dryRun);
  const verdict = await answerOf(attributes, invocation, reviewed, deps);
  annotate(attributes, webhook, verdict);
  attributes.context.warnings.push(...verdict.warnings);
  if (!verdict.allowed) throw new Denial(denial(webhook, verdict.result));
  return verdict;
}

/** Returns the error kind and the status code of a failed call, for metrics. */
const faultOf = (
  reason: unknown,
): {
  readonly error: 'calling_webhook_error' | 'no_error' | 'apiserver_internal_error';
  readonly code: number;
} => {
  if (reason instanceof CallFailure) return { error: 'calling_webhook_error', code: reason.code };
  if (reason instanceof Denial) return { error: 'no_error', code: reason.status.code };
  return { error: 'apiserver_internal_error', code: 0 };
};

/**
 * Calls a webhook and lets `use` work on the verdict of one that allowed the request. A failure of the call counts as allowed where the
 * webhook's failure policy says so.
 *
 * @param failedOpen called for a failure that is ignored
 * @returns undefined for a failure that is ignored
 * @throws {StatusError} for a denial, and for a failure that is not ignored
 */
export async function callWebhook<T>(
  attributes: Attributes,
  invocation: Invocation,
  reviewed: ReviewedObjects,
  run: {
    readonly deps: WebhookDeps;
    readonly use: (verdict: Verdict) => T;
    readonly failedOpen: () => void;
  },
): Promise<T | undefined> {
  const { webhook } = invocation;
  const { deps, use, failedOpen } = run;
  const { operation, context } = attributes;
  const start = steadyNow(context.world.clock);
  const seconds = (): number => (steadyNow(context.world.clock) - start) / 1000;
  try {
    const result = use(await called(attributes, invocation, reviewed, deps));
    deps.metrics.observe(webhook, { operation, seconds: seconds(), rejected: false, code: 200 });
    return result;
  } catch (reason) {
    const isIgnored = reason instanceof CallFailure && webhook.ignoresFailures;
    deps.metrics.observe(webhook, {
      operation,
      seconds: seconds(),
      rejected: !isIgnored,
      ...faultOf(reason),
    });
    if (isIgnored) {
      deps.metrics.failedOpen(webhook);
      failedOpen();
      return undefined;
    }
    if (reason instanceof Denial) throw reason.status;
    throw reason instanceof CallFailure ? internalError(reason.message) : reason;
  }
}

/** Returns a failure about the verdict of a webhook, which its failure policy decides on. */
export const badVerdict = (webhook: Webhook, why: string): Error => new CallFailure(webhook, why, 503);
