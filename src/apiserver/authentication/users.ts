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

/** Who makes a request. */
export interface User {
  readonly name: string;
  readonly uid?: string;
  readonly groups: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

export const anonymous: User = { name: 'system:anonymous', groups: ['system:unauthenticated'] };

/** A known bearer token and whom it stands for. */
export interface TokenUser {
  readonly token: string;
  readonly user: User;
}

const authenticated = 'system:authenticated';

/** The user with the group of all that proved who they are. */
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

/** Signs and reads service account tokens (JWT, RS256). The key is made when it is first needed: that takes tens of milliseconds. */
export class TokenSigner {
  #key: KeyObject | undefined;
  #public: KeyObject | undefined;
  readonly #kept: string | undefined;
  readonly #keep: (pem: string) => void;

  /** @param kept a key from an earlier run, PEM; @param keep told of a new one */
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

  /** The claims of a token that this server signed; `undefined` for any other text. */
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

  /** The public key as a JSON Web Key Set. */
  keySet(): JsonObject {
    this.#private();
    const jwk = this.#public?.export({ format: 'jwk' }) ?? {};
    return { keys: [{ use: 'sig', kty: 'RSA', kid: this.#keyId(), alg: 'RS256', n: jwk.n, e: jwk.e }] };
  }
}

/** Whether two secrets are equal, in a time that does not tell where they differ. */
export function sameSecret(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)];
  return left.length === right.length && timingSafeEqual(left, right);
}

/** Whom the claims of a service account token stand for. */
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
