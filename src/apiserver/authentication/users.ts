import { setOwn } from '../../base/own.ts';
import { timingSafeEqual } from 'node:crypto';
import { type JsonObject, objectAt, stringAt } from '../../apimachinery/json.ts';

/** The user of a request. */
export interface User {
  readonly name: string;
  readonly uid?: string;
  readonly groups: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

export const anonymous: User = { name: 'system:anonymous', groups: ['system:unauthenticated'] };

/** A static bearer token and its user. */
export interface TokenUser {
  readonly token: string;
  readonly user: User;
}

/** Key of a user's extra that says by which credential he was identified. */
export const credentialId = 'authentication.kubernetes.io/credential-id';

const authenticated = 'system:authenticated';

/** Returns the user with the group `system:authenticated`. */
export const asAuthenticated = (user: User): User =>
  user.groups.includes(authenticated) ? user : { ...user, groups: [...user.groups, authenticated] };

/** Compares two secrets in constant time. */
export function sameSecret(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)];
  return left.length === right.length && timingSafeEqual(left, right);
}

/** Returns the user of a service account token's claims. */
export function serviceAccountUser(claims: JsonObject): User {
  const kubernetes = objectAt(claims, 'kubernetes.io');
  const namespace = stringAt(kubernetes, 'namespace');
  const account = objectAt(kubernetes, 'serviceaccount');
  const pod = objectAt(kubernetes, 'pod');
  const node = objectAt(kubernetes, 'node');
  const extra: Record<string, string[]> = {};
  const set = (key: string, value: string): void => {
    if (value) setOwn(extra, `authentication.kubernetes.io/${key}`, [value]);
  };
  const id = stringAt(claims, 'jti');
  if (id !== '') setOwn(extra, credentialId, [`JTI=${id}`]);
  set('node-name', stringAt(node, 'name'));
  set('node-uid', stringAt(node, 'uid'));
  set('pod-name', stringAt(pod, 'name'));
  set('pod-uid', stringAt(pod, 'uid'));
  return {
    name: `system:serviceaccount:${namespace}:${stringAt(account, 'name')}`,
    uid: stringAt(account, 'uid'),
    groups: ['system:serviceaccounts', `system:serviceaccounts:${namespace}`],
    extra,
  };
}
