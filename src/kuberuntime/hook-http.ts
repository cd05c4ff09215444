import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest, type RequestOptions } from 'node:https';
import { AgentError, messageOf } from '../base/errors.ts';
import type { Container } from '../kube/types.ts';

/** An HTTP GET of a lifecycle hook, ready to send. */
export interface HookRequest {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
}

/** Sends it and resolves once there is an answer, whatever its code. */
export type SendHookRequest = (request: HookRequest, signal: AbortSignal) => Promise<void>;

type HttpGet = NonNullable<NonNullable<NonNullable<Container['lifecycle']>['postStart']>['httpGet']>;

/**
 * The request of an `httpGet` handler. Follows `NewRequestForHTTPGetAction` (pkg/probe/http).
 *
 * @param podIp used when the handler names no host
 * @throws {AgentError} `invalid_argument` when the port has no number
 */
export function hookRequest(
  action: HttpGet,
  container: Pick<Container, 'ports'>,
  podIp: string,
): HookRequest {
  const host = action.host === undefined || action.host === '' ? podIp : action.host;
  const scheme = (action.scheme ?? 'HTTP').toLowerCase();
  const named = host.includes(':') ? `[${host}]` : host;
  const base = `${scheme}://${named}:${portNumber(action.port, container)}`;
  const path = action.path ?? '/';
  const url = new URL(`${base}${path.startsWith('/') ? '' : '/'}${path}`);
  const headers: Record<string, string> = { 'user-agent': 'kube-lifecycle/1.36', accept: '*/*' };
  for (const { name, value } of action.httpHeaders ?? []) headers[name.toLowerCase()] = value;
  return { url, headers };
}

/** A port by number, or by name among the container's own (`ResolveContainerPort`). */
function portNumber(port: HttpGet['port'], { ports }: Pick<Container, 'ports'>): number {
  const text = String(port);
  const named = ports?.find(({ name }) => name === text)?.containerPort;
  const number = typeof port === 'number' ? port : (named ?? (/^\d+$/.test(text) ? Number(text) : -1));
  if (number > 0 && number < 65_536) return number;
  throw new AgentError('invalid_argument', `invalid port number: ${text}`);
}

/**
 * Asks without checking certificates, following redirects of the same host. A plain server behind an `https` hook is asked again in
 * plain text, without credentials.
 */
export const sendHookRequest: SendHookRequest = async (request, signal) => {
  try {
    await follow(request, signal, 10);
  } catch (reason) {
    if (request.url.protocol !== 'https:' || !spokePlainText(reason)) throw reason;
    const url = new URL(request.url);
    url.protocol = 'http:';
    const { authorization: _secret, ...headers } = request.headers;
    await follow({ url, headers }, signal, 10);
  }
};

/** OpenSSL's words for an answer that is no TLS record. */
const spokePlainText = (reason: unknown): boolean =>
  /wrong version number|packet length too long/i.test(messageOf(reason));

async function follow(request: HookRequest, signal: AbortSignal, left: number): Promise<void> {
  const { statusCode = 0, headers } = await ask(request, signal);
  const { location } = headers;
  if (statusCode < 300 || statusCode > 399 || location === undefined) return;
  const url = new URL(location, request.url);
  if (url.hostname !== request.url.hostname) return;
  if (left === 0) throw new AgentError('internal', 'stopped after 10 redirects');
  await follow({ ...request, url }, signal, left - 1);
}

function ask({ url, headers }: HookRequest, signal: AbortSignal): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const options: RequestOptions = { headers, signal, rejectUnauthorized: false, agent: false };
    const sent = (url.protocol === 'https:' ? httpsRequest : httpRequest)(url, options, (answer) => {
      answer.resume();
      resolve(answer);
    });
    sent.on('error', reject).end();
  });
}
