import type { IncomingMessage, ServerResponse } from 'node:http';
import { request as httpsRequest, type RequestOptions } from 'node:https';
import type { Duplex } from 'node:stream';
import { connect } from 'node:tls';
import type { KeyPair } from '../base/certificates.ts';
import { type JsonObject, listAt, objectAt, objectsAt, stringAt, valueAt } from './json.ts';
import { badRequest, fault, type FieldFault, invalid, notFound, StatusError } from './status-error.ts';
import { keyOf, type Store } from './store.ts';

export interface KubeletProxyDeps {
  readonly store: Store;
  /** The certificate that the server shows to kubelets. */
  readonly client: KeyPair;
}

/** Where the kubelet of a node listens. */
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

/** Which container of a pod a request means. @throws {StatusError} 400 */
function containerOf(pod: JsonObject, given: string, name: string): string {
  const spec = objectAt(pod, 'spec');
  const regular = objectsAt(spec, 'containers').map((one) => stringAt(one, 'name'));
  const others = ['initContainers', 'ephemeralContainers'].flatMap((key) =>
    objectsAt(spec, key).map((one) => stringAt(one, 'name')),
  );
  if (given === '') {
    if (regular.length === 1) return regular[0] ?? '';
    const init = objectsAt(spec, 'initContainers').map((one) => stringAt(one, 'name'));
    const hint = init.length > 0 ? ` or one of the init containers: [${init.join(' ')}]` : '';
    throw badRequest(
      `a container name must be specified for pod ${name}, choose one of: [${regular.join(' ')}]${hint}`,
    );
  }
  if (![...regular, ...others].includes(given))
    throw badRequest(`container ${given} is not valid for pod ${name}`);
  return given;
}

const logParameters = [
  'follow',
  'previous',
  'timestamps',
  'sinceSeconds',
  'sinceTime',
  'tailLines',
  'limitBytes',
  'stream',
  'insecureSkipTLSVerifyBackend',
  'container',
  'pretty',
];

/** The query of a log request. @throws {StatusError} 400 for what is no number, 422 for what is out of range */
function checkLogQuery(query: URLSearchParams): void {
  const number = (key: string): number | undefined => {
    const text = query.get(key);
    if (text !== null && !/^[+-]?\d+$/.test(text))
      throw badRequest(`strconv.ParseInt: parsing ${JSON.stringify(text)}: invalid syntax`);
    return text === null ? undefined : Number(text);
  };
  const faults: FieldFault[] = [];
  const least = (key: string, value: number | undefined, most: number, why: string): void => {
    if (value !== undefined && value < most) faults.push(fault.invalid(key, value, why));
  };
  const [tail, limit, since] = [number('tailLines'), number('limitBytes'), number('sinceSeconds')];
  least('tailLines', tail, 0, 'must be greater than or equal to 0');
  least('limitBytes', limit, 1, 'must be greater than 0');
  if (since !== undefined && query.has('sinceTime'))
    faults.push(fault.forbidden('', 'at most one of `sinceTime` or `sinceSeconds` may be specified'));
  else least('sinceSeconds', since, 1, 'must be greater than 0');
  const stream = query.get('stream') ?? 'All';
  if (!['All', 'Stdout', 'Stderr'].includes(stream))
    faults.push(fault.unsupported('stream', stream, ['All', 'Stderr', 'Stdout']));
  if (faults.length > 0) throw invalid('PodLogOptions', undefined, '', faults);
}

/** Passes requests on to the kubelets of nodes: logs as a stream, upgrades as bytes. */
export class KubeletProxy {
  readonly #deps: KubeletProxyDeps;

  constructor(deps: KubeletProxyDeps) {
    this.#deps = deps;
  }

