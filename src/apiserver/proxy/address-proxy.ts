import {
  type IncomingHttpHeaders,
  request as httpRequest,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http';
import { request as httpsRequest } from 'node:https';
import { BlockList, isIP } from 'node:net';
import { pipeline } from 'node:stream/promises';
import { normalize } from 'node:path/posix';
import { answerTo } from '../../base/answer-to.ts';
import { dialError } from '../../go/dial-error.ts';
import { systemClock } from '../../base/clock.ts';
import { detectContentType } from '../../go/detect-content-type.ts';
import { keepAlive } from '../../base/keep-alive.ts';
import { escapedPath, unescapedPath } from '../../go/url-path.ts';
import { type JsonObject, objectAt, objectsAt, stringAt, valueAt } from '../../apimachinery/json.ts';
import type { KubeletProxy } from './kubelet-proxy.ts';
import { badRequest, notFound, StatusError } from '../../apimachinery/status-error.ts';
import { keyOf, type Store } from '../storage/store.ts';
import { forwardedFor, passUpgrade, sentOn } from '../request/upgrade.ts';
import type { Upgrading } from '../request/upgrading.ts';
import { joinHostPort } from '../../base/host-port.ts';

export interface AddressProxyDeps {
  readonly store: Store;
  readonly kubelets: KubeletProxy;
}

/** The target of a proxied request: `[scheme:]name[:port]` of a resource, and a path below it. */
export interface ProxyCall {
  /** The resource that is proxied to. */
  readonly resource: 'nodes' | 'pods' | 'services';
  readonly namespace: string;
  readonly name: string;
  /** The path after `/proxy`, as the client wrote it; empty, or with `/` in front. */
  readonly path: string;
  readonly search: string;
}

interface Backend {
  readonly scheme: 'http' | 'https';
  readonly host: string;
  readonly port: number;
  /** TLS options of the connection to the backend. */
  readonly tls?: object;
}

/** Addresses that are not proxied to, since the server would be called with its own identity. */
const refused = new BlockList();
refused.addSubnet('127.0.0.0', 8);
refused.addSubnet('169.254.0.0', 16);
refused.addSubnet('224.0.0.0', 24);
refused.addAddress('0.0.0.0');
refused.addAddress('::1', 'ipv6');
refused.addAddress('::', 'ipv6');
refused.addSubnet('fe80::', 10, 'ipv6');
refused.addSubnet('ff02::', 16, 'ipv6');

/** @throws {StatusError} 400 for an invalid or forbidden address (A18) */
function checkAddress(host: string): void {
  const family = isIP(host);
  if (family === 0 || refused.check(host, family === 6 ? 'ipv6' : 'ipv4'))
    throw badRequest('address not allowed');
}

interface Named {
  readonly scheme: string;
  readonly name: string;
  readonly port: string;
}

/** Splits `name`, `name:port` or `scheme:name:port`, whose parts may be empty. Follows apimachinery `SplitSchemeNamePort`. */
function splitName(id: string, resource: string): Named {
  const parts = id.split(':');
  const [scheme = '', name = '', port = ''] = parts.length === 3 ? parts : ['', ...parts];
  const isScheme = ['', 'http', 'https'].includes(scheme);
  if (parts.length > 3 || name === '' || !isScheme)
    throw badRequest(`invalid ${resource} request ${JSON.stringify(id)}`);
  return { scheme, name, port };
}

function portOf(text: string, resource: string, id: string): number {
  const port = Number(text);
  if (!/^\d+$/.test(text) || port < 1 || port > 65_535)
    throw badRequest(`invalid ${resource} request ${JSON.stringify(id)}`);
  return port;
}

const defaultPorts = { http: 80, https: 443 } as const;
const schemeOf = (scheme: string): 'http' | 'https' => (scheme === 'https' ? 'https' : 'http');

/** AddressProxy serves `nodes/proxy`, `pods/proxy` and `services/proxy`: a plain request or an upgrade to the backend of a resource. */
export class AddressProxy {
  readonly #deps: AddressProxyDeps;

  constructor(deps: AddressProxyDeps) {
    this.#deps = deps;
  }

  /** @throws {StatusError} */
  serve(call: ProxyCall, incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    return forward(this.#backend(call), call, incoming, response);
  }

  /** Joins an upgrade with its backend, which receives the path without the query. @throws {StatusError} */
  join(call: ProxyCall, upgrading: Upgrading): Promise<void> {
    const { incoming } = upgrading;
    const path = escapedPath(cleanBelow(call.path)) || '/';
    const method = incoming.method ?? 'GET';
    return passUpgrade({ ...this.#backend(call), path, method, headers: sentOn(incoming) }, upgrading);
  }

  /** @throws {StatusError} */
  #backend(call: ProxyCall): Backend {
    if (call.resource === 'nodes') return this.#node(call);
    return call.resource === 'pods' ? this.#pod(call) : this.#service(call);
  }

  #node(call: ProxyCall): Backend {
    const { scheme, name, port } = splitName(call.name, 'node');
    const endpoint = this.#deps.kubelets.endpoint(name, 'nodes');
    const { host } = endpoint;
    if (port === '' || Number(port) === endpoint.port)
      return { scheme: 'https', host, port: endpoint.port, tls: this.#deps.kubelets.tls(host) };
    checkAddress(host);
    return { scheme: schemeOf(scheme), host, port: portOf(port, 'node', call.name) };
  }

  #pod(call: ProxyCall): Backend {
    const { scheme, name, port } = splitName(call.name, 'pod');
    const pod = this.#get('pods', call.namespace, name);
    const host = stringAt(objectAt(pod, 'status'), 'podIP');
    const declared = objectsAt(objectAt(pod, 'spec'), 'containers').flatMap((one) =>
      objectsAt(one, 'ports'),
    )[0];
    checkAddress(host);
    const number = port === '' ? Number(declared?.['containerPort'] ?? 0) : portOf(port, 'pod', call.name);
    return { scheme: schemeOf(scheme), host, port: number || defaultPorts[schemeOf(scheme)] };
  }

  #service(call: ProxyCall): Backend {
    const { scheme, name, port } = splitName(call.name, 'service');
    const service = this.#get('services', call.namespace, name);
    const ports = objectsAt(objectAt(service, 'spec'), 'ports');
    const number = ports.find((one) => port === '' || one['port'] === Number(port) || one['name'] === port);
    if (number === undefined && port !== '')
      throw new StatusError(
        503,
        'ServiceUnavailable',
        `no service port ${JSON.stringify(port)} found for service ${JSON.stringify(name)}`,
      );
    const endpoints = this.#deps.store.get('endpoints', keyOf(call.namespace, name))?.object;
    if (!endpoints) throw notFound({ kind: 'endpoints', name });
    const backend = backendOf(endpoints, stringAt(number ?? {}, 'name'));
    if (!backend)
      throw new StatusError(
        503,
        'ServiceUnavailable',
        `no endpoints available for service ${JSON.stringify(call.name)}`,
      );
    checkAddress(backend.host);
    return { scheme: schemeOf(scheme), ...backend };
  }

  #get(resource: 'pods' | 'services', namespace: string, name: string): JsonObject {
    const entry = this.#deps.store.get(resource, keyOf(namespace, name));
    if (!entry) throw notFound({ kind: resource, name });
    return entry.object;
  }
}

