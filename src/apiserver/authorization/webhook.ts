import { LRUCache } from 'lru-cache';
import type { Clock } from '../../base/clock.ts';
import { messageOf } from '../../base/errors.ts';
import { jitter, type Random } from '../../base/random.ts';
import { type JsonObject, objectAt, stringAt } from '../../apimachinery/json.ts';
import { fieldTerms, labelRequirements } from '../../apimachinery/selectors.ts';
import type { Attributes } from './attributes.ts';
import type { AuthorizationMode, Opinion, UserRules } from './mode.ts';
import type { AuthorizationWebhookMetrics } from './webhook-metrics.ts';

/** A service that decides who may do what. */
export interface AuthorizationWebhook {
  /**
   * Sends a SubjectAccessReview and returns the answered one. It must have a deadline, and fail with the HTTP `status` of an answer that is
   * none, and with `name: 'TimeoutError'` or `status: 504` at its deadline.
   */
  readonly review: (review: JsonObject, signal: AbortSignal) => Promise<unknown>;
  /** Version of `authorization.k8s.io` that it speaks. Default: `v1`. */
  readonly version?: 'v1' | 'v1beta1';
  /** How long it is not asked again about what it has allowed, ms; 0: it always is. Default: 5 minutes. */
  readonly authorizedTtlMs?: number;
  /** How long it is not asked again about what it has not allowed, ms; 0: it always is. Default: 30 s. */
  readonly unauthorizedTtlMs?: number;
}

export interface WebhookModeDeps {
  readonly clock: Clock;
  readonly random: Random;
  /** Ends every call when the server stops. */
  readonly stopping: AbortSignal;
  readonly metrics: AuthorizationWebhookMetrics;
}

/** Number of decisions that are kept. */
const decisionsMost = 8192;
/** Requests whose attributes are longer are not kept. */
const attributesMost = 10_000;
/** How often a call is tried, and how long the first wait is. */
const [triesMost, firstWaitMs, waitFactor, waitJitter] = [5, 500, 1.5, 0.2];

/** WebhookMode asks a service, and keeps its decisions. Follows kube-apiserver's mode Webhook (v1.36): a failed call decides nothing. */
export class WebhookMode implements AuthorizationMode {
  readonly #webhook: AuthorizationWebhook;
  readonly #deps: WebhookModeDeps;
  readonly #decisions = new LRUCache<string, { readonly opinion: Opinion; readonly until: number }>({
    max: decisionsMost,
  });

  constructor(webhook: AuthorizationWebhook, deps: WebhookModeDeps) {
    this.#webhook = webhook;
    this.#deps = deps;
  }

  decide(at: Attributes): Opinion | Promise<Opinion> {
    const spec = specOf(at, this.#version);
    const key = JSON.stringify(spec);
    return this.#cached(key) ?? this.#ask(spec, key);
  }

  decideNow(at: Attributes): Opinion {
    const error = 'webhook authorizer: the decision is not known yet, and expressions do not wait for it';
    return this.#cached(JSON.stringify(specOf(at, this.#version))) ?? { verdict: 'none', reason: '', error };
  }

  rules(): UserRules {
    return { rules: [], errors: ['webhook authorizer does not support user rule resolution'] };
  }

  get #version(): 'v1' | 'v1beta1' {
    return this.#webhook.version ?? 'v1';
  }

  #cached(key: string): Opinion | undefined {
    const found = this.#decisions.get(key);
    return found && found.until > this.#deps.clock.now() ? found.opinion : undefined;
  }

  async #ask(spec: JsonObject, key: string): Promise<Opinion> {
    const review = {
      kind: 'SubjectAccessReview',
      apiVersion: `authorization.k8s.io/${this.#version}`,
      metadata: {},
      spec,
      status: { allowed: false },
    };
    let opinion: Opinion;
    try {
      opinion = await this.#send(review);
    } catch (reason) {
      if (!this.#deps.stopping.aborted) this.#deps.metrics.failedOpen(reason);
      return { verdict: 'none', reason: '', error: messageOf(reason) };
    }
    const { authorizedTtlMs = 300_000, unauthorizedTtlMs = 30_000 } = this.#webhook;
    const ttl = opinion.verdict === 'allow' ? authorizedTtlMs : unauthorizedTtlMs;
    if (ttl > 0 && key.length < attributesMost)
      this.#decisions.set(key, { opinion, until: this.#deps.clock.now() + ttl });
    return opinion;
  }

  /** Sends a review, again after a fault that may pass. */
  async #send(review: JsonObject): Promise<Opinion> {
    const { clock, random, stopping, metrics } = this.#deps;
    const once = async (): Promise<Opinion> => opinionIn(await this.#webhook.review(review, stopping));
    let wait = firstWaitMs;
    for (let tries = 1; ; tries++) {
      try {
        return await metrics.measured(once, stopping);
      } catch (reason) {
        if (tries >= triesMost || stopping.aborted || !mayPass(reason)) throw reason;
      }
      await clock.sleep(jitter(random, wait, waitJitter), stopping);
      wait *= waitFactor;
    }
  }
}