  #pod(namespace: string, name: string): JsonObject {
    const entry = this.#deps.store.get('pods', keyOf(namespace, name));
    if (!entry) throw podNotFound(name);
    return entry.object;
  }

  /** @throws {StatusError} 500 when the node is not there or says no address */
  endpoint(nodeName: string): KubeletEndpoint {
    const node = this.#deps.store.get('nodes', nodeName)?.object;
    if (!node)
      throw new StatusError(404, 'NotFound', `nodes "${nodeName}" not found`, {
        details: { name: nodeName, kind: 'nodes' },
      });
    const host = addressOf(node);
    if (host === undefined)
      throw new StatusError(
        500,
        'InternalError',
        `Internal error occurred: no preferred addresses found; known addresses: []`,
        {
          details: { causes: [{ message: 'no preferred addresses found; known addresses: []' }] },
        },
      );
    const port = Number(valueAt(node, 'status', 'daemonEndpoints', 'kubeletEndpoint', 'Port') ?? 0);
    return { host, port: port === 0 ? 10_250 : port, node };
  }

  #tls(host: string): RequestOptions {
    const { cert, key } = this.#deps.client;
    return { cert, key, rejectUnauthorized: false, ...(!/^[\d.]+$|:/.test(host) && { servername: host }) };
  }

  /** `pods/log`: the kubelet's log stream as it comes; a slow reader slows the kubelet. @throws {StatusError} */
  async logs(
    at: { readonly namespace: string; readonly name: string; readonly query: URLSearchParams },
    response: ServerResponse,
  ): Promise<void> {
    const pod = this.#pod(at.namespace, at.name);
    checkLogQuery(at.query);
    const container = containerOf(pod, at.query.get('container') ?? '', at.name);
    const node = stringAt(objectAt(pod, 'spec'), 'nodeName');
    if (node === '') {
      response.writeHead(200, { 'Content-Type': 'text/plain', 'Cache-Control': 'no-cache, private' });
      response.end();
      return;
    }
    const endpoint = this.endpoint(node);
    const query = new URLSearchParams();
    for (const key of logParameters)
      if (key !== 'container' && key !== 'pretty' && key !== 'insecureSkipTLSVerifyBackend')
        for (const value of at.query.getAll(key)) query.append(key, value);
    const text = query.size > 0 ? `?${query.toString()}` : '';
    await this.#stream(endpoint, `/containerLogs/${at.namespace}/${at.name}/${container}${text}`, response);
  }

  #stream(endpoint: KubeletEndpoint, path: string, response: ServerResponse): Promise<void> {
    return new Promise((resolve, reject) => {
      const outgoing = httpsRequest(
        {
          host: endpoint.host,
          port: endpoint.port,
          path,
          method: 'GET',
          ...this.#tls(endpoint.host),
          agent: false,
        },
        (answer) => {
          const status = answer.statusCode ?? 500;
          if (status < 200 || status > 206) {
            void readAll(answer).then((text) => {
              reject(kubeletError(status, text));
            }, reject);
            return;
          }
          response.writeHead(200, { 'Content-Type': 'text/plain', 'Cache-Control': 'no-cache, private' });
          response.flushHeaders();
          answer.pipe(response);
          answer.on('end', resolve);
          answer.on('error', () => {
            response.destroy();
            resolve();
          });
        },
      );
      outgoing.on('error', (reason) => {
        reject(
          new StatusError(
            500,
            'InternalError',
            `Internal error occurred: Get "https://${endpoint.host}:${endpoint.port}${path}": ${reason.message}`,
            {
              details: {
                causes: [
                  { message: `Get "https://${endpoint.host}:${endpoint.port}${path}": ${reason.message}` },
                ],
              },
            },
          ),
        );
      });
      response.on('close', () => {
        outgoing.destroy();
      });
      outgoing.end();
    });
  }

  /** The kubelet's path of `exec`, `attach` or `portforward` on a pod. @throws {StatusError} */
  streamPath(at: {
    readonly namespace: string;
    readonly name: string;
    readonly subresource: string;
    readonly query: URLSearchParams;
  }): { readonly endpoint: KubeletEndpoint; readonly path: string } {
    const pod = this.#pod(at.namespace, at.name);
    const node = stringAt(objectAt(pod, 'spec'), 'nodeName');
    const base = `${at.namespace}/${at.name}`;
    const query = new URLSearchParams();
    if (at.subresource === 'portforward') {
      if (node === '') throw badRequest(`pod ${at.name} does not have a host assigned`);
      for (const port of at.query.getAll('ports')) query.append('port', port);
      return {
        endpoint: this.endpoint(node),
        path: `/portForward/${base}${query.size > 0 ? `?${query.toString()}` : ''}`,
      };
    }
    const container = containerOf(pod, at.query.get('container') ?? '', at.name);
    if (node === '') throw badRequest(`pod ${at.name} does not have a host assigned`);
    const streams: readonly (readonly [string, string])[] = [
      ['stdin', 'input'],
      ['stdout', 'output'],
      ['stderr', 'error'],
      ['tty', 'tty'],
    ];
    for (const [from, to] of streams) {
      const value = at.query.get(from);
      if (value === 'true' || value === '1') query.append(to, '1');
    }
    for (const word of at.query.getAll('command')) query.append('command', word);
    return {
      endpoint: this.endpoint(node),
      path: `/${at.subresource}/${base}/${container}?${query.toString()}`,
    };
  }

  /** Sends an upgrade to the kubelet as it came and joins the two connections; each side's pace holds the other. */
  upgrade(
    at: { readonly endpoint: KubeletEndpoint; readonly path: string; readonly method: string },
    incoming: IncomingMessage,
    socket: Duplex,
    head: Buffer,
  ): void {
    const { host, port } = at.endpoint;
    const { cert, key } = this.#deps.client;
    const upstream = connect(
      { host, port, cert, key, rejectUnauthorized: false, ALPNProtocols: ['http/1.1'] },
      () => {
        upstream.write(
          `${at.method} ${at.path} HTTP/1.1\r\n${forwardedHeaders(incoming, `${host}:${port}`)}\r\n`,
        );
        if (head.length > 0) upstream.write(head);
        upstream.pipe(socket);
        socket.pipe(upstream);
      },
    );
    const end = (): void => {
      upstream.destroy();
      socket.destroy();
    };
    upstream.on('error', (reason: Error) => {
      if (socket.writable && !upstream.readableDidRead)
        refuseUpgrade(
          socket,
          new StatusError(500, 'InternalError', `error dialing backend: ${reason.message}`),
        );
      end();
    });
    upstream.on('close', end);
    socket.on('error', end);
    socket.on('close', end);
  }

  /** `nodes/NAME/proxy/…`: one plain request to the kubelet. @throws {StatusError} */
  node(
    at: { readonly name: string; readonly path: string; readonly search: string; readonly method: string },
    incoming: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> {
    const [name = '', port] = at.name.split(':');
    const endpoint = this.endpoint(name);
    if (/^127\.|^::1$|^localhost$/.test(endpoint.host) && port !== undefined)
      throw badRequest('address not allowed');
    return new Promise((resolve, reject) => {
      const outgoing = httpsRequest(
        {
          host: endpoint.host,
          port: port ? Number(port) : endpoint.port,
          path: `/${at.path}${at.search}`,
          method: at.method,
          headers: {
            accept: incoming.headers.accept ?? '*/*',
            ...(incoming.headers['content-type'] && { 'content-type': incoming.headers['content-type'] }),
          },
          ...this.#tls(endpoint.host),
          agent: false,
        },
        (answer) => {
          response.writeHead(answer.statusCode ?? 502, { ...answer.headers });
          answer.pipe(response);
          answer.on('close', resolve);
        },
      );
      outgoing.on('error', (reason) => {
        reject(
          new StatusError(503, 'ServiceUnavailable', `error trying to reach service: ${reason.message}`),
        );
      });
      response.on('close', () => outgoing.destroy());
      incoming.pipe(outgoing);
    });
  }

  /** Whether the kubelet takes WebSockets itself (A19). */
  takesWebSockets(endpoint: KubeletEndpoint): boolean {
    return listAt(objectAt(endpoint.node, 'status'), 'declaredFeatures').includes(
      'ExtendWebSocketsToKubelet',
    );
  }
}

