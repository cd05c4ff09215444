import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { TLSSocket } from 'node:tls';
import type { Clock } from '../../base/clock.ts';
import { connectionOf } from '../../streams/http2-messages.ts';
import { offeredProtocols } from '../../streams/websocket.ts';
import {
  isObject,
  type JsonObject,
  listAt,
  objectAt,
  stringAt,
  textOf,
  valueAt,
} from '../../apimachinery/json.ts';
import { unauthorized } from '../../apimachinery/status-error.ts';
import { certificateUids } from '../../pki/certificates.ts';
import { keyOf, type Store } from '../storage/store.ts';
import type { RequestHeaders } from './request-headers.ts';
import type { TokenSigner } from './token-signer.ts';
import {
  anonymous,
  asAuthenticated,
  credentialId,
  sameSecret,
  serviceAccountUser,
  type TokenUser,
  type User,
} from './users.ts';

export interface AuthenticatorDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly signer: TokenSigner;
  readonly tokens: readonly TokenUser[];
  /** Whether requests without credentials are served as `system:anonymous` instead of rejected. */
  readonly anonymous: boolean;
  /** Users that a front proxy has authenticated; absent: its headers are ignored. */
  readonly requestHeaders?: RequestHeaders;
}

export interface TokenResult {
  readonly user: User | undefined;
  readonly audiences: readonly string[];
  readonly error?: string;
}

/** Authenticator identifies the user of a request: by a front proxy's headers, client certificate, bearer token, then as anonymous. */
export class Authenticator {
  readonly #deps: AuthenticatorDeps;

  constructor(deps: AuthenticatorDeps) {
    this.#deps = deps;
  }

  /** @throws {StatusError} 401 */
  authenticate(request: IncomingMessage): User {
    const byProxy = this.#deps.requestHeaders?.user(request);
    if (byProxy) return asAuthenticated(byProxy);
    const byCertificate = certificateUser(request);
    if (byCertificate) return byCertificate;
    const token = bearerOf(request.headers);
    if (token === undefined) {
      if (this.#deps.anonymous) return anonymous;
      throw unauthorized();
    }
    const { user } = this.token(token, []);
    if (!user) throw unauthorized();
    return asAuthenticated(user);
  }

  /** Returns the user of a token; with audiences, only for a token valid for one of them. */
  token(token: string, audiences: readonly string[]): TokenResult {
    const { issuer } = this.#deps.signer;
    const targets = audiences.length > 0 ? audiences : [issuer];
    const match = this.#deps.tokens.find((one) => sameSecret(one.token, token));
    if (match)
      return { user: asAuthenticated(match.user), audiences: targets.includes(issuer) ? [issuer] : [] };
    const claims = token.split('.').length === 3 ? this.#deps.signer.read(token) : undefined;
    if (!claims) return { user: undefined, audiences: [], error: unsignedError(token, issuer) };
    const wrong = this.#invalid(claims);
    if (wrong !== undefined)
      return { user: undefined, audiences: [], error: `[invalid bearer token, ${wrong}]` };
    const aud = listAt(claims, 'aud') as readonly string[];
    const good = aud.filter((one) => targets.includes(one));
    if (good.length === 0)
      return {
        user: undefined,
        audiences: [],
        error: `[invalid bearer token, token audiences [${aud.map((a) => JSON.stringify(a)).join(' ')}] is invalid for the target audiences [${targets.map((a) => JSON.stringify(a)).join(' ')}]]`,
      };
    return { user: asAuthenticated(serviceAccountUser(claims)), audiences: good };
  }

  /** Returns why a token is invalid: it is only valid while its bound objects exist. */
  #invalid(claims: JsonObject): string | undefined {
    const now = this.#deps.clock.now() / 1000;
    if (Number(claims['exp'] ?? 0) < now) return 'service account token has expired';
    if (Number(claims['nbf'] ?? 0) > now + 1) return 'service account token is not valid yet';
    const bound = objectAt(claims, 'kubernetes.io');
    const namespace = stringAt(bound, 'namespace');
    return (
      this.#accountFault(namespace, objectAt(bound, 'serviceaccount')) ?? this.#boundFault(namespace, bound)
    );
  }

