import type { IncomingMessage, ServerResponse } from 'node:http';
import { request as httpsRequest, type RequestOptions } from 'node:https';
import { pipeline } from 'node:stream/promises';
import type { KeyPair } from '../../pki/certificates.ts';
import { answerTo } from '../../base/answer-to.ts';
import { dialError } from '../../go/dial-error.ts';
import { keepAlive } from '../../base/keep-alive.ts';
import { zeroTime } from '../../kube/time.ts';
import { type JsonObject, listAt, objectAt, objectsAt, stringAt, valueAt } from '../../apimachinery/json.ts';
import { builtIn } from '../../apimachinery/kinds.ts';
import { checkKey } from '../registry/write-checks.ts';
import { isTrue } from '../request/request.ts';
import { countingBytes } from '../request/sent-bytes.ts';
import {
  badRequest,
  fault,
  type FieldFault,
  invalid,
  notFound,
  genericServerError,
  StatusError,
} from '../../apimachinery/status-error.ts';
import { keyOf, type Store } from '../storage/store.ts';
import { joinHostPort } from '../../base/host-port.ts';

export interface KubeletProxyDeps {
  readonly store: Store;
  /** The client certificate that the server presents to kubelets. */
  readonly client: KeyPair;
}

/** Address of a node's kubelet. */
export interface KubeletEndpoint {
  readonly host: string;
  readonly port: number;
  readonly node: JsonObject;
}

const podNotFound = (name: string): StatusError => notFound({ kind: 'pods', name });

const addressOrder = ['Hostname', 'InternalDNS', 'InternalIP', 'ExternalDNS', 'ExternalIP'];

function addressOf(node: JsonObject): string | undefined {
  const addresses = objectsAt(objectAt(node, 'status'), 'addresses');
  for (const type of ['InternalIP', ...addressOrder]) {
    const found = addresses.find((one) => one['type'] === type);
    if (found) return stringAt(found, 'address');
  }
  return undefined;
}

/** Returns the requested container of a pod. @throws {StatusError} 400 */
function containerOf(pod: JsonObject, requested: string, name: string): string {
  const spec = objectAt(pod, 'spec');
  const named = (key: string): readonly string[] => objectsAt(spec, key).map((one) => stringAt(one, 'name'));
  const regular = named('containers');
  const all = [...named('initContainers'), ...regular, ...named('ephemeralContainers')];
  if (requested === '') {
    if (regular.length === 1) return regular[0] ?? '';
    throw badRequest(`a container name must be specified for pod ${name}, choose one of: [${all.join(' ')}]`);
  }
  if (!all.includes(requested)) throw badRequest(`container ${requested} is not valid for pod ${name}`);
  return requested;
}

type Pair = readonly [name: string, value: string];