const hopByHop = new Set(['host', 'authorization']);

function forwardedHeaders(incoming: IncomingMessage, host: string): string {
  const lines = [`Host: ${host}`];
  for (let i = 0; i < incoming.rawHeaders.length; i += 2) {
    const name = incoming.rawHeaders[i] ?? '';
    if (hopByHop.has(name.toLowerCase()) || name.toLowerCase().startsWith('impersonate-')) continue;
    lines.push(`${name}: ${withoutBearer(name, incoming.rawHeaders[i + 1] ?? '')}`);
  }
  return lines.map((line) => `${line}\r\n`).join('');
}

/** A token that came as a WebSocket subprotocol stays here. */
const withoutBearer = (name: string, value: string): string =>
  name.toLowerCase() === 'sec-websocket-protocol'
    ? value
        .split(',')
        .map((one) => one.trim())
        .filter((one) => !one.startsWith('base64url.bearer.authorization.k8s.io.'))
        .join(', ')
    : value;

async function readAll(stream: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

function kubeletError(status: number, text: string): StatusError {
  const reasons: Readonly<Record<number, string>> = {
    400: 'BadRequest',
    404: 'NotFound',
    403: 'Forbidden',
    401: 'Unauthorized',
    500: 'InternalError',
  };
  const message = text.trim();
  if (status === 404)
    return new StatusError(404, 'NotFound', `the server could not find the requested resource ( ${message})`);
  return new StatusError(status, reasons[status] ?? '', message || `the kubelet answered ${status}`);
}

/** Answers an upgrade with a Status before any 101. */
export function refuseUpgrade(socket: Duplex, error: StatusError): void {
  const body = `${JSON.stringify(error.body)}\n`;
  socket.end(
    `HTTP/1.1 ${error.code} ${error.name}\r\nContent-Type: application/json\r\nCache-Control: no-cache, private\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  );
}