  #accountFault(namespace: string, ref: JsonObject): string | undefined {
    const name = stringAt(ref, 'name');
    const found = this.#deps.store.get('serviceaccounts', keyOf(namespace, name))?.object;
    if (!found) return `serviceaccounts ${JSON.stringify(name)} not found`;
    const uid = textOf(valueAt(found, 'metadata', 'uid'));
    if (uid !== ref['uid'])
      return `service account UID (${uid}) does not match claim (${textOf(ref['uid'])})`;
    return this.#isGone(found) ? `service account ${namespace}/${name} has been deleted` : undefined;
  }

  /** Returns why the bound objects of a token make it invalid; the node of a pod's token is informational only. */
  #boundFault(namespace: string, bound: JsonObject): string | undefined {
    const claims = ['secret', 'pod', ...('pod' in bound ? [] : ['node'])];
    for (const claim of claims.filter((one) => Object.hasOwn(bound, one))) {
      const ref = objectAt(bound, claim);
      const key = keyOf(claim === 'node' ? '' : namespace, stringAt(ref, 'name'));
      const found = this.#deps.store.get(`${claim}s`, key)?.object;
      if (!found) return 'service account token has been invalidated';
      const uid = textOf(valueAt(found, 'metadata', 'uid'));
      if (uid !== ref['uid'])
        return `${claim} UID (${uid}) does not match service account ${claim} ref claim (${textOf(ref['uid'])})`;
      if (this.#isGone(found)) return 'service account token has been invalidated';
    }
    return undefined;
  }

  /** Reports whether an object was deleted a minute ago. */
  #isGone(object: JsonObject): boolean {
    const deleted = valueAt(object, 'metadata', 'deletionTimestamp');
    return typeof deleted === 'string' && Date.parse(deleted) < this.#deps.clock.now() - 60_000;
  }
}

/** Returns the error for an unverifiable token; a token with this server's issuer gets the signature error. */
function unsignedError(token: string, issuer: string): string {
  const unknown = 'invalid bearer token';
  try {
    const claims: unknown = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString());
    return isObject(claims) && claims['iss'] === issuer
      ? `[${unknown}, go-jose/go-jose: error in cryptographic primitive]`
      : unknown;
  } catch {
    return unknown;
  }
}

/** The user of each connection's certificate: to parse one costs more than a whole request. */
const users = new WeakMap<object, User | 'nobody'>();

function certificateUser(request: IncomingMessage): User | undefined {
  const connection = connectionOf(request);
  let user = users.get(connection);
  if (user === undefined) {
    const read = readCertificate(request.socket as TLSSocket);
    user = read ? asAuthenticated(read) : 'nobody';
    users.set(connection, user);
  }
  return user === 'nobody' ? undefined : user;
}

function readCertificate(socket: TLSSocket): User | undefined {
  if (!socket.authorized) return undefined;
  const { subject, fingerprint256, raw } = socket.getPeerCertificate();
  const common = first(subject.CN);
  if (!common) return undefined;
  const organizations = subject.O;
  const [uid, ...more] = certificateUids(raw);
  if (uid === '' || more.length > 0) throw unauthorized();
  const id = `X509SHA256=${fingerprint256.replaceAll(':', '').toLowerCase()}`;
  return {
    name: common,
    ...(uid !== undefined && { uid }),
    groups: organizations === undefined ? [] : [organizations].flat(),
    extra: { [credentialId]: [id] },
  };
}

const first = (value: string | string[] | undefined): string =>
  Array.isArray(value) ? (value[0] ?? '') : (value ?? '');

const bearerProtocol = 'base64url.bearer.authorization.k8s.io.';

/** Reports whether a WebSocket subprotocol is a token, which must not be forwarded. */
export const isBearer = (protocol: string): boolean => protocol.startsWith(bearerProtocol);

/** Returns the token of a request: from the header, or from the WebSocket subprotocol that browsers use instead. */
function bearerOf(headers: IncomingHttpHeaders): string | undefined {
  const [scheme = '', token = ''] = (headers.authorization ?? '').trim().split(' ');
  if (scheme.toLowerCase() === 'bearer' && token !== '') return token;
  const protocol = offeredProtocols({ headers }).find(isBearer);
  return protocol && Buffer.from(protocol.slice(bearerProtocol.length), 'base64url').toString();
}
