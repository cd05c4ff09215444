import { tableOf } from '../base/own.ts';
import { splitTarget } from './mux.ts';
import type { PeerCertificate, ServerRequest } from './reply.ts';

/** The authenticated sender of a request. */
export interface User {
  readonly name: string;
  readonly uid?: string;
  readonly groups: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

/**
 * Authenticator identifies the sender of a request. It resolves to undefined when the request carries no credentials of its kind, and to
 * `refused` when they are invalid. @throws when they cannot be checked
 */
export interface Authenticator {
  authenticate(request: ServerRequest): Promise<User | 'refused' | undefined>;
}

/** One attempted access to the node, in the attributes of a SubjectAccessReview. */
export interface Access {
  readonly user: User;
  /** Empty for a method without a verb. */
  readonly verb: string;
  readonly subresource: string;
  readonly nodeName: string;
}

/** Authorizer decides whether an access is allowed. @throws when it cannot decide */
export interface Authorizer {
  authorize(access: Access): Promise<boolean>;
}

/** Authorizer that allows every authenticated user everything. */
export const alwaysAllow: Authorizer = { authorize: () => Promise.resolve(true) };

const verbs: Readonly<Record<string, string>> = tableOf({
  POST: 'create',
  GET: 'get',
  PUT: 'update',
  PATCH: 'patch',
  DELETE: 'delete',
});

/** Returns the verb of an HTTP method; empty for a method without one (K2). */
export const verbOf = (method: string): string => verbs[method] ?? '';

const isBelow = (path: string, base: string): boolean =>
  path === base || (base.endsWith('/') && path.startsWith(base)) || path.startsWith(`${base}/`);

/** Path prefixes with a subresource of their own: either it or `proxy` is enough, tried in order (K2, KubeletFineGrainedAuthz). */
const fineGrained: readonly (readonly [string, string])[] = [
  ['/pods', 'pods'],
  ['/runningpods', 'pods'],
  ['/healthz', 'healthz'],
  ['/configz', 'configz'],
];
const dedicated: readonly (readonly [string, string])[] = [
  ['/stats', 'stats'],
  ['/metrics', 'metrics'],
  ['/logs', 'log'],
  ['/checkpoint', 'checkpoint'],
  ['/statusz', 'statusz'],
  ['/flagz', 'configz'],
];

/**
 * Returns the subresources of `nodes` that give access to a path, in the order they are tried; permission for one of them is enough.
 * Follows kubelet `NodeRequestAttributesGetter` (pkg/kubelet/server/auth.go).
 */
export function subresourcesOf(target: string): readonly string[] {
  const { path } = splitTarget(target);
  const own = dedicated.find(([base]) => isBelow(path, base))?.[1] ?? 'proxy';
  const fine = fineGrained.find(([base]) => isBelow(path, base))?.[1];
  return fine === undefined ? [own] : [fine, own];
}

/** Returns the user that a client certificate names. */
export const userOfCertificate = ({ commonName, organizations }: PeerCertificate): User => ({
  name: commonName,
  groups: withAuthenticated(organizations),
});

export const withAuthenticated = (groups: readonly string[]): readonly string[] =>
  groups.includes('system:authenticated') ? groups : [...groups, 'system:authenticated'];

/** The user of a request without credentials, where anonymous access is enabled. */
export const anonymous: User = { name: 'system:anonymous', groups: ['system:unauthenticated'] };

/** Authenticates by client certificates that the listener has verified against the client CA. */
export const certificateAuthenticator: Authenticator = {
  authenticate: ({ peer }) =>
    Promise.resolve(peer === 'unverified' ? undefined : peer && userOfCertificate(peer)),
};
