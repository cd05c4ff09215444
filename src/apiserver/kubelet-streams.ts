import type { IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { Duplex } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createWebSocketStream } from 'ws';
import type { KeyPair } from '../base/certificates.ts';
import type { Clock } from '../base/clock.ts';
import { dialError, joinHostPort } from '../base/dial-error.ts';
import { joinDuplexes } from '../streams/join.ts';
import { serveCommand } from '../streams/remote-command.ts';
import { remoteCommand } from '../streams/remote-command-client.ts';
import { streamTimes } from '../streams/times.ts';
import { acceptWebSocket, offeredProtocols } from '../streams/websocket.ts';
import { webSocketStreams } from '../streams/websocket-streams.ts';
import type { KubeletEndpoint, KubeletProxy } from './kubelet-proxy.ts';
import { isTrue } from './request.ts';
import { StatusError } from './status-error.ts';

export interface KubeletStreamsDeps {
  readonly clock: Clock;
  readonly proxy: KubeletProxy;
  /** The certificate that the server shows to kubelets. */
  readonly client: KeyPair;
}

/** One upgrade: which subresource of which pod was asked for, and how. */
export interface StreamCall {
  readonly namespace: string;
  readonly name: string;
  readonly subresource: string;
  readonly query: URLSearchParams;
}

/** A client's connection that asks for an upgrade. */
export interface Upgrading {
  readonly incoming: IncomingMessage;
  readonly socket: Duplex;
  readonly head: Buffer;
}

const closing = 'v5.channel.k8s.io';
const tunnelled = 'SPDY/3.1+';
const spdyProtocols = [
  closing,
  'v4.channel.k8s.io',
  'v3.channel.k8s.io',
  'v2.channel.k8s.io',
  'channel.k8s.io',
];

/**
 * Joins clients of exec, attach and port-forward with the kubelets of nodes. What a kubelet understands goes to it as it came; to one that
 * does not declare `ExtendWebSocketsToKubelet`, WebSockets of protocol v5 and port-forward tunnels go as SPDY (A19).
 */
export class KubeletStreams {
  readonly #deps: KubeletStreamsDeps;

  constructor(deps: KubeletStreamsDeps) {
    this.#deps = deps;
  }

  /** @throws {StatusError} when the pod or its node cannot be found; what goes wrong later the client is told on its connection */
  join(call: StreamCall, upgrading: Upgrading): void {
    const { endpoint, path } = this.#deps.proxy.streamPath(call);
    const { incoming } = upgrading;
    const offered =
      incoming.headers.upgrade?.toLowerCase() === 'websocket' && !this.#deps.proxy.takesWebSockets(endpoint)
        ? offeredProtocols(incoming)
        : [];
    if (call.subresource !== 'portforward' && offered.includes(closing)) {
      void this.#translate(call, { endpoint, path }, upgrading).catch(() => upgrading.socket.destroy());
      return;
    }
    const tunnel = offered.filter((one) => one.startsWith(tunnelled));
    if (call.subresource === 'portforward' && tunnel.length > 0)
      this.#pass(
        { endpoint, path, method: 'POST', headers: spdyHeaders(incoming, tunnel) },
        upgrading,
        tunnel[0],
      );
    else
      this.#pass({ endpoint, path, method: incoming.method ?? 'GET', headers: sentOn(incoming) }, upgrading);
  }

  /** A WebSocket here, SPDY to the kubelet: whatever the kubelet says, the client has its 101 and is told on channel 3. */
  async #translate({ subresource, query }: StreamCall, to: Target, upgrading: Upgrading): Promise<void> {
    const { clock, client } = this.#deps;
    const { incoming, socket, head } = upgrading;
    const request = { method: 'GET', target: incoming.url ?? '/', headers: incoming.headers };
    const web = await acceptWebSocket(request, socket, head, closing);
    const is = (name: string): boolean => isTrue(query.get(name));
    const tty = is('tty');
    const options = { stdin: is('stdin'), stdout: is('stdout'), stderr: is('stderr') && !tty, tty };
    const url = new URL(`https://${joinHostPort(to.endpoint.host, to.endpoint.port)}${to.path}`);
    const command = remoteCommand({ clock, times: streamTimes }, { url, client }, spdyProtocols);
    const verb = subresource === 'exec' ? 'executing command in' : 'attaching to';
    await serveCommand(webSocketStreams(web, closing, options, clock), command, verb);
  }

  /** Sends an upgrade on and joins the two connections; each side's pace holds the other. A refusal is handed on whole. */
  #pass(to: Passed, { incoming, socket, head }: Upgrading, tunnel?: string): void {
    const { host, port } = to.endpoint;
    const outgoing = httpsRequest({
      host,
      port,
      path: to.path,
      method: to.method,
      headers: [...to.headers],
      ...this.#deps.proxy.tls(host),
      agent: false,
    });
    const giveUp = (): void => {
      outgoing.destroy();
    };
    socket.on('error', giveUp);
    socket.once('close', giveUp);
    outgoing.on('error', (reason) => {
      refuseUpgrade(
        socket,
        new StatusError(500, '', `error dialing backend: ${dialError(reason, to.endpoint)}`),
      );
    });
    outgoing.on('response', (answer) => {
      socket.write(headOf(answer));
      pipeline(answer, socket).catch(() => socket.destroy());
    });
    outgoing.on('upgrade', (answer, upstream, rest) => {
      this.#joined({ incoming, socket, head, tunnel }, answer, upstream, rest).catch(giveUp);
    });
    outgoing.end();
  }

  async #joined(
    { incoming, socket, head, tunnel }: Upgrading & { readonly tunnel: string | undefined },
    answer: IncomingMessage,
    upstream: Duplex,
    rest: Buffer,
  ): Promise<void> {
    let near = socket;
    try {
      if (tunnel === undefined) {
        socket.write(`HTTP/1.1 101 Switching Protocols\r\n${lines(answer.rawHeaders)}\r\n`);
        if (head.length > 0) upstream.write(head);
      } else {
        const request = { method: 'GET', target: incoming.url ?? '/', headers: incoming.headers };
        near = createWebSocketStream(await acceptWebSocket(request, socket, head, tunnel));
      }
      if (rest.length > 0) near.write(rest);
      await joinDuplexes(near, upstream);
    } finally {
      upstream.destroy();
      socket.destroy();
    }
  }
}

