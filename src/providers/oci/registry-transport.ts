import type { Readable } from 'node:stream';
import type { ConnectionOptions } from 'node:tls';
import methods from 'undici/lib/api/index.js';
import Agent from 'undici/lib/dispatcher/agent.js';
import Dispatcher from 'undici/lib/dispatcher/dispatcher.js';
import ProxyAgent from 'undici/lib/dispatcher/proxy-agent.js';
import { AgentError, messageOf } from '../../base/errors.ts';
import { type ProxyEnvironment, proxyFor } from '../../base/proxy.ts';
import type { EndpointTls } from './registry-hosts.ts';

Object.assign(Dispatcher.prototype, methods);

/** A request to a registry, a mirror or a token server. */
export interface RegistryRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly tls?: EndpointTls;
  /** The body of a POST; absent: GET. */
  readonly form?: URLSearchParams;
  readonly signal?: AbortSignal;
}

/** A response, whose body must be read or destroyed. */
export interface RegistryResponse {
  readonly status: number;
  /** Returns a header, by its name in lower case. */
  header(name: string): string | undefined;
  readonly body: Readable;
}

/** Settings of RegistryTransport. */
export interface TransportSettings {
  /** The variables that name proxies. Default: none. */
  readonly proxies?: ProxyEnvironment;
  /** The authorities that are trusted besides those of an endpoint, PEM. Default: Node's own. */
  readonly authorities?: () => readonly string[];
  /** The time to connect and to the head of a response, ms. */
  readonly responseMs?: number;
  /** The time without a byte of a body, ms. */
  readonly idleMs?: number;
}

type TlsOptions = Pick<ConnectionOptions, 'ca' | 'cert' | 'key' | 'rejectUnauthorized'>;

const defaultTimes = { responseMs: 30_000, idleMs: 60_000 };

/** The number of redirects that are followed. */
const maxRedirects = 10;

/**
 * RegistryTransport sends requests to registries, directly or through the proxies of the environment. Redirects are followed without
 * credentials, certificates and headers of the endpoint when they lead to another origin.
 */
export class RegistryTransport {
  readonly #settings: TransportSettings;
  readonly #dispatchers = new Map<string, Dispatcher>();

  constructor(settings: TransportSettings = {}) {
    this.#settings = settings;
  }

  /** @throws {AgentError} `unavailable` when no response comes in time */
  async send(first: RegistryRequest): Promise<RegistryResponse> {
    let next = first;
    for (let redirects = 0; ; redirects++) {
      const response = await this.#once(next);
      const place = response.header('location');
      if (![301, 302, 303, 307, 308].includes(response.status) || place === undefined) return response;
      response.body.destroy();
      if (redirects >= maxRedirects) throw new AgentError('unavailable', `${first.url}: too many redirects`);
      next = redirected(next, place);
    }
  }

  /** Closes idle and open connections. */
  async close(): Promise<void> {
    const all = [...this.#dispatchers.values()];
    this.#dispatchers.clear();
    await Promise.all(all.map((one) => one.destroy()));
  }

  async #once({ url, headers, tls = {}, form, signal }: RegistryRequest): Promise<RegistryResponse> {
    const to = new URL(url);
    try {
      const {
        statusCode,
        headers: answered,
        body,
      } = await this.#dispatcher(to, tls).request({
        origin: to.origin,
        path: `${to.pathname}${to.search}`,
        ...this.#times, // here too, as a SOCKS proxy's connections do not have those of their dispatcher
        method: form ? 'POST' : 'GET',
        headers: {
          'user-agent': 'podtender',
          'accept-encoding': 'identity',
          ...(form && { 'content-type': 'application/x-www-form-urlencoded' }),
          ...headers,
        },
        ...(form && { body: form.toString() }),
        ...(signal && { signal }),
      });
      body.on('error', () => undefined); // of a body that nothing reads any more
      const header = (name: string): string | undefined => {
        const value = answered[name];
        return Array.isArray(value) ? value.join(', ') : value;
      };
      return { status: statusCode, header, body };
    } catch (cause) {
      signal?.throwIfAborted();
      if (cause instanceof AgentError) throw cause;
      throw new AgentError('unavailable', `${to.origin}: ${reasonOf(cause)}`, { cause });
    }
  }

  get #times(): { readonly headersTimeout: number; readonly bodyTimeout: number } {
    const { responseMs = defaultTimes.responseMs, idleMs = defaultTimes.idleMs } = this.#settings;
    return { headersTimeout: responseMs, bodyTimeout: idleMs };
  }

  #dispatcher(url: URL, tls: EndpointTls): Dispatcher {
    const { proxies = {}, responseMs = defaultTimes.responseMs } = this.#settings;
    const proxy = proxyFor(url, proxies);
    const id = JSON.stringify([proxy, tls]);
    const pooled = this.#dispatchers.get(id);
    if (pooled) return pooled;
    const connect = { timeout: responseMs, ...this.#tlsOptions(tls) };
    const times = this.#times;
    const dispatcher =
      proxy === undefined
        ? new Agent({ connect, ...times })
        : new ProxyAgent({ uri: proxy.replace(/^socks5h:/, 'socks5:'), requestTls: connect, ...times });
    this.#dispatchers.set(id, dispatcher);
    return dispatcher;
  }

  #tlsOptions({ ca = [], cert, key, skipVerify = false }: EndpointTls): TlsOptions {
    const trusted = [...(this.#settings.authorities?.() ?? []), ...ca];
    return {
      rejectUnauthorized: !skipVerify,
      ...(trusted.length > 0 && { ca: trusted }),
      ...(cert !== undefined && { cert }),
      ...(key !== undefined && { key }),
    };
  }
}

function redirected({ url, headers, tls, signal }: RegistryRequest, place: string): RegistryRequest {
  if (!URL.canParse(place, url))
    throw new AgentError('unavailable', `${url}: a redirect to ${JSON.stringify(place)}`);
  const next = new URL(place, url);
  if (next.protocol === 'http:' && new URL(url).protocol === 'https:')
    throw new AgentError('unavailable', `${url}: a redirect from https to http, ${next.origin}`);
  const same = next.origin === new URL(url).origin;
  const range = headers['range'];
  return {
    url: next.href,
    headers: same ? headers : range === undefined ? {} : { range },
    ...(same && tls && { tls }),
    ...(signal && { signal }),
  };
}

/** Returns the text of a failed connection; several attempts of one host are one text. */
function reasonOf(cause: unknown): string {
  const inner = cause instanceof AggregateError ? (cause.errors[0] as unknown) : cause;
  return messageOf(inner);
}
