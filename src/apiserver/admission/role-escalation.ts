import {
  isObject,
  type JsonObject,
  listAt,
  objectAt,
  sameJson,
  stringAt,
  withMetadata,
} from '../../apimachinery/json.ts';
import { administrators, type Authorizer } from '../authorization/authorizer.ts';
import {
  describePermissions,
  type Permission,
  permissionsOf,
  type Rule,
  ruleCovers,
  rulesOf,
} from '../authorization/rules.ts';
import { type AdmissionPlugin, type Attributes, refusal } from './plugin.ts';

const group = 'rbac.authorization.k8s.io';

type Rights = Pick<Authorizer, 'decide' | 'granted' | 'rulesOf'>;

/**
 * Allows a user to write only roles, and to bind only roles, whose permissions the user has, unless the user has the verb `escalate` on
 * the role, or `bind` for bindings. Follows kube-apiserver's storage of roles (v1.36), where this cannot be disabled.
 */
export function roleEscalation(rights: Rights): AdmissionPlugin {
  return {
    name: 'RoleEscalation',
    handles: (operation, kind, subresource) =>
      kind.group === group &&
      subresource === '' &&
      (operation === 'CREATE' || operation === 'UPDATE') &&
      Object.hasOwn(checks, kind.resource),
    async admit(attributes) {
      const { object, oldObject, context, kind } = attributes;
      if (!object || context.user.groups.includes(administrators)) return undefined;
      if (oldObject && sameJson(withoutOwners(object), withoutOwners(oldObject))) return undefined;
      await checks[kind.resource as keyof typeof checks](rights, attributes, object);
      return undefined;
    },
  };
}

/** Returns an object without what garbage collection changes. */
const withoutOwners = (object: JsonObject): JsonObject =>
  withMetadata(object, {
    ownerReferences: undefined,
    finalizers: undefined,
    managedFields: undefined,
    resourceVersion: undefined,
    selfLink: undefined,
  });

/** @throws {StatusError} 403 */
async function checkRole(rights: Rights, attributes: Attributes, role: JsonObject): Promise<void> {
  const { context, kind, namespace, name, options } = attributes;
  const at = { user: context.user, group, subresource: '', namespace };
  const requested = options['kind'] === 'CreateOptions' ? '' : name;
  const decision = await rights.decide({ ...at, verb: 'escalate', resource: kind.resource, name: requested });
  if (decision.allowed) return;
  confirm(rights, attributes, rulesOf(role));
  if (!isAggregated(role) && !isAggregated(attributes.oldObject)) return;
  if (missingOf(rights, attributes, everything).missing.length > 0)
    throw refusal(attributes, 'must have cluster-admin privileges to use the aggregationRule');
}

/** @throws {StatusError} 403; 404 when the role does not exist */
async function checkBinding(rights: Rights, attributes: Attributes, binding: JsonObject): Promise<void> {
  const { context, namespace } = attributes;
  const role = objectAt(binding, 'roleRef');
  const resource = stringAt(role, 'kind') === 'ClusterRole' ? 'clusterroles' : 'roles';
  const name = stringAt(role, 'name');
  const at = { user: context.user, group, subresource: '', namespace };
  if ((await rights.decide({ ...at, verb: 'bind', resource, name })).allowed) return;
  const rules = rights.rulesOf(role, namespace);
  if (rules instanceof Error) throw rules;
  confirm(rights, attributes, rules);
}

const checks = {
  roles: checkRole,
  clusterroles: checkRole,
  rolebindings: checkBinding,
  clusterrolebindings: checkBinding,
};

const everything: readonly Rule[] = [
  { verbs: ['*'], apiGroups: ['*'], resources: ['*'] },
  { verbs: ['*'], nonResourceURLs: ['*'] },
];

const isAggregated = (role: JsonObject | undefined): boolean =>
  isObject(role?.['aggregationRule']) &&
  listAt(objectAt(role, 'aggregationRule'), 'clusterRoleSelectors').length > 0;

/** Returns the permissions of rules that the user does not have, and why the user's own may be incomplete. */
function missingOf(
  rights: Rights,
  { context, namespace }: Attributes,
  rules: readonly Rule[],
): { readonly missing: readonly Permission[]; readonly faults: readonly string[] } {
  const granted = [...rights.granted(context.user, namespace)];
  const own = granted.flatMap((one) => ('rule' in one ? [one.rule] : []));
  const faults = new Set(granted.flatMap((one) => ('fault' in one ? [one.fault] : [])));
  const missing = rules
    .flatMap(permissionsOf)
    .filter((permission) => !own.some((rule) => ruleCovers(rule, permission)));
  return { missing, faults: [...faults] };
}

/** @throws {StatusError} 403 unless the user has all permissions of the rules */
function confirm(rights: Rights, attributes: Attributes, rules: readonly Rule[]): void {
  const { missing, faults } = missingOf(rights, attributes, rules);
  if (missing.length === 0) return;
  const { name, groups } = attributes.context.user;
  const all = groups.map((one) => JSON.stringify(one)).join(' ');
  const errors = faults.length > 0 ? `; resolution errors: [${faults.join(', ')}]` : '';
  throw refusal(
    attributes,
    `user ${JSON.stringify(name)} (groups=[${all}]) is attempting to grant RBAC permissions not currently held:\n${describePermissions(missing).join('\n')}${errors}`,
  );
}
