import {
  type JsonObject,
  metadataOf,
  nameOf,
  objectAt,
  objectsAt,
  stringAt,
} from '../../apimachinery/json.ts';
import { notFound } from '../../apimachinery/status-error.ts';
import type { User } from '../authentication/users.ts';
import { keyOf, type Store } from '../storage/store.ts';
import { type Attributes, type Decision, no } from './attributes.ts';
import { type Rule, ruleAllows, rulesOf } from './rules.ts';

const group = 'rbac.authorization.k8s.io';
const clusterBindings = `${group}/clusterrolebindings`;

/** A rule that applies to a user, and the binding by which it does; or why a binding's role is not available. */
export type Granted = { readonly rule: Rule; readonly by: () => string } | { readonly fault: string };

function isSubject(subject: JsonObject, user: User, namespace: string): boolean {
  const name = stringAt(subject, 'name');
  switch (stringAt(subject, 'kind')) {
    case 'User':
      return name === user.name;
    case 'Group':
      return user.groups.includes(name);
    case 'ServiceAccount': {
      const home = stringAt(subject, 'namespace') || namespace;
      return home !== '' && user.name === `system:serviceaccount:${home}:${name}`;
    }
    default:
      return false;
  }
}

function describeSubject(subject: JsonObject, namespace: string): string {
  const [kind, name] = [stringAt(subject, 'kind'), stringAt(subject, 'name')];
  const home = kind === 'ServiceAccount' ? `/${stringAt(subject, 'namespace') || namespace}` : '';
  return `${kind} ${JSON.stringify(`${name}${home}`)}`;
}

function describeBinding(binding: JsonObject, subject: JsonObject): string {
  const role = objectAt(binding, 'roleRef');
  const namespace = stringAt(metadataOf(binding), 'namespace');
  const [kind, name] =
    namespace === ''
      ? ['ClusterRoleBinding', nameOf(binding)]
      : ['RoleBinding', `${nameOf(binding)}/${namespace}`];
  const of = `${stringAt(role, 'kind')} ${JSON.stringify(stringAt(role, 'name'))}`;
  return `${kind} ${JSON.stringify(name)} of ${of} to ${describeSubject(subject, namespace)}`;
}

/** RoleAuthorizer evaluates stored roles and bindings. Follows kube-apiserver's authorizer RBAC (v1.36). */
export class RoleAuthorizer {
  readonly #store: Store;
  /** Cluster role bindings by their subjects; absent after a change of one of them. */
  #byName: ReadonlyMap<string, readonly JsonObject[]> | undefined;

  constructor(store: Store) {
    this.#store = store;
    store.onChange((storage) => {
      if (storage === clusterBindings) this.#byName = undefined;
    });
  }

  /** Yields every rule that applies to a user in a namespace, and in the cluster. */
  *granted(user: User, namespace: string): Generator<Granted> {
    for (const binding of this.#clusterBindingsOf(user)) yield* this.#grantedBy(binding, user, '');
    if (!namespace) return;
    for (const { object } of this.#store.list(`${group}/rolebindings`, `${namespace}/`))
      yield* this.#grantedBy(object, user, namespace);
  }

  decide(at: Attributes): Decision {
    const faults = new Set<string>();
    for (const one of this.granted(at.user, at.namespace)) {
      if ('fault' in one) faults.add(one.fault);
      else if (ruleAllows(one.rule, at)) return { allowed: true, reason: `RBAC: allowed by ${one.by()}` };
    }
    if (faults.size === 0) return no();
    const texts = [...faults].join(', ');
    return no(`RBAC: ${faults.size > 1 ? `[${texts}]` : texts}`);
  }

  /** Returns the rules of a role reference, or why they are not available. */
  rulesOf(ref: JsonObject, namespace: string): readonly Rule[] | Error {
    const name = stringAt(ref, 'name');
    const kind = stringAt(ref, 'kind');
    if (kind !== 'ClusterRole' && kind !== 'Role')
      return new Error(`unsupported role reference kind: ${JSON.stringify(kind)}`);
    const [resource, key] =
      kind === 'ClusterRole' ? ['clusterroles', name] : ['roles', keyOf(namespace, name)];
    const role = this.#store.get(`${group}/${resource}`, key)?.object;
    return role ? rulesOf(role) : notFound({ kind: kind.toLowerCase(), name, group });
  }

  *#grantedBy(binding: JsonObject, user: User, namespace: string): Generator<Granted> {
    const subject = objectsAt(binding, 'subjects').find((one) => isSubject(one, user, namespace));
    if (!subject) return;
    const rules = this.rulesOf(objectAt(binding, 'roleRef'), namespace);
    if (rules instanceof Error) yield { fault: rules.message };
    else for (const rule of rules) yield { rule, by: () => describeBinding(binding, subject) };
  }

  /** Returns the cluster role bindings of a user, in the order of their names. */
  #clusterBindingsOf(user: User): readonly JsonObject[] {
    this.#byName ??= this.#bindingsByName();
    const found = new Set<JsonObject>();
    const names = [user.name, ...user.groups.map((name) => `group ${name}`)];
    for (const name of names) for (const one of this.#byName.get(name) ?? []) found.add(one);
    return [...found].sort((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1));
  }

  #bindingsByName(): ReadonlyMap<string, readonly JsonObject[]> {
    const byName = new Map<string, JsonObject[]>();
    for (const { object } of this.#store.list(clusterBindings))
      for (const subject of objectsAt(object, 'subjects')) {
        const key = userKeyOf(subject);
        const list = byName.get(key);
        if (list) list.push(object);
        else byName.set(key, [object]);
      }
    return byName;
  }
}

/** Returns a subject's user name, or `group ` and the name of the group. */
function userKeyOf(subject: JsonObject): string {
  const [kind, name] = [stringAt(subject, 'kind'), stringAt(subject, 'name')];
  if (kind === 'Group') return `group ${name}`;
  return kind === 'ServiceAccount' ? `system:serviceaccount:${stringAt(subject, 'namespace')}:${name}` : name;
}
