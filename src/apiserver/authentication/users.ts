import { setOwn } from '../../base/own.ts';
import {
  createHmac,
  createPrivateKey,
  createPublicKey,
  createSign,
  generateKeyPairSync,
  type KeyObject,
  timingSafeEqual,
  createVerify,
} from 'node:crypto';
import { isObject, type JsonObject, objectAt, stringAt } from '../../apimachinery/json.ts';

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

const authenticated = 'system:authenticated';

/** Returns the user with the group `system:authenticated`. */
export const asAuthenticated = (user: User): User =>
  user.groups.includes(authenticated) ? user : { ...user, groups: [...user.groups, authenticated] };

const base64url = (text: string | Buffer): string => Buffer.from(text).toString('base64url');

/** Claims of a service account token. */
export interface TokenClaims {
  readonly aud: readonly string[];
  readonly exp: number;
  readonly iat: number;
  readonly iss: string;
  readonly jti: string;
  readonly nbf: number;
  readonly sub: string;
  readonly 'kubernetes.io': JsonObject;
}

/**
 * TokenSigner signs and verifies service account tokens (JWT, RS256). The key is created on first use, which takes tens of milliseconds.
 */
export class TokenSigner {
  #key: KeyObject | undefined;
  #public: KeyObject | undefined;
  readonly #kept: string | undefined;
  readonly #keep: (pem: string) => void;

  /** @param kept a key from an earlier run, PEM; @param keep called with a new one */
  constructor(kept: string | undefined, keep: (pem: string) => void) {
    this.#kept = kept;
    this.#keep = keep;
  }

  #private(): KeyObject {
    if (this.#key) return this.#key;
    if (this.#kept !== undefined) this.#key = createPrivateKey(this.#kept);
    else {
      this.#key = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey;
      this.#keep(this.#key.export({ type: 'pkcs8', format: 'pem' }).toString());
    }
    this.#public = createPublicKey(this.#key);
    return this.#key;
  }

  #keyId(): string {
    this.#private();
    return createHmac('sha256', 'key id')
      .update(this.#public?.export({ type: 'spki', format: 'der' }) ?? '')
      .digest('base64url');
  }

  sign(claims: TokenClaims): string {
    const key = this.#private();
    const body = `${base64url(JSON.stringify({ alg: 'RS256', kid: this.#keyId() }))}.${base64url(JSON.stringify(claims))}`;
    return `${body}.${createSign('sha256').update(body).sign(key).toString('base64url')}`;
  }

  /** Returns the claims of a token that this server signed; `undefined` for any other text. */
  read(token: string): JsonObject | undefined {
    const [head, body, signature, rest] = token.split('.');
    if (!head || !body || !signature || rest !== undefined) return undefined;
    this.#private();
    const valid = createVerify('sha256')
      .update(`${head}.${body}`)
      .verify(this.#public ?? '', Buffer.from(signature, 'base64url'));
    if (!valid) return undefined;
    try {
      const claims: unknown = JSON.parse(Buffer.from(body, 'base64url').toString());
      return isObject(claims) ? claims : undefined;
    } catch {
      return undefined;
    }
  }

  /** Returns the public key as a JSON Web Key Set. */
  keySet(): JsonObject {
    this.#private();
    const jwk = this.#public?.export({ format: 'jwk' }) ?? {};
    return { keys: [{ use: 'sig', kty: 'RSA', kid: this.#keyId(), alg: 'RS256', n: jwk.n, e: jwk.e }] };
  }
}

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
  set('credential-id', stringAt(claims, 'jti') && `JTI=${stringAt(claims, 'jti')}`);
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
