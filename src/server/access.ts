import { tableOf } from '../base/own.ts';
import { splitTarget } from './mux.ts';
import type { PeerCertificate, ServerRequest } from './reply.ts';

/** Who sent a request. */
export interface User {
  readonly name: string;
  readonly uid?: string;
  readonly groups: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

/** Tells who somebody is: nothing when there are no credentials of its kind, `refused` when they are not good. @throws when they cannot be checked */
export interface Authenticator {
  authenticate(request: ServerRequest): Promise<User | 'refused' | undefined>;
}

/** What somebody wants of the node, in the API server's words. */
export interface Access {
  readonly user: User;
  /** Empty for a method that stands for no verb. */
  readonly verb: string;
  readonly subresource: string;
  readonly nodeName: string;
}

/** Tells whether somebody may. @throws when it cannot be told */
export interface Authorizer {
  authorize(access: Access): Promise<boolean>;
}

/** Lets everybody who has shown who they are do everything. */
export const alwaysAllow: Authorizer = { authorize: () => Promise.resolve(true) };

const verbs: Readonly<Record<string, string>> = tableOf({
  POST: 'create',
  GET: 'get',
  PUT: 'update',
  PATCH: 'patch',
  DELETE: 'delete',
});

/** The verb of a method; empty for one that has none (K2). */
export const verbOf = (method: string): string => verbs[method] ?? '';

const isBelow = (path: string, base: string): boolean =>
  path === base || (base.endsWith('/') && path.startsWith(base)) || path.startsWith(`${base}/`);

/** Each of these is enough, tried in order (K2, KubeletFineGrainedAuthz). */
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
 * The subresources of `nodes` of which one must be allowed to reach a path, in the order in which they are tried.
 * Follows kubelet `NodeRequestAttributesGetter` (pkg/kubelet/server/auth.go).
 */
export function subresourcesOf(target: string): readonly string[] {
  const { path } = splitTarget(target);
  const own = dedicated.find(([base]) => isBelow(path, base))?.[1] ?? 'proxy';
  const fine = fineGrained.find(([base]) => isBelow(path, base))?.[1];
  return fine === undefined ? [own] : [fine, own];
}

/** The user that a client certificate names. */
export const userOfCertificate = ({ commonName, organizations }: PeerCertificate): User => ({
  name: commonName,
  groups: withAuthenticated(organizations),
});

export const withAuthenticated = (groups: readonly string[]): readonly string[] =>
  groups.includes('system:authenticated') ? groups : [...groups, 'system:authenticated'];

/** Anybody without credentials, where that is allowed. */
export const anonymous: User = { name: 'system:anonymous', groups: ['system:unauthenticated'] };

/** Client certificates of the client CA; the listener has verified them. */
export const certificateAuthenticator: Authenticator = {
  authenticate: ({ peer }) =>
    Promise.resolve(peer === 'unverified' ? undefined : peer && userOfCertificate(peer)),
};
