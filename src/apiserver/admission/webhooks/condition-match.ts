import { forbidden } from '../../../apimachinery/status-error.ts';
import { admittedName } from '../../storage/names.ts';
import { MatchConditions } from '../../cel/admission/match-conditions.ts';
import { accessOf } from '../policies/access.ts';
import type { Attributes } from '../plugin.ts';
import type { Invocation } from './matching.ts';
import { requestOf, type ReviewedObjects, typedAs } from './review.ts';
import type { Webhook } from './webhook.ts';
import type { WebhookDeps } from './webhook-call.ts';

/** Compiled conditions of each webhook. */
const conditionsOf = new WeakMap<Webhook, MatchConditions>();

function compiled(webhook: Webhook): MatchConditions {
  let conditions = conditionsOf.get(webhook);
  if (!conditions) {
    conditions = MatchConditions.of({ matchConditions: webhook.matchConditions });
    conditionsOf.set(webhook, conditions);
  }
  return conditions;
}

/**
 * Reports whether a request meets the match conditions of a webhook. Where they cannot be evaluated, a failure policy of Ignore leaves the
 * webhook out. Follows apiserver `matchconditions.Matcher`.
 *
 * @param reviewed the objects in the version that the webhook sees
 * @throws {StatusError} 403 for conditions that cannot be evaluated, with a failure policy of Fail
 */
export function meetsConditions(
  attributes: Attributes,
  { webhook, kind }: Invocation,
  reviewed: ReviewedObjects,
  { authorizer, metrics }: WebhookDeps,
): boolean {
  if (webhook.matchConditions.length === 0) return true;
  const { subresource, operation, namespace } = attributes;
  const found = compiled(webhook).evaluate({
    object: typedAs(reviewed.object, kind, subresource) ?? undefined,
    oldObject: typedAs(reviewed.oldObject, kind, subresource) ?? undefined,
    request: requestOf(attributes, kind),
    namespace: attributes.context.world.store.get('namespaces', namespace)?.object,
    authorizer: authorizer && accessOf(attributes, authorizer),
  });
  if (found.matches === true) return true;
  if (found.matches === false) {
    metrics.excluded(webhook, operation);
    return false;
  }
  if (webhook.ignoresFailures) return false;
  const { group, resource } = attributes.kind;
  const name = attributes.name || admittedName(attributes.object);
  throw forbidden({ kind: resource, name, ...(group !== '' && { group }) }, found.error);
}
