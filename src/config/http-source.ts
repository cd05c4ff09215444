import { concatMap, defer, filter, map, type Observable } from 'rxjs';
import type { Clock } from '../base/clock.ts';
import { dialError } from '../base/dial-error.ts';
import { messageOf } from '../base/errors.ts';
import { type FetchManifest, ManifestUrl, type ManifestUrlOptions } from './manifest-url.ts';
import type { SourceSnapshot } from './pod-update.ts';
import type { DecodeManifest, ManifestFault } from './static-pod.ts';
import { every } from './timing.ts';

/** A request that gave no pods. */
export interface UrlProblem extends ManifestFault {
  readonly url: string;
  /** How many requests failed in a row, this one included; the first three deserve a loud line (R24). */
  readonly failures: number;
}

export interface HttpSourceDeps {
  readonly clock: Pick<Clock, 'timer'>;
  readonly fetch: FetchManifest;
  readonly onError: (problem: UrlProblem) => void;
  /** Absent: on the spot. */
  readonly decode?: DecodeManifest;
}

export interface HttpSourceOptions extends ManifestUrlOptions {
  /** Time between two requests: kubelet `httpCheckFrequency`, by default 20 s. */
  readonly periodMs?: number;
}

/** Static pods from a URL (R24): asked for at once and every `periodMs`; one request at a time. */
export function httpSource(deps: HttpSourceDeps, options: HttpSourceOptions): Observable<SourceSnapshot> {
  return defer(() => {
    const manifest = new ManifestUrl(deps.fetch, options, deps.decode);
    let failures = 0;
    return every(deps.clock, options.periodMs ?? 20_000).pipe(
      concatMap(() => manifest.poll()),
      map(({ pods, fault }) => {
        failures = fault ? failures + 1 : 0;
        if (fault) deps.onError({ ...fault, url: options.url, failures });
        return pods;
      }),
      filter((pods) => pods !== undefined),
      map((pods) => ({ source: 'http' as const, pods })),
    );
  });
}

/** Longest wait for the manifest's server, ms. */
const timeoutMs = 10_000;

/** Fetches over the network, within 10 s. */
export const fetchManifest: FetchManifest = async (url, { headers, maxBytes }) => {
  const pairs = Object.entries(headers).flatMap(([name, values]) =>
    values.map((value): [string, string] => [name, value]),
  );
  const signal = AbortSignal.timeout(timeoutMs);
  const answer = await fetch(url, { headers: pairs, signal }).catch((reason: unknown) => {
    throw new Error(whyNoAnswer(reason, url), { cause: reason });
  });
  const decoder = new TextDecoder();
  let body = '';
  let size = 0;
  for await (const chunk of (answer.body ?? []) as AsyncIterable<Uint8Array>) {
    size += chunk.length;
    if (size > maxBytes) throw new Error('the read limit is reached');
    body += decoder.decode(chunk, { stream: true });
  }
  return { status: answer.status, statusText: answer.statusText, body: body + decoder.decode() };
};

/** `fetch` tells why it failed in its cause alone. */
function whyNoAnswer(reason: unknown, url: string): string {
  const { cause = reason } = reason as Error;
  const { syscall } = cause as NodeJS.ErrnoException;
  if (syscall !== 'connect' && syscall !== 'getaddrinfo') return messageOf(cause);
  const { hostname, port, protocol } = new URL(url);
  const host = hostname.replace(/^\[|\]$/g, '');
  return dialError(cause, { host, port: Number(port) || (protocol === 'https:' ? 443 : 80) });
}