interface Target {
  readonly endpoint: KubeletEndpoint;
  readonly path: string;
}

interface Passed extends Target {
  readonly method: string;
  /** Names and values in turn. */
  readonly headers: readonly string[];
}

/** What stays with this server: who asks is its own affair. */
const own = /^(authorization|impersonate-.*|x-forwarded-for)$/i;

/** A client's headers as they go on, with where they came from. */
function sentOn(incoming: IncomingMessage, without: RegExp = own): string[] {
  const out: string[] = [];
  for (let i = 0; i + 1 < incoming.rawHeaders.length; i += 2) {
    const [name = '', value = ''] = incoming.rawHeaders.slice(i, i + 2);
    if (own.test(name) || without.test(name)) continue;
    out.push(name, withoutBearer(name, value));
  }
  return [...out, 'X-Forwarded-For', forwardedFor(incoming)];
}

/** Whom a request came from, after those whom it already names. */
export function forwardedFor({ headers, socket }: IncomingMessage): string {
  const before = headers['x-forwarded-for'];
  const from = (socket.remoteAddress ?? '').replace(/^::ffff:/, '');
  return [...(before === undefined ? [] : [before].flat()), from].join(', ');
}

const spdyHeaders = (incoming: IncomingMessage, tunnel: readonly string[]): string[] => [
  ...sentOn(incoming, /^(connection|upgrade|content-length|sec-websocket-.*)$/i),
  ...['Connection', 'Upgrade', 'Upgrade', 'SPDY/3.1'],
  ...tunnel.flatMap((one) => ['X-Stream-Protocol-Version', one.slice(tunnelled.length)]),
];

/** A token that came as a WebSocket subprotocol stays here. */
const withoutBearer = (name: string, value: string): string =>
  name.toLowerCase() === 'sec-websocket-protocol'
    ? value
        .split(',')
        .map((one) => one.trim())
        .filter((one) => !one.startsWith('base64url.bearer.authorization.k8s.io.'))
        .join(', ')
    : value;

function lines(rawHeaders: readonly string[], without?: RegExp): string {
  let text = '';
  for (let i = 0; i + 1 < rawHeaders.length; i += 2)
    if (!without?.test(rawHeaders[i] ?? '')) text += `${rawHeaders[i] ?? ''}: ${rawHeaders[i + 1] ?? ''}\r\n`;
  return text;
}

/** A kubelet's refusal, told as it was; the connection is of no further use. */
const headOf = ({ statusCode = 500, statusMessage = '', rawHeaders }: IncomingMessage): string =>
  `HTTP/1.1 ${statusCode} ${statusMessage}\r\n${lines(rawHeaders, /^(connection|keep-alive|transfer-encoding|content-length)$/i)}Connection: close\r\n\r\n`;

/** Answers an upgrade with a Status before any 101. */
export function refuseUpgrade(socket: Duplex, error: StatusError): void {
  if (!socket.writable) return;
  const body = `${JSON.stringify(error.body)}\n`;
  const headers = {
    'Content-Type': 'application/json',
    'Cache-Control': 'no-cache, private',
    ...error.headers,
    'Content-Length': String(Buffer.byteLength(body)),
    Connection: 'close',
  };
  socket.end(`HTTP/1.1 ${error.code} ${error.name}\r\n${lines(Object.entries(headers).flat())}\r\n${body}`);
}
