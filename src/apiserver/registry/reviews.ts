import type { Authenticator } from '../authentication/authenticator.ts';
import type { Attributes } from '../authorization/attributes.ts';
import type { Authorizer } from '../authorization/authorizer.ts';
import { type JsonObject, listAt, objectAt, stringAt } from '../../apimachinery/json.ts';
import { badRequest, fault, type FieldFault, invalid } from '../../apimachinery/status-error.ts';
import { seconds } from '../../apimachinery/times.ts';
import { reviewEvaluationError, reviewFieldSelector, reviewSelectorFaults } from './review-selectors.ts';
import type { User } from '../authentication/users.ts';

export interface ReviewDeps {
  readonly authenticator: Authenticator;
  readonly authorizer: Authorizer;
}

const userBody = (user: User): JsonObject => ({
  username: user.name,
  ...(user.uid && { uid: user.uid }),
  ...(user.groups.length > 0 && { groups: user.groups }),
  ...(user.extra && Object.keys(user.extra).length > 0 && { extra: user.extra }),
});

function attributesOf(spec: JsonObject, user: User): Attributes {
  const path = spec['nonResourceAttributes'];
  if (path !== undefined) {
    const at = objectAt(spec, 'nonResourceAttributes');
    return {
      user,
      verb: stringAt(at, 'verb'),
      path: stringAt(at, 'path'),
      group: '',
      resource: '',
      subresource: '',
      namespace: '',
      name: '',
    };
  }
  const at = objectAt(spec, 'resourceAttributes');
  const fieldSelector = reviewFieldSelector(spec);
  return {
    user,
    verb: stringAt(at, 'verb'),
    group: stringAt(at, 'group'),
    version: stringAt(at, 'version'),
    resource: stringAt(at, 'resource'),
    subresource: stringAt(at, 'subresource'),
    namespace: stringAt(at, 'namespace'),
    name: stringAt(at, 'name'),
    ...(fieldSelector !== undefined && { fieldSelector }),
  };
}

const namedUser = (spec: JsonObject): User => ({
  name: stringAt(spec, 'user'),
  uid: stringAt(spec, 'uid'),
  groups: listAt(spec, 'groups') as readonly string[],
});

async function decided(
  authorizer: Authorizer,
  attributes: Attributes,
  spec: JsonObject,
): Promise<JsonObject> {
  const decision = await authorizer.decide(attributes);
  const { allowed, reason } = decision;
  const errors = [decision.allowed ? undefined : decision.error, reviewEvaluationError(spec)].filter(
    (text) => text !== undefined,
  );
  const evaluationError = errors.length > 1 ? `[${errors.join(', ')}]` : errors[0];
  return {
    allowed,
    ...(!decision.allowed && decision.denied && { denied: true }),
    ...(reason && { reason }),
    ...(evaluationError !== undefined && { evaluationError }),
  };
}

/** Returns the faults of a review that only holds for a namespace. */
function localFaults(spec: JsonObject, namespace: string): readonly FieldFault[] {
  if (spec['nonResourceAttributes'] !== undefined) {
    const { path: Path = '', verb: Verb = '' } = objectAt(spec, 'nonResourceAttributes');
    const why = 'disallowed on this kind of request';
    return [fault.invalid('spec.nonResourceAttributes', { Path, Verb }, why)];
  }
  const requested = stringAt(objectAt(spec, 'resourceAttributes'), 'namespace');
  if (spec['resourceAttributes'] === undefined || requested === namespace) return [];
  return [fault.invalid('spec.resourceAttributes.namespace', requested, 'must match metadata.namespace')];
}