const escaped = (text: string): string =>
  encodeURIComponent(text)
    .replace(/[!'()*]/g, (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`)
    .replace(/%20/g, '+');

/** Formats a query sorted by name, like Go's `url.Values`; empty without pairs. */
function goQuery(pairs: readonly Pair[]): string {
  const sorted = [...pairs].sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
  const text = sorted.map(([name, value]) => `${escaped(name)}=${escaped(value)}`).join('&');
  return text && `?${text}`;
}

/** Formats a time for the kubelet: whole seconds in UTC. @throws {StatusError} 400 */
function wholeSeconds(text: string): string {
  const at = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/.test(text) ? Date.parse(text) : NaN;
  if (Number.isNaN(at))
    throw badRequest(
      `parsing time ${JSON.stringify(text)} as "2006-01-02T15:04:05Z07:00": cannot parse ${JSON.stringify(text)} as "2006"`,
    );
  return new Date(at).toISOString().replace(/\.\d+Z$/, 'Z');
}

/**
 * Returns the query of a log request for the kubelet. Streams cannot be selected, as the gate `PodLogsQuerySplitStreams` is off by
 * default.
 *
 * @throws {StatusError} 400 for invalid values, 422 for values out of range
 */
function logQuery(query: URLSearchParams, pod: string): string {
  const number = (key: string): number | undefined => {
    const text = query.get(key);
    if (text !== null && !/^[+-]?\d+$/.test(text))
      throw badRequest(`strconv.ParseInt: parsing ${JSON.stringify(text)}: invalid syntax`);
    return text === null ? undefined : Number(text);
  };
  const sinceSeconds = number('sinceSeconds');
  const since = query.get('sinceTime');
  const sinceTime = since === null ? undefined : wholeSeconds(since || zeroTime);
  const [tailLines, limitBytes] = ['tailLines', 'limitBytes'].map(number);
  const faults: FieldFault[] = [];
  const least = (field: string, value: number | undefined, most: number, why: string): void => {
    if (value !== undefined && value < most) faults.push(fault.invalid(field, value, why));
  };
  least('tailLines', tailLines, 0, 'must be greater than or equal to 0');
  least('limitBytes', limitBytes, 1, 'must be greater than 0');
  if (sinceSeconds !== undefined && sinceTime !== undefined)
    faults.push(fault.forbidden('[]', 'at most one of `sinceTime` or `sinceSeconds` may be specified'));
  else least('sinceSeconds', sinceSeconds, 1, 'must be greater than 0');
  if (query.has('stream')) faults.push(fault.forbidden('stream', 'may not be specified'));
  if (faults.length > 0) throw invalid('PodLogOptions', undefined, pod, faults);
  const values = { tailLines, limitBytes, sinceSeconds, sinceTime };
  return goQuery([
    ...['follow', 'previous', 'timestamps'].flatMap((key): Pair[] =>
      isTrue(query.get(key)) ? [[key, 'true']] : [],
    ),
    ...Object.entries(values).flatMap(([key, value]): Pair[] =>
      value === undefined ? [] : [[key, String(value)]],
    ),
  ]);
}

/** Returns the ports of a port-forward for the kubelet. @throws {StatusError} 400 */
function portQuery(query: URLSearchParams): string {
  const ports = query.getAll('ports').flatMap((one) => one.split(','));
  for (const port of ports)
    if (!/^\d+$/.test(port) || Number(port) > 65_535)
      throw badRequest(
        `cannot convert to []int32: strconv.ParseUint: parsing ${JSON.stringify(port)}: invalid syntax`,
      );
  return goQuery(ports.length > 0 ? [['port', ports.join(',')]] : []);
}

const streamNames: readonly Pair[] = [
  ['stdin', 'input'],
  ['stdout', 'output'],
  ['stderr', 'error'],
  ['tty', 'tty'],
];

/** KubeletProxy connects to the kubelets of nodes: their addresses, request paths, and logs as a stream. */
export class KubeletProxy {
  readonly #deps: KubeletProxyDeps;

  constructor(deps: KubeletProxyDeps) {
    this.#deps = deps;
  }

  #pod(namespace: string, name: string): JsonObject {
    checkKey(builtIn('pods'), namespace, name);
    const entry = this.#deps.store.get('pods', keyOf(namespace, name));
    if (!entry) throw podNotFound(name);
    return entry.object;
  }

  /**
   * Returns the address of a node's kubelet.
   *
   * @param resource the resource in the error for a missing node: the real server uses the one of the request
   * @throws {StatusError} 404 when the node does not exist, 500 when it has no address
   */
  endpoint(nodeName: string, resource: 'nodes' | 'pods'): KubeletEndpoint {
    const node = this.#deps.store.get('nodes', nodeName)?.object;
    if (!node) throw notFound({ kind: resource, name: nodeName });
    const host = addressOf(node);
    if (host === undefined)
      throw new StatusError(500, '', 'no preferred addresses found; known addresses: []');
    const port = Number(valueAt(node, 'status', 'daemonEndpoints', 'kubeletEndpoint', 'Port') ?? 0);
    return { host, port: port === 0 ? 10_250 : port, node };
  }

  /** Returns the TLS options of a connection to a kubelet, with the server's own certificate. */
  tls(host: string): RequestOptions {
    const { cert, key } = this.#deps.client;
    return { cert, key, rejectUnauthorized: false, ...(!/^[\d.]+$|:/.test(host) && { servername: host }) };
  }

  /** Gets a text from a node's kubelet. @throws {StatusError} on failure */
  async text(nodeName: string, path: string, signal: AbortSignal): Promise<string> {
    const endpoint = this.endpoint(nodeName, 'nodes');
    const { host, port } = endpoint;
    const request = httpsRequest({ host, port, path, ...this.tls(host), agent: false, signal }).end();
    const answer = await answerTo(request).catch((reason: unknown) => {
      throw unreached(endpoint, path, reason);
    });
    const text = await readAll(answer);
    const { statusCode = 500 } = answer;
    if (statusCode !== 200) throw genericServerError(statusCode, text, { kind: 'nodes', name: nodeName });
    return text;
  }

  /** Serves `pods/log`: forwards the kubelet's log stream with backpressure. @throws {StatusError} */
  async logs(
    at: { readonly namespace: string; readonly name: string; readonly query: URLSearchParams },
    response: ServerResponse,
  ): Promise<void> {
    const query = logQuery(at.query, at.name);
    const pod = this.#pod(at.namespace, at.name);
    const container = containerOf(pod, at.query.get('container') ?? '', at.name);
    const node = stringAt(objectAt(pod, 'spec'), 'nodeName');
    if (node === '') {
      response.writeHead(204, { 'Cache-Control': 'no-cache, private' });
      response.end();
      return;
    }
    const path = `/containerLogs/${at.namespace}/${at.name}/${container}${query}`;
    await this.#stream(this.endpoint(node, 'pods'), { path, pod: at.name }, response);
  }

  async #stream(
    endpoint: KubeletEndpoint,
    { path, pod }: { readonly path: string; readonly pod: string },
    response: ServerResponse,
  ): Promise<void> {
    const { host, port } = endpoint;
    const outgoing = httpsRequest({ host, port, path, ...this.tls(host), agent: false });
    outgoing.once('socket', keepAlive);
    response.once('close', () => {
      outgoing.destroy();
    });
    const answer = await answerTo(outgoing.end()).catch((reason: unknown) => {
      throw unreached(endpoint, path, reason);
    });
    const status = answer.statusCode ?? 500;
    if (status < 200 || status > 206)
      throw genericServerError(status, await readAll(answer), { kind: 'pods/log', name: pod });
    response.writeHead(200, { 'Content-Type': 'text/plain', 'Cache-Control': 'no-cache, private' });
    response.flushHeaders();
    // an interrupted response is interrupted for the client, and a client that disconnects ends it
    await pipeline(answer, countingBytes(response), response).catch(() => undefined);
  }

  /** Returns the kubelet's path of `exec`, `attach` or `portforward` on a pod. @throws {StatusError} */
  streamPath(at: {
    readonly namespace: string;
    readonly name: string;
    readonly subresource: string;
    readonly query: URLSearchParams;
  }): { readonly endpoint: KubeletEndpoint; readonly path: string } {
    const forward = at.subresource === 'portforward' ? portQuery(at.query) : undefined;
    const pod = this.#pod(at.namespace, at.name);
    const container = forward === undefined ? containerOf(pod, at.query.get('container') ?? '', at.name) : '';
    const node = stringAt(objectAt(pod, 'spec'), 'nodeName');
    if (node === '') throw badRequest(`pod ${at.name} does not have a host assigned`);
    const endpoint = this.endpoint(node, 'pods');
    const base = `${at.namespace}/${at.name}`;
    if (forward !== undefined) return { endpoint, path: `/portForward/${base}${forward}` };
    const query = goQuery([
      ...streamNames.flatMap(([from, to]): Pair[] => (isTrue(at.query.get(from)) ? [[to, '1']] : [])),
      ...at.query.getAll('command').map((word): Pair => ['command', word]),
    ]);
    return { endpoint, path: `/${at.subresource}/${base}/${container}${query}` };
  }

  /** Reports whether the kubelet accepts WebSockets itself (A19). */
  takesWebSockets(endpoint: KubeletEndpoint): boolean {
    return listAt(objectAt(endpoint.node, 'status'), 'declaredFeatures').includes(
      'ExtendWebSocketsToKubelet',
    );
  }
}

function unreached(endpoint: KubeletEndpoint, path: string, reason: unknown): StatusError {
  const where = `https://${joinHostPort(endpoint.host, endpoint.port)}${path}`;
  return new StatusError(500, '', `Get ${JSON.stringify(where)}: ${dialError(reason, endpoint)}`);
}

/** Maximum size of a kubelet's text, bytes: metrics, or an error about logs. */
const mostBytes = 32 * 1024 * 1024;

async function readAll(stream: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > mostBytes) throw new StatusError(500, '', `a kubelet answered more than ${mostBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}
