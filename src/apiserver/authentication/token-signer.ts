import {
  createHmac,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  sign,
  verify,
} from 'node:crypto';
import { tableOf } from '../../base/own.ts';
import { isObject, type JsonObject } from '../../apimachinery/json.ts';

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

/** The issuer of tokens, and the API server's own audience, unless others are configured. */
export const defaultIssuer = 'https://kubernetes.default.svc.cluster.local';

/** Keys and issuer of service account tokens, as kube-apiserver's flags `--service-account-*` configure them. */
export interface ServiceAccountKeys {
  /** Issuer of new tokens, and their default audience. Default: `https://kubernetes.default.svc.cluster.local`. */
  readonly issuer?: string;
  /** Private key that signs tokens (RSA, or EC with the curves P-256, P-384 or P-521), PEM. Default: a key of the server's own. */
  readonly signingKey?: string;
  /** Keys or certificates that verify tokens, PEM. Default: the public half of the signing key. */
  readonly publicKeys?: readonly string[];
}

interface SignerOptions extends ServiceAccountKeys {
  /** Called with a key that was created on first use, PEM. */
  readonly save: (pem: string) => void;
}

/** A signature algorithm of JSON Web Tokens. */
interface Algorithm {
  readonly name: string;
  readonly hash: string;
}

const curves: Readonly<Record<string, Algorithm>> = tableOf({
  prime256v1: { name: 'ES256', hash: 'sha256' },
  secp384r1: { name: 'ES384', hash: 'sha384' },
  secp521r1: { name: 'ES512', hash: 'sha512' },
});

function algorithmOf({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject): Algorithm {
  if (asymmetricKeyType === 'rsa') return { name: 'RS256', hash: 'sha256' };
  const found = asymmetricKeyType === 'ec' ? curves[asymmetricKeyDetails?.namedCurve ?? ''] : undefined;
  if (found) return found;
  throw new Error(`a key of type ${asymmetricKeyType ?? 'unknown'} cannot sign tokens: use an RSA or EC key`);
}

const base64url = (text: string | Buffer): string => Buffer.from(text).toString('base64url');

const keyId = (key: KeyObject): string =>
  createHmac('sha256', 'key id')
    .update(key.export({ type: 'spki', format: 'der' }))
    .digest('base64url');

/**
 * TokenSigner signs and verifies service account tokens (JWT; RS256, ES256, ES384 or ES512). Without a configured key one is created on
 * first use, which takes tens of milliseconds.
 */
export class TokenSigner {
  readonly issuer: string;
  readonly #options: SignerOptions;
  #private: KeyObject | undefined;
  #public: readonly KeyObject[] | undefined;

  /** @throws {Error} for a key that cannot be parsed or cannot sign tokens */
  constructor(options: SignerOptions) {
    this.issuer = options.issuer ?? defaultIssuer;
    this.#options = options;
    if (options.publicKeys) this.#publicKeys();
    if (options.signingKey !== undefined && options.publicKeys) algorithmOf(this.#signingKey());
  }

  /** Signature algorithms of the tokens that are accepted. */
  get algorithms(): readonly string[] {
    return [...new Set(this.#publicKeys().map((key) => algorithmOf(key).name))];
  }

  sign(claims: TokenClaims): string {
    const key = this.#signingKey();
    const { name, hash } = algorithmOf(key);
    const header = JSON.stringify({ alg: name, kid: keyId(createPublicKey(key)) });
    const body = `${base64url(header)}.${base64url(JSON.stringify(claims))}`;
    const signature = sign(hash, Buffer.from(body), { key, dsaEncoding: 'ieee-p1363' });
    return `${body}.${signature.toString('base64url')}`;
  }

  /** Returns the claims of a token that this server signed; `undefined` for any other text. */
  read(token: string): JsonObject | undefined {
    const [head, body, signature, rest] = token.split('.');
    if (!head || !body || !signature || rest !== undefined) return undefined;
    const [signed, bytes] = [Buffer.from(`${head}.${body}`), Buffer.from(signature, 'base64url')];
    const isOurs = this.#publicKeys().some((key) =>
      verify(algorithmOf(key).hash, signed, { key, dsaEncoding: 'ieee-p1363' }, bytes),
    );
    if (!isOurs) return undefined;
    try {
      const claims: unknown = JSON.parse(Buffer.from(body, 'base64url').toString());
      return isObject(claims) ? claims : undefined;
    } catch {
      return undefined;
    }
  }

  /** Returns the public keys as a JSON Web Key Set. */
  keySet(): JsonObject {
    const keys = this.#publicKeys().map((key) => {
      const { kty, ...members } = key.export({ format: 'jwk' });
      return { use: 'sig', kty, kid: keyId(key), alg: algorithmOf(key).name, ...members };
    });
    return { keys };
  }

  #signingKey(): KeyObject {
    if (this.#private) return this.#private;
    const { signingKey, save } = this.#options;
    if (signingKey !== undefined) return (this.#private = createPrivateKey(signingKey));
    this.#private = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey;
    save(this.#private.export({ type: 'pkcs8', format: 'pem' }).toString());
    return this.#private;
  }

  #publicKeys(): readonly KeyObject[] {
    if (this.#public) return this.#public;
    const { publicKeys = [] } = this.#options;
    const keys = publicKeys.map((pem) => createPublicKey(pem));
    for (const key of keys) algorithmOf(key);
    this.#public = keys.length > 0 ? keys : [createPublicKey(this.#signingKey())];
    return this.#public;
  }
}
