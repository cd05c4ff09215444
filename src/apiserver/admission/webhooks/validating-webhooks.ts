import type { Kind } from '../../../apimachinery/kinds.ts';
import type { AdmissionPlugin, Attributes } from '../plugin.ts';
import { meetsConditions } from './condition-match.ts';
import { type Invocation, invocationOf } from './matching.ts';
import type { ReviewedObjects } from './review.ts';
import { webhooksIn } from './webhook.ts';
import { callWebhook, type WebhookDeps } from './webhook-call.ts';

/** Configurations of admission, whose own requests no webhook sees: it could make itself unremovable. */
const exempt: ReadonlySet<string> = new Set([
  'mutatingwebhookconfigurations',
  'validatingwebhookconfigurations',
  'mutatingadmissionpolicies',
  'mutatingadmissionpolicybindings',
  'validatingadmissionpolicies',
  'validatingadmissionpolicybindings',
]);

/** True for requests that webhooks may see. */
export const isReviewed = ({ group, resource }: Kind): boolean =>
  group !== 'admissionregistration.k8s.io' || !exempt.has(resource);

/** Returns the objects of a request as each kind serves them. */
async function reviewedBy(
  { kind, object, oldObject }: Attributes,
  invocations: readonly Invocation[],
  { objects }: WebhookDeps,
): Promise<ReadonlyMap<Kind, ReviewedObjects>> {
  const found = new Map<Kind, ReviewedObjects>([
    [kind, { ...(object && { object }), ...(oldObject && { oldObject }) }],
  ]);
  for (const { kind: other } of invocations) {
    if (found.has(other)) continue;
    const now = object && (await objects.convert(object, kind, other));
    const before = oldObject && (await objects.convert(oldObject, kind, other));
    found.set(other, { ...(now && { object: now }), ...(before && { oldObject: before }) });
  }
  return found;
}

async function callAll(
  attributes: Attributes,
  invocations: readonly Invocation[],
  deps: WebhookDeps,
): Promise<void> {
  const reviewed = await reviewedBy(attributes, invocations, deps);
  const called = invocations.filter((invocation) =>
    meetsConditions(attributes, invocation, reviewed.get(invocation.kind) ?? {}, deps),
  );
  const results = await Promise.allSettled(
    called.map((invocation, i) =>
      callWebhook(attributes, invocation, reviewed.get(invocation.kind) ?? {}, {
        deps,
        use: () => undefined,
        failedOpen: () =>
          attributes.context.annotate?.(
            `failed-open.validating.webhook.admission.k8s.io/round_0_index_${i}`,
            invocation.webhook.name,
          ),
      }),
    ),
  );
  const failed = results.find((result) => result.status === 'rejected');
  if (failed) throw failed.reason;
}

/**
 * ValidatingAdmissionWebhook asks the webhooks of ValidatingWebhookConfigurations whether a request is allowed: all at once, and each sees
 * the object as it will be stored.
 */
export const validatingWebhooks = (deps: WebhookDeps): AdmissionPlugin => ({
  name: 'ValidatingAdmissionWebhook',
  handles: (_operation, kind) => isReviewed(kind),
  validate(attributes) {
    const webhooks = webhooksIn(attributes.context.world.store, 'validating');
    if (webhooks.length === 0) return undefined;
    const equivalents = (kind: Kind, subresource: string): readonly Kind[] =>
      deps.objects.equivalents(kind, subresource);
    const invocations = webhooks.flatMap((webhook) => invocationOf(webhook, attributes, equivalents) ?? []);
    return invocations.length === 0 ? undefined : callAll(attributes, invocations, deps);
  },
});