/** True for an answer that asks for another try. */
function mayPass(reason: unknown): boolean {
  const { status, retryAfterMs } = reason as { readonly status?: number; readonly retryAfterMs?: number };
  return status === 500 || status === 429 || retryAfterMs !== undefined;
}

/** @throws {Error} for an answer that is no review */
function opinionIn(answer: unknown): Opinion {
  const review = answer as JsonObject;
  if (stringAt(review, 'kind') !== 'SubjectAccessReview')
    throw new Error('the webhook authorizer answered no SubjectAccessReview');
  const { allowed = false, denied = false, reason = '' } = objectAt(review, 'status');
  const said = { reason: String(reason) };
  if (denied === true && allowed === true)
    return {
      verdict: 'deny',
      ...said,
      error: 'webhook subject access review returned both allow and deny response',
    };
  if (denied === true) return { verdict: 'deny', ...said };
  return { verdict: allowed === true ? 'allow' : 'none', ...said };
}

/** Returns the specification of a review; empty members are left out. */
function specOf(at: Attributes, version: 'v1' | 'v1beta1'): JsonObject {
  const { user, verb, path } = at;
  const attributes =
    path === undefined
      ? { resourceAttributes: resourceAttributesOf(at) }
      : { nonResourceAttributes: present({ path, verb }) };
  return {
    ...attributes,
    ...present({ user: user.name }),
    ...(user.groups.length > 0 && { [version === 'v1' ? 'groups' : 'group']: user.groups }),
    ...(user.extra && Object.keys(user.extra).length > 0 && { extra: user.extra }),
    ...present({ uid: user.uid }),
  };
}

function resourceAttributesOf(at: Attributes): JsonObject {
  const { namespace, verb, group, version, resource, subresource, name } = at;
  const fields = requirements(() => fieldRequirements(at.fieldSelector));
  const labels = requirements(() => labelTerms(at.labelSelector));
  return {
    ...present({ namespace, verb, group, version, resource, subresource, name }),
    ...(fields.length > 0 && { fieldSelector: { requirements: fields } }),
    ...(labels.length > 0 && { labelSelector: { requirements: labels } }),
  };
}

/** Returns the requirements of a selector; those of an invalid one are left out, since they only narrow a request. */
function requirements(read: () => readonly JsonObject[]): readonly JsonObject[] {
  try {
    return read();
  } catch {
    return [];
  }
}

const fieldRequirements = (selector = ''): readonly JsonObject[] =>
  fieldTerms(selector).map(({ field, equal, value }) => ({
    key: field,
    operator: equal ? 'In' : 'NotIn',
    values: [value],
  }));

const labelOperators: ReadonlyMap<string, string> = new Map([
  ['=', 'In'],
  ['in', 'In'],
  ['!=', 'NotIn'],
  ['notin', 'NotIn'],
  ['exists', 'Exists'],
  ['!', 'DoesNotExist'],
]);

const labelTerms = (selector = ''): readonly JsonObject[] =>
  labelRequirements(selector).flatMap(({ key, operator: sign, values }) => {
    const operator = labelOperators.get(sign);
    return operator === undefined ? [] : [{ key, operator, ...(values.length > 0 && { values }) }];
  });

const present = (members: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined && value !== ''));
