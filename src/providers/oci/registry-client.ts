import { AgentError, messageOf } from '../../base/errors.ts';
import type { AuthConfig } from '../../provider/cri-messages.ts';
import { acceptedTypes, maxDocumentBytes } from './documents.ts';
import type { ImageReference } from './reference.ts';
import type { LockClock } from './store-lock.ts';

/** Dependencies of RegistryClient. */
export interface RegistryClientDeps {
  readonly clock: LockClock;
  readonly auth?: AuthConfig;
  readonly signal?: AbortSignal;
}

/** The number of attempts of a request that a registry or the network fails. */
const attempts = 4;
/** The time from a request to its response, ms. */
const responseMs = 30_000;
/** The time for a whole body, after which it is resumed, ms. */
const bodyMs = 300_000;

/**
 * RegistryClient reads one repository of a registry. Credentials are sent to the registry and to the token server that it names, and never to where a
 * redirect leads. Only registries on this machine are asked without TLS.
 */
export class RegistryClient {
  readonly #reference: ImageReference;
  readonly #deps: RegistryClientDeps;
  #authorization: string | undefined;

  constructor(reference: ImageReference, deps: RegistryClientDeps) {
    this.#reference = reference;
    this.#deps = deps;
  }

  /** Reads a manifest by tag or digest. @throws {AgentError} `not_found`, `unauthenticated`, `unavailable` */
  async manifest(name: string): Promise<Buffer> {
    return this.#repeated(async () => {
      const response = await this.#get(`manifests/${name}`, { accept: acceptedTypes.join(', ') });
      const bytes = Buffer.from(await response.arrayBuffer());
      if (bytes.length <= maxDocumentBytes) return bytes;
      throw new AgentError('invalid_argument', `manifest ${name} has more than ${maxDocumentBytes} bytes`);
    });
  }

  /** Requests a blob from an offset. A response with status 200 begins at the start. */
  async blob(digest: string, from: number): Promise<Response> {
    return this.#get(`blobs/${digest}`, from > 0 ? { range: `bytes=${from}-` } : {});
  }

  /** Repeats what a registry or the network fails, with growing pauses. */
  async #repeated<T>(act: () => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await act();
      } catch (reason) {
        const error = AgentError.from(reason, 'unavailable');
        if (error.code !== 'unavailable' || attempt >= attempts) throw error;
        await this.pause(attempt);
      }
    }
  }

  /** Waits before the next attempt. */
  pause(attempt: number): Promise<void> {
    return this.#deps.clock.sleep(100 * 2 ** attempt, this.#deps.signal);
  }

  async #get(path: string, headers: Readonly<Record<string, string>>): Promise<Response> {
    const url = `${originOf(this.#reference.registry)}/v2/${this.#reference.path}/${path}`;
    let response = await this.#fetch(url, headers);
    if (response.status === 401) {
      await response.body?.cancel();
      await this.#authorize(response.headers.get('www-authenticate') ?? '');
      response = await this.#fetch(url, headers);
    }
    if (response.ok) return response;
    const text = (await response.text()).slice(0, 300);
    throw new AgentError(
      codeOf(response.status),
      `${this.#reference.name}: ${path}: ${response.status} ${text.trim()}`,
    );
  }

  async #fetch(url: string, headers: Readonly<Record<string, string>>): Promise<Response> {
    const { signal } = this.#deps;
    const late = AbortSignal.timeout(headers['accept'] === undefined ? bodyMs : responseMs);
    try {
      return await fetch(url, {
        headers: {
          ...headers,
          ...(this.#authorization !== undefined && { authorization: this.#authorization }),
        },
        signal: signal ? AbortSignal.any([signal, late]) : late,
      });
    } catch (cause) {
      signal?.throwIfAborted();
      const { cause: inner } = cause as { readonly cause?: unknown };
      throw new AgentError('unavailable', `${url}: ${messageOf(inner ?? cause)}`, { cause });
    }
  }

  /** Answers a challenge: with the credentials themselves, or with a token for them. */
  async #authorize(challenge: string): Promise<void> {
    const basic = basicOf(this.#deps.auth);
    if (/^basic\b/i.test(challenge)) {
      if (basic === undefined)
        throw new AgentError('unauthenticated', `${this.#reference.name}: the registry wants credentials`);
      this.#authorization = basic;
      return;
    }
    const values = new Map(
      [...challenge.matchAll(/(\w+)="([^"]*)"/g)].map(([, key = '', value = '']) => [key, value]),
    );
    const realm = values.get('realm');
    if (!/^bearer\b/i.test(challenge) || realm === undefined || !URL.canParse(realm))
      throw new AgentError(
        'unauthenticated',
        `${this.#reference.name}: the registry wants unknown credentials`,
      );
    const url = new URL(realm);
    if (url.protocol !== 'https:' && !isLoopback(url.hostname))
      throw new AgentError(
        'unauthenticated',
        `${this.#reference.name}: the token server ${url.host} has no TLS`,
      );
    url.searchParams.set('scope', values.get('scope') ?? `repository:${this.#reference.path}:pull`);
    const service = values.get('service');
    if (service !== undefined) url.searchParams.set('service', service);
    this.#authorization = basic;
    const response = await this.#fetch(url.href, { accept: 'application/json' });
    if (!response.ok)
      throw new AgentError('unauthenticated', `${this.#reference.name}: no token: ${response.status}`);
    const token = tokenOf(await response.json());
    if (token === undefined)
      throw new AgentError('unauthenticated', `${this.#reference.name}: the token server sent no token`);
    this.#authorization = `Bearer ${token}`;
  }
}

/** Returns the token of a token server's response. */
function tokenOf(body: unknown): string | undefined {
  const { token, access_token: other } = (body ?? {}) as Partial<Record<'token' | 'access_token', unknown>>;
  const found = token ?? other;
  return typeof found === 'string' ? found : undefined;
}

function basicOf({ username = '', password = '', auth = '' }: AuthConfig = {}): string | undefined {
  if (auth !== '') return `Basic ${auth}`;
  return username === '' ? undefined : `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
}

const isLoopback = (host: string): boolean => /^(?:localhost|127(?:\.\d+){3}|\[?::1\]?)$/.test(host);

function originOf(registry: string): string {
  const host = registry === 'docker.io' ? 'registry-1.docker.io' : registry;
  return `${isLoopback(host.replace(/:\d+$/, '')) ? 'http' : 'https'}://${host}`;
}

const codeOf = (status: number): AgentError['code'] =>
  status === 404 ? 'not_found' : status === 401 || status === 403 ? 'unauthenticated' : 'unavailable';
