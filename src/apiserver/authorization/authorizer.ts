import type { JsonObject } from '../../apimachinery/json.ts';
import type { User } from '../authentication/users.ts';
import type { Store } from '../storage/store.ts';
import { type Attributes, type Decision, no } from './attributes.ts';
import { NodeAuthorizer, nodeOf } from './node-authorizer.ts';
import { type Granted, RoleAuthorizer } from './roles.ts';
import type { Rule } from './rules.ts';

/** The group whose members may do everything, without any role. */
export const administrators = 'system:masters';

/**
 * Authorizer allows everything to administrators, and asks the node authorizer, then roles, about the others: the first that allows
 * decides; a denial has all reasons.
 */
export class Authorizer {
  readonly #node: NodeAuthorizer;
  readonly #roles: RoleAuthorizer;

  constructor(store: Store, trustBundles = false) {
    this.#node = new NodeAuthorizer(store, trustBundles);
    this.#roles = new RoleAuthorizer(store);
  }

  decide(at: Attributes): Decision {
    if (at.user.groups.includes(administrators)) return { allowed: true, reason: '' };
    const node = this.#node.decide(at);
    if (node.allowed) return node;
    const roles = this.#roles.decide(at);
    if (roles.allowed) return roles;
    return no([node.reason, roles.reason].filter(Boolean).join(', '));
  }

  /** Yields the rules of the roles that a user has, and the faults of bindings. */
  granted(user: User, namespace: string): Iterable<Granted> {
    return this.#roles.granted(user, namespace);
  }

  /** Returns the rules of a role reference, or why they are not available. */
  rulesOf(role: JsonObject, namespace: string): readonly Rule[] | Error {
    return this.#roles.rulesOf(role, namespace);
  }

  /** Returns everything a user may do, for SelfSubjectRulesReview. */
  rules(
    user: User,
    namespace: string,
  ): {
    readonly resource: readonly Rule[];
    readonly nonResource: readonly Rule[];
    /** Why the rules may be incomplete. */
    readonly error?: string;
  } {
    const all = [...this.granted(user, namespace)];
    const rules = all.flatMap((one) => ('rule' in one ? [one.rule] : []));
    const errors = new Set(all.flatMap((one) => ('fault' in one ? [one.fault] : [])));
    if (nodeOf(user) !== undefined) errors.add('node authorizer does not support user rule resolution');
    const texts = [...errors].join(', ');
    return {
      resource: rules.filter((r) => r.resources?.length),
      nonResource: rules.filter((r) => r.nonResourceURLs?.length),
      ...(errors.size > 0 && { error: errors.size > 1 ? `[${texts}]` : texts }),
    };
  }
}
