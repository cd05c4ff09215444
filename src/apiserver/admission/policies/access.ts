import type { AdmissionInput } from '../../cel/admission/variables.ts';
import type { AccessCheck, AccessDecision } from '../../cel/library/authorizer.ts';
import type { Authorizer } from '../../authorization/authorizer.ts';
import type { Attributes } from '../plugin.ts';
import { nameOf } from '../../../apimachinery/json.ts';

/** Returns the `authorizer` of expressions: it decides for the user of the request, or for a service account, each check once. */
export function accessOf(
  {
    kind,
    subresource,
    namespace,
    name,
    object,
    context,
  }: Pick<Attributes, 'kind' | 'subresource' | 'namespace' | 'name' | 'object' | 'context'>,
  authorizer: Pick<Authorizer, 'decideNow'>,
): NonNullable<AdmissionInput['authorizer']> {
  const decisions = new Map<string, AccessDecision>();
  const decide = (check: AccessCheck): AccessDecision => {
    const key = JSON.stringify(check);
    let decision = decisions.get(key);
    if (!decision) {
      decision = decisionOn(check);
      decisions.set(key, decision);
    }
    return decision;
  };
  const decisionOn = ({ user = context.user, ...check }: AccessCheck): AccessDecision => {
    if (check.path === undefined) {
      const { labelSelector: _label, fieldSelector, path: _path, ...rest } = check;
      return authorizer.decideNow({ user, ...rest, ...(fieldSelector !== '' && { fieldSelector }) });
    }
    const none = { group: '', resource: '', subresource: '', namespace: '', name: '' };
    return authorizer.decideNow({ user, ...none, verb: check.verb, path: check.path });
  };
  return {
    decide,
    resource: {
      group: kind.group,
      resource: kind.resource,
      subresource,
      namespace,
      name: name || nameOf(object),
    },
  };
}