/** Checks the specification of an access review. @throws {StatusError} 422 */
function checkSpec(object: JsonObject, needsUser: boolean, others: readonly FieldFault[] = []): void {
  const spec = objectAt(object, 'spec');
  const faults: FieldFault[] = [];
  const [resource, path] = [spec['resourceAttributes'], spec['nonResourceAttributes']];
  if (resource !== undefined && path !== undefined) {
    const { path: Path = '', verb: Verb = '' } = objectAt(spec, 'nonResourceAttributes');
    const why = 'cannot be specified in combination with resourceAttributes';
    faults.push(fault.invalid('spec.nonResourceAttributes', { Path, Verb }, why));
  }
  if (resource === undefined && path === undefined)
    faults.push(
      fault.invalid(
        'spec.resourceAttributes',
        null,
        'exactly one of nonResourceAttributes or resourceAttributes must be specified',
      ),
    );
  if (needsUser && stringAt(spec, 'user') === '' && listAt(spec, 'groups').length === 0)
    faults.push(fault.invalid('spec.user', '', 'at least one of user or group must be specified'));
  faults.push(...reviewSelectorFaults(spec), ...others);
  // kube-apiserver's errors name no kind here
  if (faults.length > 0) throw invalid('', 'authorization.k8s.io', '', faults);
}

/** Answers reviews: SelfSubjectReview, TokenReview and access reviews. @throws {StatusError} */
export async function review(
  kind: string,
  object: JsonObject,
  at: { readonly user: User; readonly namespace: string; readonly now: number; readonly managed: JsonObject },
  deps: ReviewDeps,
): Promise<JsonObject> {
  const spec = objectAt(object, 'spec');
  const { managed } = at;
  switch (kind) {
    case 'SelfSubjectReview':
      return { metadata: { creationTimestamp: seconds(at.now) }, status: { userInfo: userBody(at.user) } };
    case 'SelfSubjectAccessReview':
      checkSpec(object, false);
      return {
        metadata: managed,
        spec,
        status: await decided(deps.authorizer, attributesOf(spec, at.user), spec),
      };
    case 'SubjectAccessReview':
      checkSpec(object, true);
      return {
        metadata: managed,
        spec,
        status: await decided(deps.authorizer, attributesOf(spec, namedUser(spec)), spec),
      };
    case 'LocalSubjectAccessReview': {
      checkSpec(object, true, localFaults(spec, at.namespace));
      return {
        metadata: { ...managed, namespace: at.namespace },
        spec,
        status: await decided(deps.authorizer, attributesOf(spec, namedUser(spec)), spec),
      };
    }
    case 'SelfSubjectRulesReview':
      return rules(stringAt(spec, 'namespace'), at.user, deps.authorizer);
    default:
      return tokenReview(object, managed, deps.authenticator);
  }
}

function rules(namespace: string, user: User, authorizer: Authorizer): JsonObject {
  if (namespace === '') throw badRequest('no namespace on request');
  const found = authorizer.rules(user, namespace);
  const compact = (rule: object): JsonObject =>
    Object.fromEntries(Object.entries(rule).filter(([, value]) => Array.isArray(value) && value.length > 0));
  return {
    metadata: {},
    spec: {},
    status: {
      resourceRules: found.resource.map(compact),
      nonResourceRules: found.nonResource.map(compact),
      incomplete: found.error !== undefined,
      ...(found.error !== undefined && { evaluationError: found.error }),
    },
  };
}

async function tokenReview(
  object: JsonObject,
  managed: JsonObject,
  authenticator: Authenticator,
): Promise<JsonObject> {
  const spec = objectAt(object, 'spec');
  const token = stringAt(spec, 'token');
  if (token === '') throw badRequest('token is required for TokenReview in authentication');
  const audiences = listAt(spec, 'audiences') as readonly string[];
  const found = authenticator.token(token, audiences);
  if (!found.user)
    return { metadata: managed, spec, status: { user: {}, ...(found.error && { error: found.error }) } };
  return {
    metadata: managed,
    spec,
    status: {
      authenticated: true,
      user: userBody(found.user),
      ...(found.audiences.length > 0 && { audiences: found.audiences }),
    },
  };
}
