import { AgentError } from '../../base/errors.ts';
import type { AuthConfig } from '../../provider/cri-messages.ts';
import { type Endpoint, isLoopback } from './registry-hosts.ts';
import { readBody } from './registry-body.ts';
import { registryFault } from './registry-fault.ts';
import type { RegistryRequest, RegistryResponse, RegistryTransport } from './registry-transport.ts';

/** A way of authentication that a registry offers in `WWW-Authenticate`. */
export interface Challenge {
  /** In lower case, such as `bearer`. */
  readonly scheme: string;
  readonly values: ReadonlyMap<string, string>;
}

/** Parses `WWW-Authenticate`, which may offer several ways. */
export function challengesOf(header: string): readonly Challenge[] {
  const challenges: { readonly scheme: string; readonly values: Map<string, string> }[] = [];
  const words = /([\w!#$%&'*+.^`|~-]+)(?:\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+)))?/g;
  for (const [, name = '', quoted, plain] of header.matchAll(words)) {
    const value = quoted?.replace(/\\(.)/g, '$1') ?? plain;
    if (value === undefined) challenges.push({ scheme: name.toLowerCase(), values: new Map() });
    else challenges.at(-1)?.values.set(name.toLowerCase(), value);
  }
  return challenges;
}

/** Dependencies of RegistryAuth. */
export interface RegistryAuthDeps {
  readonly transport: RegistryTransport;
  readonly endpoint: Pick<Endpoint, 'base' | 'tls'>;
  /** The path of the repository. */
  readonly repository: string;
  /** The name of the image, for messages. */
  readonly image: string;
  readonly auth?: AuthConfig;
  readonly signal?: AbortSignal;
}

/**
 * RegistryAuth answers the challenges of one endpoint for one repository, with credentials or with a token for them. Simultaneous requests
 * share a token; one that has expired is replaced when the endpoint refuses it.
 */
export class RegistryAuth {
  readonly #deps: RegistryAuthDeps;
  #authorization: string | undefined;
  #pending: Promise<string> | undefined;

  constructor(deps: RegistryAuthDeps) {
    this.#deps = deps;
    const { registryToken = '' } = deps.auth ?? {};
    if (registryToken !== '') this.#authorization = `Bearer ${registryToken}`;
  }

  /** The current value of `Authorization`; `undefined` before the first challenge. */
  get authorization(): string | undefined {
    return this.#authorization;
  }

  /**
   * Answers a challenge.
   *
   * @param refused the value of `Authorization` that was refused
   * @throws {AgentError} `unauthenticated` when there is no answer; `unavailable` when the token server fails
   */
  async answer(challenge: string, refused: string | undefined): Promise<void> {
    if (this.#authorization !== refused) return; // another request has answered meanwhile
    this.#pending ??= this.#answer(challenge).finally(() => (this.#pending = undefined));
    this.#authorization = await this.#pending;
  }

  async #answer(header: string): Promise<string> {
    const { image, auth } = this.#deps;
    const challenges = challengesOf(header);
    const bearer = challenges.find(({ scheme }) => scheme === 'bearer');
    if (bearer) return `Bearer ${await this.#token(bearer)}`;
    const basic = basicOf(auth);
    if (!challenges.some(({ scheme }) => scheme === 'basic'))
      throw new AgentError(
        'unauthenticated',
        `${image}: the registry wants credentials of an unknown kind: ${JSON.stringify(header.slice(0, 100))}`,
      );
    if (basic === undefined || basic === this.#authorization)
      throw new AgentError(
        'unauthenticated',
        basic === undefined
          ? `${image}: the registry wants credentials, there are none`
          : `${image}: the registry refuses the credentials`,
      );
    return basic;
  }

  async #token({ values }: Challenge): Promise<string> {
    const { image, repository, auth = {}, transport, endpoint, signal } = this.#deps;
    const url = realmOf(values.get('realm') ?? '', endpoint, image);
    const { ca } = endpoint.tls;
    const isSameHost = url.host === new URL(endpoint.base).host;
    const target = {
      service: values.get('service'),
      scope: values.get('scope') ?? `repository:${repository}:pull`,
    };
    const response = await transport.send({
      ...tokenRequest(url, auth, target),
      tls: isSameHost ? endpoint.tls : { ...(ca && { ca }) },
      ...(signal && { signal }),
    });
    return readToken(response, `${image}: the token server ${url.host}`);
  }
}

/** Returns the request for a token: a POST with an identity token, otherwise a GET with name and password if there are any. */
function tokenRequest(
  url: URL,
  auth: AuthConfig,
  { service, scope }: { readonly service: string | undefined; readonly scope: string },
): Pick<RegistryRequest, 'url' | 'headers' | 'form'> {
  const accept = 'application/json';
  const { identityToken = '' } = auth;
  if (identityToken !== '') {
    const form = new URLSearchParams({
      grant_type: 'refresh_token',
      refresh_token: identityToken,
      client_id: 'podtender',
      scope,
      ...(service !== undefined && { service }),
    });
    return { url: url.href, headers: { accept }, form };
  }
  for (const one of scope.split(' ')) url.searchParams.append('scope', one);
  if (service !== undefined) url.searchParams.set('service', service);
  const authorization = basicOf(auth);
  return { url: url.href, headers: { accept, ...(authorization !== undefined && { authorization }) } };
}

/** Credentials go over TLS, unless they do not leave the machine or the registry itself is configured without. */
function realmOf(realm: string, { base }: Pick<Endpoint, 'base'>, image: string): URL {
  if (!URL.canParse(realm))
    throw new AgentError('unauthenticated', `${image}: the registry names no token server`);
  const url = new URL(realm);
  const mayBePlain = isLoopback(url.hostname) || url.host === new URL(base).host;
  if (url.protocol === 'https:' || (url.protocol === 'http:' && mayBePlain)) return url;
  throw new AgentError('unauthenticated', `${image}: the token server ${url.host} has no TLS`);
}

/** The maximum size of a token server's answer, bytes. */
const maxTokenBytes = 1024 * 1024;

async function readToken(response: RegistryResponse, who: string): Promise<string> {
  if (response.status !== 200) throw await registryFault(response, who);
  let body: unknown;
  try {
    body = JSON.parse((await readBody(response.body, maxTokenBytes, `the answer of ${who}`)).toString());
  } catch (cause) {
    if (cause instanceof AgentError) throw cause;
    throw new AgentError('unavailable', `${who} sent no JSON`, { cause });
  }
  const { token, access_token: other } = (body ?? {}) as Partial<Record<'token' | 'access_token', unknown>>;
  const value = typeof token === 'string' && token !== '' ? token : other;
  if (typeof value === 'string' && /^[\x21-\x7e]+$/.test(value)) return value;
  throw new AgentError('unauthenticated', `${who} sent no token`);
}

function basicOf({ username = '', password = '', auth = '' }: AuthConfig = {}): string | undefined {
  if (auth !== '') return `Basic ${auth}`;
  return username === '' ? undefined : `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
}
