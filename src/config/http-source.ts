import {
  Agent as HttpAgent,
  type AgentOptions,
  type IncomingMessage,
  request as httpRequest,
} from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { concatMap, defer, filter, map, type Observable } from 'rxjs';
import { machineTrust } from '../pki/authorities.ts';
import { answerTo } from '../base/answer-to.ts';
import type { Clock } from '../base/clock.ts';
import { dialError } from '../go/dial-error.ts';
import { messageOf } from '../base/errors.ts';
import { yamlText } from '../go/yaml/reader.ts';
import { goQuote } from '../go/go-quote.ts';
import { maxRedirects, redirects } from '../go/http/client.ts';
import { withoutPassword } from '../go/url.ts';
import { type ProxyEnvironment, proxyFor } from '../base/proxy.ts';
import {
  type FetchManifest,
  type ManifestAnswer,
  ManifestUrl,
  type ManifestUrlOptions,
} from './manifest-url.ts';
import type { SourceSnapshot } from './pod-update.ts';
import type { DecodeManifest, ManifestFault } from './static-pod.ts';
import { every } from './timing.ts';
import { addressPatienceMs, hostPortOf } from '../base/host-port.ts';

/** A request that returned no pods. */
export interface UrlProblem extends ManifestFault {
  readonly url: string;
  /** Number of consecutive failed requests, including this one; the first three are logged at a higher level (R24). */
  readonly failures: number;
}

export interface HttpSourceDeps {
  readonly clock: Pick<Clock, 'timer'>;
  readonly fetch: FetchManifest;
  readonly onError: (problem: UrlProblem) => void;
  /** Default: synchronous. */
  readonly decode?: DecodeManifest;
}

export interface HttpSourceOptions extends ManifestUrlOptions {
  /** Interval between requests: kubelet `httpCheckFrequency`, default 20 s. */
  readonly periodMs?: number;
}

/**
 * Emits static pods from a URL (R24): requested at once and every `periodMs`; one request at a time.
 *
 * @example
 * config.addSource('http', httpSource({ clock, fetch: fetchManifest, onError }, { url: 'https://pods.example.com/list.yaml', nodeName }));
 */
export function httpSource(deps: HttpSourceDeps, options: HttpSourceOptions): Observable<SourceSnapshot> {
  return defer(() => {
    const manifest = new ManifestUrl(deps.fetch, options, deps.decode);
    let failures = 0;
    return every(deps.clock, options.periodMs ?? 20_000).pipe(
      concatMap(() => manifest.poll()),
      map(({ pods, fault }) => {
        failures = fault ? failures + 1 : 0;
        if (fault) deps.onError({ ...fault, url: withoutPassword(options.url), failures });
        return pods;
      }),
      filter((pods) => pods !== undefined),
      map((pods) => ({ source: 'http' as const, pods })),
    );
  });
}

/** Timeout of a request, ms. */
const timeoutMs = 10_000;

/** Fetches over the network within 10 s and follows redirects. Name and password of the URL are sent. */
export const fetchManifest: FetchManifest = fetchManifestThrough({});

/**
 * Returns {@link fetchManifest} through the proxies of an environment (Node.js 22.21 and newer).
 *
 * @example
 * const fetchManifest = fetchManifestThrough({ HTTPS_PROXY: 'http://proxy.example.com:3128' });
 */
export function fetchManifestThrough(proxies: ProxyEnvironment): FetchManifest {
  return async (url, { headers, maxBytes }) => {
    const signal = AbortSignal.timeout(timeoutMs);
    let at = new URL(url);
    let sent = headers;
    for (let followed = 0; ; followed++) {
      const answer = await send({ url: at, headers: sent, proxy: proxyFor(at, proxies) }, signal);
      const next = followerOf(at, answer);
      if (!next) return await whole(answer, maxBytes, signal);
      answer.destroy();
      if (followed + 1 >= maxRedirects) throw new Error(`stopped after ${maxRedirects} redirects`);
      if (next.host !== at.host) sent = withoutSecrets(sent);
      at = next;
    }
  };
}

/** Options of agents from Node.js 22.21 and 24.5 on. */
interface ProxyOptions {
  readonly proxyEnv?: ProxyEnvironment;
}

type Headers = Readonly<Record<string, readonly string[]>>;

interface Sent {
  readonly url: URL;
  readonly headers: Headers;
  readonly proxy: string | undefined;
}

function send({ url, headers, proxy }: Sent, signal: AbortSignal): Promise<IncomingMessage> {
  const isSecure = url.protocol === 'https:';
  if (!isSecure && url.protocol !== 'http:')
    return Promise.reject(new Error(`unsupported protocol scheme ${goQuote(url.protocol.slice(0, -1))}`));
  const agentOptions: AgentOptions & ProxyOptions =
    proxy === undefined ? {} : { proxyEnv: { HTTP_PROXY: proxy, HTTPS_PROXY: proxy } };
  const options = {
    headers: headers as Record<string, string[]>,
    signal,
    autoSelectFamilyAttemptTimeout: addressPatienceMs,
    // Its own agent: requests are 20 s apart, and no connection is kept open so long.
    agent: isSecure
      ? new HttpsAgent({ ...agentOptions, secureContext: machineTrust() })
      : new HttpAgent(agentOptions),
  };
  const request = (isSecure ? httpsRequest : httpRequest)(url, options);
  const answer = answerTo(request).catch((reason: unknown) => {
    throw new Error(whyNoAnswer(reason as Error, url, signal), { cause: reason });
  });
  request.end();
  return answer;
}

/** Returns the URL of a redirect; undefined when there is none. */
function followerOf(from: URL, { statusCode = 0, headers: { location } }: IncomingMessage): URL | undefined {
  return redirects.has(statusCode) && location !== undefined && URL.canParse(location, from.href)
    ? new URL(location, from)
    : undefined;
}

/** Removes headers that another host must not receive (Go `shouldCopyHeaderOnRedirect`). */
const withoutSecrets = (headers: Headers): Headers =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !/^(?:authorization|cookie2?)$/i.test(name)));

async function whole(
  answer: IncomingMessage,
  maxBytes: number,
  signal: AbortSignal,
): Promise<ManifestAnswer> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of answer as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > maxBytes) throw new Error('the read limit is reached');
      chunks.push(chunk);
    }
  } catch (reason) {
    throw signal.aborted ? new Error(late, { cause: reason }) : reason;
  }
  const { statusCode: status = 0, statusMessage: statusText = '' } = answer;
  return { status, statusText, body: yamlText(Buffer.concat(chunks)) };
}

const late = `no answer within ${timeoutMs / 1000} s`;

function whyNoAnswer(reason: Error, url: URL, signal: AbortSignal): string {
  if (signal.aborted) return late;
  const { syscall } = reason as NodeJS.ErrnoException;
  if (syscall !== 'connect' && syscall !== 'getaddrinfo') return messageOf(reason);
  return dialError(reason, hostPortOf(url));
}