/** Returns the first ready address behind a service's port. */
function backendOf(endpoints: JsonObject, portName: string): Pick<Backend, 'host' | 'port'> | undefined {
  for (const subset of objectsAt(endpoints, 'subsets')) {
    const [address] = objectsAt(subset, 'addresses');
    const port = objectsAt(subset, 'ports').find((one) => stringAt(one, 'name') === portName);
    if (address && port) return { host: stringAt(address, 'ip'), port: Number(valueAt(port, 'port')) };
  }
  return undefined;
}

/** Hop-by-hop headers and credentials. */
const withheldHeaders =
  /^(connection|keep-alive|proxy-authenticate|proxy-authorization|te|trailers?|transfer-encoding|upgrade|authorization|impersonate-.*|x-forwarded-(for|uri))$/;

const passed = (headers: IncomingHttpHeaders): Record<string, string | string[]> =>
  Object.fromEntries(
    Object.entries(headers).filter(
      (one): one is [string, string | string[]] => one[1] !== undefined && !withheldHeaders.test(one[0]),
    ),
  );

/** Returns the path to forward, one character per byte: without empty, `.` and `..` segments; a trailing slash stays. */
const cleanBelow = (path: string): string => (path === '' ? '' : normalize(`/${unescapedPath(path)}`));

