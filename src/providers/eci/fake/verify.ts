import { acs3Authorization, v1Signature } from '../signature.ts';
import { FakeFault } from './request.ts';

/** A key pair that the double accepts. */
export interface FakeAccessKey {
  readonly accessKeyId: string;
  readonly accessKeySecret: string;
  /** Of temporary credentials: requests must carry it. */
  readonly securityToken?: string;
  /** When the temporary credentials end, ms since the epoch. */
  readonly expiresAt?: number;
}

/** A request as it arrived. */
export interface ArrivedRequest {
  readonly method: string;
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** How far a request's time may be from the double's, ms. */
const skewMs = 15 * 60_000;

/** Verifier checks signatures, times and nonces as the service does. */
export class Verifier {
  readonly #keys: readonly FakeAccessKey[];
  readonly #nonces = new Set<string>();

  constructor(keys: readonly FakeAccessKey[]) {
    this.#keys = keys;
  }

  /** @throws {FakeFault} what the service would answer */
  verify(request: ArrivedRequest, now: number): void {
    const authorization = request.headers['authorization'];
    if (authorization?.startsWith('ACS3-')) this.#acs3(request, authorization, now);
    else if (request.query['Signature'] !== undefined) this.#v1(request, now);
    else throw new FakeFault(400, 'IncompleteSignature', 'The request has no signature.');
  }

  #acs3(request: ArrivedRequest, authorization: string, now: number): void {
    const id = /Credential=([^,]*)/.exec(authorization)?.[1] ?? '';
    const names = (/SignedHeaders=([^,]*)/.exec(authorization)?.[1] ?? '').split(';');
    const key = this.#key(id, request.headers['x-acs-security-token'], now);
    const headers = Object.fromEntries(names.map((name) => [name, request.headers[name] ?? '']));
    const expected = acs3Authorization({ ...request, headers }, key);
    if (expected !== authorization)
      throw new FakeFault(
        400,
        'SignatureDoesNotMatch',
        'Specified signature does not match our calculation.',
      );
    this.#fresh(request.headers['x-acs-date'], request.headers['x-acs-signature-nonce'], now);
  }

  #v1({ method, query }: ArrivedRequest, now: number): void {
    const { Signature, ...signed } = query;
    const key = this.#key(query['AccessKeyId'] ?? '', query['SecurityToken'], now);
    if (v1Signature(method, signed, key.accessKeySecret) !== Signature)
      throw new FakeFault(
        400,
        'SignatureDoesNotMatch',
        'Specified signature is not matched with our calculation.',
      );
    this.#fresh(query['Timestamp'], query['SignatureNonce'], now);
  }

  #key(id: string, token: string | undefined, now: number): FakeAccessKey {
    const key = this.#keys.find(({ accessKeyId }) => accessKeyId === id);
    if (!key) throw new FakeFault(404, 'InvalidAccessKeyId.NotFound', 'Specified access key is not found.');
    if (key.securityToken !== token)
      throw new FakeFault(400, 'InvalidSecurityToken.Malformed', 'Specified SecurityToken is malformed.');
    if (key.expiresAt !== undefined && now >= key.expiresAt)
      throw new FakeFault(400, 'InvalidSecurityToken.Expired', 'Specified SecurityToken is expired.');
    return key;
  }

  #fresh(date: string | undefined, nonce: string | undefined, now: number): void {
    const at = Date.parse(date ?? '');
    if (Number.isNaN(at) || Math.abs(at - now) > skewMs)
      throw new FakeFault(400, 'InvalidTimeStamp.Expired', 'Specified time stamp or date value is expired.');
    if (nonce === undefined || this.#nonces.has(nonce))
      throw new FakeFault(400, 'SignatureNonceUsed', 'Specified signature nonce was used already.');
    this.#nonces.add(nonce);
  }
}
