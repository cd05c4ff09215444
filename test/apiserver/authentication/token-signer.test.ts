import { createPublicKey, generateKeyPairSync } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { type TokenClaims, TokenSigner } from '../../../src/apiserver/authentication/token-signer.ts';
import { Authority } from '../../../src/pki/certificates.ts';

const claims = { sub: 'system:serviceaccount:default:default', iss: 'https://me' } as TokenClaims;
const ignore = (): void => undefined;

const pairOf = (type: 'rsa' | 'P-256' | 'P-384' | 'P-521'): { key: string; public: string } => {
  const { privateKey } =
    type === 'rsa'
      ? generateKeyPairSync('rsa', { modulusLength: 2048 })
      : generateKeyPairSync('ec', { namedCurve: type });
  return {
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    public: createPublicKey(privateKey).export({ type: 'spki', format: 'pem' }).toString(),
  };
};

const headerOf = (token: string): unknown =>
  JSON.parse(Buffer.from(token.split('.')[0] ?? '', 'base64url').toString());

describe('TokenSigner', () => {
  test.each([
    ['rsa', 'RS256'],
    ['P-256', 'ES256'],
    ['P-384', 'ES384'],
    ['P-521', 'ES512'],
  ] as const)('signs with a configured %s key as %s', (type, algorithm) => {
    const pair = pairOf(type);
    const signer = new TokenSigner({ signingKey: pair.key, publicKeys: [pair.public], save: ignore });
    const token = signer.sign(claims);
    expect(headerOf(token)).toMatchObject({ alg: algorithm });
    expect(signer.read(token)).toEqual(claims);
    expect(signer.read(`${token.slice(0, -8)}AAAAAAAA`)).toBeUndefined();
    expect(signer.algorithms).toEqual([algorithm]);
    const kid = (headerOf(token) as { kid: string }).kid;
    expect(signer.keySet()).toMatchObject({ keys: [{ alg: algorithm, kid, use: 'sig' }] });
  });

  test('tokens are verified by every configured key, certificates among them, and by no other', () => {
    const old = pairOf('rsa');
    const authority = Authority.create('sa', Date.UTC(2026, 0));
    const before = new TokenSigner({ signingKey: old.key, save: ignore }).sign(claims);
    const signer = new TokenSigner({
      signingKey: authority.key,
      publicKeys: [authority.cert, old.public],
      save: ignore,
    });
    expect(signer.read(signer.sign(claims))).toEqual(claims);
    expect(signer.read(before)).toEqual(claims);
    const other = new TokenSigner({ signingKey: pairOf('P-256').key, save: ignore });
    expect(signer.read(other.sign(claims))).toBeUndefined();
  });

  test('a key that cannot sign tokens is rejected when the signer is made', () => {
    const ed = generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
    const publicKeys = [pairOf('rsa').public];
    expect(() => new TokenSigner({ signingKey: ed, publicKeys, save: ignore })).toThrow(
      /ed25519 cannot sign/,
    );
    expect(() => new TokenSigner({ publicKeys: ['no key'], save: ignore })).toThrow();
  });
});