function forward(
  { scheme, host, port, tls }: Backend,
  { path, search }: ProxyCall,
  incoming: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const [uri = ''] = (incoming.url ?? '').split('?');
  if (path === '' && ['GET', 'HEAD'].includes(incoming.method ?? '')) {
    response.writeHead(301, { 'Cache-Control': 'no-cache, private', Location: `${uri}/${search}` }).end();
    return Promise.resolve();
  }
  const below = cleanBelow(path);
  const sent = escapedPath(below) || '/';
  const prefix = prefixOf(unescapedPath(uri), below);
  if (controls.test(prefix)) throw unreached('net/http: invalid header field value for "X-Forwarded-Uri"');
  const headers = {
    ...passed(incoming.headers),
    ...(incoming.headers['transfer-encoding'] !== undefined && { 'transfer-encoding': 'chunked' }),
    'X-Forwarded-For': forwardedFor(incoming),
    'X-Forwarded-Uri': normalize(`${prefix}/${sent}`),
  };
  const send = scheme === 'https' ? httpsRequest : httpRequest;
  const options = { host, port, path: `${sent}${search}`, method: incoming.method, headers, agent: false };
  const outgoing = send({ ...options, ...(scheme === 'https' && { rejectUnauthorized: false, ...tls }) });
  return new Promise((resolve, reject) => {
    answerTo(outgoing).then(
      (answer) => {
        const { location } = answer.headers;
        const own = [joinHostPort(host, port), incoming.headers.host ?? ''];
        handOn(answer, response, location === undefined ? {} : { location: located(location, prefix, own) })
          // an interrupted response is interrupted for the client, too
          .catch(() => response.destroy())
          .finally(resolve);
      },
      (reason: unknown) => {
        reject(unreached(dialError(reason, { host, port })));
      },
    );
    outgoing.once('socket', keepAlive);
    outgoing.on('error', () => {
      if (response.headersSent) response.destroy();
    });
    response.on('close', () => outgoing.destroy());
    incoming.pipe(outgoing);
  });
}

/** How long to wait for the first bytes of a response without a media type, ms; later ones are forwarded without one. */
const sniffMs = 100;

/** Forwards a response; one without a media type gets the detected one, as from Go's servers. */
async function handOn(
  answer: IncomingMessage,
  response: ServerResponse,
  more: { readonly location?: string },
): Promise<void> {
  const { 'cache-control': cache = 'no-cache, private', ...rest } = passed(answer.headers);
  const hasContentType = answer.headers['content-type'] !== undefined || answer.headers['content-encoding'];
  const beginning = hasContentType || response.req.method === 'HEAD' ? undefined : await beginningOf(answer);
  response.writeHead(answer.statusCode ?? 502, {
    'Cache-Control': cache,
    ...rest,
    ...(beginning && { 'Content-Type': detectContentType(beginning) }),
    ...more,
  });
  response.flushHeaders();
  await pipeline(answer, response);
}

/** Returns the first bytes of a response without consuming them; undefined: there are none soon. */
async function beginningOf(answer: IncomingMessage): Promise<Buffer | undefined> {
  await new Promise<void>((resolve) => {
    const stop = systemClock.timer(sniffMs, resolve);
    for (const event of ['readable', 'end', 'close'] as const)
      answer.once(event, () => {
        stop();
        resolve();
      });
  });
  const first = answer.read() as Buffer | null;
  if (first !== null) answer.unshift(first);
  answer.removeAllListeners('readable');
  return first ?? undefined;
}

/** Characters that are not allowed in a header. */
const controls = /[\x00-\x08\x0a-\x1f\x7f]/;

const unreached = (why: string): StatusError =>
  new StatusError(503, 'ServiceUnavailable', `error trying to reach service: ${why}`);

/**
 * Returns the path of the proxy itself: the client's path without the part below, if that was clean; otherwise all of it, as with
 * kube-apiserver.
 */
const prefixOf = (uri: string, below: string): string =>
  below !== '' && uri.endsWith(below) ? uri.slice(0, -below.length) : uri;

/**
 * Rewrites a backend's `Location` to below the proxy; other hosts and relative locations are unchanged. Follows apimachinery
 * `rewriteURL`.
 *
 * @param own the hosts of the backend: its own address, and the host in the client's request
 */
function located(location: string, prefix: string, own: readonly string[]): string {
  const [, scheme = '', host = '', path = '', rest = ''] =
    /^([a-zA-Z][a-zA-Z0-9+.-]*:)?(?:\/\/([^/?#]*))?([^?#]*)([^]*)$/.exec(location) ?? [];
  if ((host !== '' && !own.includes(host)) || !path.startsWith('/')) return location;
  const base = host === own[1] && host !== '' ? `${scheme}//${host}` : '';
  return `${base}${path.startsWith(prefix) ? path : normalize(`${prefix}/${path}`)}${rest}`;
}
