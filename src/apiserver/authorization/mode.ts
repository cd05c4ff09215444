import type { User } from '../authentication/users.ts';
import type { Attributes } from './attributes.ts';
import type { Rule } from './rules.ts';

/** The modes of `--authorization-mode`. */
export const authorizationModes = ['AlwaysAllow', 'AlwaysDeny', 'ABAC', 'Webhook', 'RBAC', 'Node'] as const;

/** Name of an authorization mode. */
export type AuthorizationModeName = (typeof authorizationModes)[number];

/** What one mode says of a request: it decides, or leaves the decision to the next mode. */
export interface Opinion {
  readonly verdict: 'allow' | 'deny' | 'none';
  readonly reason: string;
  /** Why the mode could not judge. */
  readonly error?: string;
}

/** The rules of a user, as far as a mode knows them. */
export interface UserRules {
  readonly rules: readonly Rule[];
  /** Why the rules may be incomplete. */
  readonly errors: readonly string[];
}

/** An authorization mode. */
export interface AuthorizationMode {
  decide(at: Attributes): Opinion | Promise<Opinion>;
  /** Decides without waiting; absent: `decide` does not wait. */
  decideNow?(at: Attributes): Opinion;
  /** Returns the rules of a user in a namespace, for SelfSubjectRulesReviews. */
  rules(user: User, namespace: string): UserRules;
}

/** Returns the opinion of a mode that allows a request. */
export const allow = (reason = ''): Opinion => ({ verdict: 'allow', reason });

/** Returns the opinion of a mode that does not allow a request itself. */
export const pass = (reason = ''): Opinion => ({ verdict: 'none', reason });
