import { type IncomingMessage, request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { machineTrust } from '../../pki/authorities.ts';
import { answerTo } from '../../base/answer-to.ts';
import type { Clock } from '../../base/clock.ts';
import { addressPatienceMs } from '../../base/host-port.ts';
import { AgentError, messageOf } from '../../base/errors.ts';
import type { Credentials, CredentialSource } from '../rest/connection.ts';

/** The `config` of a kubeconfig's `auth-provider` named `oidc`. */
export type OidcConfig = Readonly<Record<string, string | undefined>>;

/** Tokens that replace those of the kubeconfig. */
export interface OidcTokens {
  readonly 'id-token': string;
  readonly 'refresh-token'?: string;
}

/** A token is not used in the last seconds before it expires, ms (client-go `expiryDelta`). */
const marginMs = 10_000;
const timeoutMs = 10_000;
/** Maximum size of a response in bytes. */
const mostBytes = 1024 * 1024;

/**
 * OidcCredentials implements a kubeconfig's OpenID Connect user: the ID token until it expires, then a new one for the refresh token.
 *
 * Follows client-go `plugin/pkg/client/auth/oidc`.
 */
export class OidcCredentials implements CredentialSource {
  readonly #clock: Clock;
  readonly #ca: Buffer | undefined;
  readonly #keep: (tokens: OidcTokens) => Promise<void>;
  #config: OidcConfig;
  #credentials: Credentials | undefined;
  #refused: string | undefined;
  #refreshing: Promise<Credentials> | undefined;

  /** @param ca PEM of the provider's authority; absent: the machine's own. @param keep stores new tokens for the next start */
  constructor(
    config: OidcConfig,
    deps: {
      readonly clock: Clock;
      readonly ca: Buffer | undefined;
      readonly keep: (tokens: OidcTokens) => Promise<void>;
    },
  ) {
    this.#config = config;
    this.#clock = deps.clock;
    this.#ca = deps.ca;
    this.#keep = deps.keep;
  }

  current(): Credentials | Promise<Credentials> {
    const token = this.#config['id-token'] ?? '';
    if (token !== this.#refused && this.#clock.now() < expiryOf(token) - marginMs)
      return (this.#credentials ??= { headers: { authorization: `Bearer ${token}` } });
    this.#refreshing ??= this.#refresh().finally(() => {
      this.#refreshing = undefined;
    });
    return this.#refreshing;
  }

  invalidate(): void {
    this.#refused = this.#config['id-token'];
  }

  async #refresh(): Promise<Credentials> {
    const refreshToken = this.#config['refresh-token'] ?? '';
    if (refreshToken === '')
      throw new AgentError(
        'unauthenticated',
        'oidc: the ID token is no longer good, and there is no refresh token',
      );
    const answer = await this.#ask(await this.#endpoint(), refreshToken);
    const { id_token: idToken, refresh_token: next } = answer;
    if (typeof idToken !== 'string')
      throw new AgentError('unauthenticated', 'oidc: the provider gave no ID token for the refresh token');
    const tokens = {
      'id-token': idToken,
      ...(typeof next === 'string' && next !== '' && { 'refresh-token': next }),
    };
    this.#config = { ...this.#config, ...tokens };
    await this.#keep(tokens);
    return (this.#credentials = { headers: { authorization: `Bearer ${idToken}` } });
  }

  async #endpoint(): Promise<{ readonly url: string; readonly inBody: boolean }> {
    const issuer = (this.#config['idp-issuer-url'] ?? '').replace(/\/$/, '');
    if (!URL.canParse(issuer))
      throw new AgentError('invalid_argument', `oidc: idp-issuer-url ${JSON.stringify(issuer)} is no URL`);
    const found = await this.#json(`${issuer}/.well-known/openid-configuration`, { method: 'GET' });
    const { token_endpoint: url, token_endpoint_auth_methods_supported: methods } = found;
    if (typeof url !== 'string' || !URL.canParse(url))
      throw new AgentError('unavailable', `oidc: ${issuer} names no token_endpoint`);
    const inBody = Array.isArray(methods) && !methods.includes('client_secret_basic');
    return { url, inBody };
  }

  #ask(
    { url, inBody }: { readonly url: string; readonly inBody: boolean },
    refreshToken: string,
  ): Promise<Answer> {
    const { 'client-id': id = '', 'client-secret': secret = '' } = this.#config;
    const inHeader = secret !== '' && !inBody;
    const form = new URLSearchParams({
      grant_type: 'refresh_token',
      refresh_token: refreshToken,
      ...(!inHeader && { client_id: id }),
      ...(!inHeader && secret !== '' && { client_secret: secret }),
    });
    const basic = Buffer.from(`${encodeURIComponent(id)}:${encodeURIComponent(secret)}`).toString('base64');
    return this.#json(url, {
      method: 'POST',
      body: form.toString(),
      headers: {
        'content-type': 'application/x-www-form-urlencoded',
        ...(inHeader && { authorization: `Basic ${basic}` }),
      },
    });
  }

  /** @throws {AgentError} `unavailable` without a response, `unauthenticated` when the provider refuses; neither contains tokens */
  async #json(url: string, { method, body, headers = {} }: Ask): Promise<Answer> {
    const [status, answer] = await this.#send(url, {
      method,
      headers,
      ...(body !== undefined && { body }),
    }).catch((reason: unknown) => {
      throw new AgentError('unavailable', `oidc: ${url} cannot be reached: ${messageOf(reason)}`);
    });
    const parsed = parse(answer);
    if (status === 200 && parsed) return parsed;
    const { error, error_description: more } = parsed ?? {};
    const why = [error, more].filter((one) => typeof one === 'string').join(': ');
    throw new AgentError('unauthenticated', `oidc: ${url} answered ${status}${why === '' ? '' : `: ${why}`}`);
  }

  async #send(url: string, { method, headers, body }: Ask): Promise<readonly [number, string]> {
    const { signal, stop } = deadline(this.#clock);
    const options = {
      method,
      headers: { accept: 'application/json', ...headers },
      signal,
      autoSelectFamilyAttemptTimeout: addressPatienceMs,
    };
    try {
      const trust = this.#ca ? { ca: this.#ca } : { secureContext: machineTrust() };
      const sent = url.startsWith('https:')
        ? httpsRequest(url, { ...options, ...trust, agent: false })
        : httpRequest(url, { ...options, agent: false });
      sent.end(body);
      const response = await answerTo(sent);
      return [response.statusCode ?? 0, await textOf(response)];
    } finally {
      stop();
    }
  }
}

async function textOf(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > mostBytes) throw new Error(`the answer is longer than ${mostBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

interface Ask {
  readonly method: 'GET' | 'POST';
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

type Answer = Readonly<Record<string, unknown>>;

function deadline(clock: Clock): { readonly signal: AbortSignal; readonly stop: () => void } {
  const controller = new AbortController();
  const stop = clock.timer(timeoutMs, () => {
    controller.abort(new Error(`no answer within ${timeoutMs} ms`));
  });
  return { signal: controller.signal, stop };
}

function parse(body: string): Answer | undefined {
  try {
    const value: unknown = JSON.parse(body);
    return typeof value === 'object' && value !== null ? (value as Answer) : undefined;
  } catch {
    return undefined;
  }
}

/** Returns when a JWT expires, ms since the epoch; 0 when it is not a JWT. */
function expiryOf(token: string): number {
  const claims = parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString());
  return typeof claims?.['exp'] === 'number' ? claims['exp'] * 1000 : 0;
}
