import type { JsonObject } from '../../apimachinery/json.ts';
import type { User } from '../authentication/users.ts';
import type { Attributes, Decision } from './attributes.ts';
import { allow, type AuthorizationMode, type Opinion, pass } from './mode.ts';
import { type NodeAuthorizer, nodeOf } from './node-authorizer.ts';
import type { Granted, RoleAuthorizer } from './roles.ts';
import type { Rule } from './rules.ts';

/** The group whose members may do everything, without any role. */
export const administrators = 'system:masters';

/**
 * Authorizer allows everything to administrators, and asks the modes in their order about the others: the first that allows or denies
 * decides; without one the request is refused, with all reasons.
 */
export class Authorizer {
  readonly #modes: readonly AuthorizationMode[];
  readonly #roles: RoleAuthorizer;

  constructor(modes: readonly AuthorizationMode[], roles: RoleAuthorizer) {
    this.#modes = modes;
    this.#roles = roles;
  }

  /** Decides; only the mode Webhook lets its caller wait. */
  decide(at: Attributes): Decision | Promise<Decision> {
    return isAdministrator(at) ? allowed : this.#from(0, new Reasons(), at);
  }

  /** Decides without waiting: of the mode Webhook only what it has decided before counts. */
  decideNow(at: Attributes): Decision {
    if (isAdministrator(at)) return allowed;
    const reasons = new Reasons();
    for (const mode of this.#modes) {
      const opinion = mode.decideNow ? mode.decideNow(at) : (mode.decide(at) as Opinion);
      const decision = reasons.decided(opinion);
      if (decision) return decision;
    }
    return reasons.refusal();
  }

  #from(first: number, reasons: Reasons, at: Attributes): Decision | Promise<Decision> {
    for (let i = first; i < this.#modes.length; i++) {
      const opinion = this.#modes[i]?.decide(at) ?? pass();
      if (opinion instanceof Promise)
        return opinion.then((one) => reasons.decided(one) ?? this.#from(i + 1, reasons, at));
      const decision = reasons.decided(opinion);
      if (decision) return decision;
    }
    return reasons.refusal();
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
    const all = this.#modes.map((mode) => mode.rules(user, namespace));
    const rules = all.flatMap((one) => one.rules);
    const error = joined(all.flatMap((one) => one.errors));
    return {
      resource: rules.filter((r) => r.resources?.length),
      nonResource: rules.filter((r) => r.nonResourceURLs?.length),
      ...(error !== undefined && { error }),
    };
  }
}

const allowed: Decision = { allowed: true, reason: '' };

const isAdministrator = ({ user }: Attributes): boolean => user.groups.includes(administrators);

/** Returns several errors as one, without duplicates. */
function joined(errors: readonly string[]): string | undefined {
  const texts = [...new Set(errors)];
  return texts.length > 1 ? `[${texts.join(', ')}]` : texts[0];
}

/** Reasons collects what modes say that do not decide. */
class Reasons {
  readonly #reasons: string[] = [];
  readonly #errors: string[] = [];

  /** Returns the decision of an opinion; `undefined` for one that decides nothing. */
  decided({ verdict, reason, error }: Opinion): Decision | undefined {
    if (verdict === 'allow') return { allowed: true, reason };
    if (verdict === 'deny')
      return { allowed: false, denied: true, reason, ...(error !== undefined && { error }) };
    if (reason !== '') this.#reasons.push(reason);
    if (error !== undefined) this.#errors.push(error);
    return undefined;
  }

  refusal(): Decision {
    const error = joined(this.#errors);
    return { allowed: false, reason: this.#reasons.join('\n'), ...(error !== undefined && { error }) };
  }
}

/** Returns the mode Node. */
export const nodeMode = (authorizer: NodeAuthorizer): AuthorizationMode => ({
  decide: (at) => opinionOf(authorizer.decide(at)),
  rules: (user) => ({
    rules: [],
    errors: nodeOf(user) === undefined ? [] : ['node authorizer does not support user rule resolution'],
  }),
});

/** Returns the mode RBAC. */
export const roleMode = (roles: RoleAuthorizer): AuthorizationMode => ({
  decide: (at) => opinionOf(roles.decide(at)),
  rules: (user, namespace) => {
    const all = [...roles.granted(user, namespace)];
    return {
      rules: all.flatMap((one) => ('rule' in one ? [one.rule] : [])),
      errors: all.flatMap((one) => ('fault' in one ? [one.fault] : [])),
    };
  },
});

const opinionOf = ({ allowed: may, reason }: Decision): Opinion => (may ? allow(reason) : pass(reason));
