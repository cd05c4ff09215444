import { type IncomingMessage, type RequestOptions, request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { Clock } from '../base/clock.ts';
import { messageOf } from '../base/errors.ts';
import { dialError } from '../base/dial-error.ts';
import { deadline } from './deadline.ts';
import { httpProbeRequest, type HttpProbeRequest } from './http-request.ts';
import type { ProbeAnswer, ProbeHandler } from './prober.ts';

/** Of an answer's body no more is read, bytes. */
export const maxBodyBytes: number = 10 * 1024;
const maxRedirects = 10;

/**
 * What the answer of an HTTP probe means.
 *
 * Follows kubelet `probe/http.DoHTTPProbe`.
 *
 * @param body as read, at most {@link maxBodyBytes}
 */
export function judgeResponse(statusCode: number, body: string): ProbeAnswer {
  if (statusCode >= 200 && statusCode < 300) return { outcome: 'success', output: body };
  if (statusCode >= 300 && statusCode < 400)
    return { outcome: 'warning', output: `Probe terminated redirects, Response body: ${body}` };
  return { outcome: 'failure', output: `HTTP probe failed with statuscode: ${statusCode}` };
}

/** Gets a page of the pod. Redirects are followed as long as they stay on the host; certificates are not checked. */
export const httpProbe =
  (clock: Clock): ProbeHandler =>
  async ({ target, podIp, timeoutMs }) => {
    const { httpGet } = target.probe;
    if (!httpGet) throw new Error('the probe has no httpGet action');
    const request = httpProbeRequest(httpGet, podIp, target.container.ports);
    const abort = new AbortController();
    const stop = deadline(clock, timeoutMs, () => {
      abort.abort();
    });
    try {
      return await follow(request, abort.signal);
    } finally {
      stop();
    }
  };

async function follow(first: HttpProbeRequest, signal: AbortSignal): Promise<ProbeAnswer> {
  let request = first;
  for (let redirects = 0; ; redirects++) {
    let response: IncomingMessage;
    try {
      response = await send(request, signal);
    } catch (reason) {
      return failed(request, signal.aborted ? timedOut('awaiting headers') : transportError(reason, request));
    }
    const next = redirectOf(request, response);
    if (!next) return judgeResponse(response.statusCode ?? 0, await readBody(response, signal));
    response.destroy();
    if (redirects + 1 >= maxRedirects) return failed(next, `stopped after ${maxRedirects} redirects`);
    request = next;
  }
}

const failed = ({ url }: HttpProbeRequest, why: string): ProbeAnswer => ({
  outcome: 'failure',
  output: `Get ${JSON.stringify(url)}: ${why}`,
});

const timedOut = (doing: string): string =>
  `context deadline exceeded (Client.Timeout exceeded while ${doing})`;

function transportError(reason: unknown, request: HttpProbeRequest): string {
  const { syscall, code } = reason as NodeJS.ErrnoException;
  if (syscall === 'connect' || syscall === 'getaddrinfo') return dialError(reason, request);
  if (code === 'ECONNRESET') return 'EOF';
  return messageOf(reason);
}

function send(request: HttpProbeRequest, signal: AbortSignal): Promise<IncomingMessage> {
  const { Host: _, ...headers } = request.headers;
  const host = request.hostHeader === '' ? {} : { Host: request.hostHeader };
  const options: RequestOptions & { readonly rejectUnauthorized: boolean } = {
    host: request.host,
    port: request.port,
    path: request.target,
    headers: { ...headers, ...host, Connection: 'close' },
    agent: false,
    rejectUnauthorized: false,
    signal,
  };
  const start = request.scheme === 'https' ? httpsRequest : httpRequest;
  return new Promise((resolve, reject) => {
    const call = start(options, resolve);
    call.on('error', reject);
    call.end();
  });
}

const redirects: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/** Where to go next; `undefined`: the answer stands, as there is no way on, or it leads to another host. */
function redirectOf(request: HttpProbeRequest, response: IncomingMessage): HttpProbeRequest | undefined {
  const { location } = response.headers;
  if (!redirects.has(response.statusCode ?? 0) || location === undefined || location === '') return undefined;
  if (!URL.canParse(location, request.url)) return undefined;
  const url = new URL(location, request.url);
  if (url.hostname.replace(/^\[|\]$/g, '') !== request.host.toLowerCase()) return undefined;
  const scheme = url.protocol.slice(0, -1);
  return {
    ...request,
    scheme,
    port: Number(url.port) || (scheme === 'https' ? 443 : 80),
    url: url.href,
    target: `${url.pathname}${url.search}`,
    hostHeader: URL.canParse(location) ? '' : request.hostHeader,
  };
}

/** @throws {Error} when the body does not come whole in time */
async function readBody(response: IncomingMessage, signal: AbortSignal): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      length += chunk.length;
      if (length > maxBodyBytes) break;
    }
  } catch (reason) {
    if (!signal.aborted) throw reason;
    throw new Error('context deadline exceeded (Client.Timeout or context cancellation while reading body)', {
      cause: reason,
    });
  }
  return Buffer.concat(chunks).toString('utf8', 0, maxBodyBytes);
}
