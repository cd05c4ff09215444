import { messageOf } from '../../../base/errors.ts';
import { goQuote } from '../../../go/go-quote.ts';
import { type JsonObject, sameJson, without } from '../../../apimachinery/json.ts';
import type { Kind } from '../../../apimachinery/kinds.ts';
import { internalError } from '../../../apimachinery/status-error.ts';
import type { AdmissionPlugin, Attributes, Reinvocation } from '../plugin.ts';
import { meetsConditions } from './condition-match.ts';
import { type Invocation, invocationOf } from './matching.ts';
import { Reinvocations } from './reinvocations.ts';
import { type ReviewedObjects, typedAs, type Verdict } from './review.ts';
import { isReviewed } from './validating-webhooks.ts';
import { type Webhook, webhooksIn } from './webhook.ts';
import { badVerdict, callWebhook, type WebhookDeps } from './webhook-call.ts';
import { patchedObject, patchStepsOf } from './webhook-patch.ts';

/** The object of a request while webhooks change it: in the kind of the last webhook. */
interface Current {
  readonly kind: Kind;
  readonly object: JsonObject | undefined;
}

/** One round of the mutating webhooks over one request. */
class Round {
  readonly #attributes: Attributes;
  readonly #deps: WebhookDeps;
  readonly #reinvocations: Reinvocations;
  #current: Current;

  constructor(attributes: Attributes, deps: WebhookDeps, reinvocations: Reinvocations) {
    this.#attributes = attributes;
    this.#deps = deps;
    this.#reinvocations = reinvocations;
    this.#current = { kind: attributes.kind, object: attributes.object };
  }

  /** Calls the webhooks one after the other, and returns what they made of the object. */
  async run(webhooks: readonly Webhook[]): Promise<JsonObject | undefined> {
    for (const [index, webhook] of webhooks.entries()) {
      const invocation = this.#invocation(webhook);
      if (!invocation) continue;
      const reviewed = await this.#reviewed(invocation);
      const isMet = meetsConditions(this.#attributes, invocation, reviewed, this.#deps);
      if (isMet && this.#isCalled(webhook)) await this.#call(invocation, reviewed, index);
    }
    const { kind } = this.#attributes;
    await this.#convert(kind);
    const { object } = this.#current;
    this.#reinvocations.end(object);
    return object;
  }

  #invocation(webhook: Webhook): Invocation | undefined {
    const { object } = this.#current;
    const matched = { ...this.#attributes, ...(object && { object }) };
    return invocationOf(webhook, matched, (kind, part) => this.#deps.objects.equivalents(kind, part));
  }

  #isCalled(webhook: Webhook): boolean {
    return !this.#attributes.reinvocation.again || this.#reinvocations.isDue(webhook);
  }

  async #convert(kind: Kind): Promise<void> {
    const { kind: from, object } = this.#current;
    if (from === kind) return;
    this.#current = { kind, object: object && (await this.#deps.objects.convert(object, from, kind)) };
  }

  async #reviewed({ kind }: Invocation): Promise<ReviewedObjects> {
    await this.#convert(kind);
    const { object } = this.#current;
    const { oldObject, kind: requested } = this.#attributes;
    const before =
      oldObject && kind !== requested
        ? await this.#deps.objects.convert(oldObject, requested, kind)
        : oldObject;
    return { ...(object && { object }), ...(before && { oldObject: before }) };
  }

  async #call(invocation: Invocation, reviewed: ReviewedObjects, index: number): Promise<void> {
    const { webhook } = invocation;
    const { context, reinvocation } = this.#attributes;
    const place = `round_${reinvocation.again ? 1 : 0}_index_${index}`;
    let changed: boolean | undefined;
    try {
      changed = await callWebhook(this.#attributes, invocation, reviewed, {
        deps: this.#deps,
        use: (verdict) => this.#apply(webhook, verdict, place),
        failedOpen: () =>
          context.annotate?.(`failed-open.mutation.webhook.admission.k8s.io/${place}`, webhook.name),
      });
    } finally {
      const value = {
        configuration: webhook.configuration,
        webhook: webhook.name,
        mutated: changed === true,
      };
      context.annotate?.(`mutation.webhook.admission.k8s.io/${place}`, JSON.stringify(value));
    }
    if (changed === true) {
      this.#reinvocations.changed();
      reinvocation.request();
    }
    this.#reinvocations.called(webhook);
  }

  /** Applies the patch of a verdict. @returns whether it changed the object */
  #apply(webhook: Webhook, { patch, patchType }: Verdict, place: string): boolean {
    if (patch === '') return false;
    const steps = stepsOf(webhook, patch);
    if (steps.length === 0) return false;
    const { kind, object } = this.#current;
    const { subresource } = this.#attributes;
    if (!object)
      throw internalError(
        `admission webhook ${goQuote(webhook.name)} attempted to modify the object, which is not supported for this operation`,
      );
    if (patchType !== 'JSONPatch') throw badVerdict(webhook, `unsupported patch type ${goQuote(patchType)}`);
    const next = this.#patched(typedAs(object, kind, subresource) ?? {}, steps);
    this.#current = { kind, object: next };
    const applied = { configuration: webhook.configuration, webhook: webhook.name, patch: steps, patchType };
    const key = `patch.webhook.admission.k8s.io/${place}`;
    this.#attributes.context.annotate?.(key, JSON.stringify(applied), 'Request');
    return !sameJson(next, object);
  }

  #patched(typed: JsonObject, steps: readonly JsonObject[]): JsonObject {
    const { kind } = this.#current;
    try {
      const next = without(patchedObject(typed, steps), 'kind', 'apiVersion');
      return this.#deps.objects.read(kind, this.#attributes.subresource, next);
    } catch (reason) {
      throw internalError(messageOf(reason));
    }
  }
}

function stepsOf(webhook: Webhook, patch: string): readonly JsonObject[] {
  try {
    return patchStepsOf(patch);
  } catch (reason) {
    throw badVerdict(webhook, `received undecodable patch in webhook response: ${messageOf(reason)}`);
  }
}

/**
 * MutatingAdmissionWebhook lets the webhooks of MutatingWebhookConfigurations change a request, one after the other. Those with
 * `reinvocationPolicy: IfNeeded` are called once more after a later change.
 */
export function mutatingWebhooks(deps: WebhookDeps): AdmissionPlugin {
  const requests = new WeakMap<Reinvocation, Reinvocations>();
  return {
    name: 'MutatingAdmissionWebhook',
    handles: (_operation, kind) => isReviewed(kind),
    admit(attributes) {
      const { reinvocation, context, object } = attributes;
      const webhooks = webhooksIn(context.world.store, 'mutating');
      if (webhooks.length === 0) return undefined;
      const reinvocations = requests.get(reinvocation) ?? new Reinvocations();
      requests.set(reinvocation, reinvocations);
      if (reinvocation.again) reinvocations.again(object);
      const equivalents = (kind: Kind, subresource: string): readonly Kind[] =>
        deps.objects.equivalents(kind, subresource);
      if (!webhooks.some((webhook) => invocationOf(webhook, attributes, equivalents))) {
        reinvocations.end(object);
        return undefined;
      }
      return new Round(attributes, deps, reinvocations).run(webhooks);
    },
  };
}
