import type { IncomingMessage } from 'node:http';
import type { KeyPair } from '../../pki/certificates.ts';
import type { Clock } from '../../base/clock.ts';
import { joinHostPort } from '../../base/host-port.ts';
import { serveCommand } from '../../streams/remote-command.ts';
import { remoteCommand } from '../../streams/remote-command-client.ts';
import { streamTimes } from '../../streams/times.ts';
import { offeredProtocols } from '../../streams/websocket.ts';
import { webSocketStreams } from '../../streams/websocket-streams.ts';
import type { KubeletEndpoint, KubeletProxy } from './kubelet-proxy.ts';
import { isTrue } from '../request/request.ts';
import { passUpgrade, sentOn, takeWebSocket, wantsWebSocket } from '../request/upgrade.ts';
import type { Upgrading } from '../request/upgrading.ts';

export interface KubeletStreamsDeps {
  readonly clock: Clock;
  readonly proxy: KubeletProxy;
  /** The client certificate that the server presents to kubelets. */
  readonly client: KeyPair;
}

/** One upgrade: the subresource and pod that are requested. */
export interface StreamCall {
  readonly namespace: string;
  readonly name: string;
  readonly subresource: string;
  readonly query: URLSearchParams;
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
 * KubeletStreams joins clients of exec, attach and port-forward with kubelets. Protocols that a kubelet supports are forwarded unchanged;
 * for a kubelet without `ExtendWebSocketsToKubelet`, WebSockets of protocol v5 and port-forward tunnels are translated to SPDY (A19).
 */
export class KubeletStreams {
  readonly #deps: KubeletStreamsDeps;

  constructor(deps: KubeletStreamsDeps) {
    this.#deps = deps;
  }

  /**
   * Joins a client with the kubelet of a pod until one of them disconnects.
   *
   * @throws {StatusError} when the pod, its node or the kubelet cannot be found; later errors are sent on the client's connection
   */
  join(call: StreamCall, upgrading: Upgrading): Promise<void> {
    const { endpoint, path } = this.#deps.proxy.streamPath(call);
    const { incoming } = upgrading;
    const offered =
      wantsWebSocket(upgrading) && !this.#deps.proxy.takesWebSockets(endpoint)
        ? offeredProtocols(incoming)
        : [];
    if (call.subresource !== 'portforward' && offered.includes(closing))
      return this.#translate(call, { endpoint, path }, upgrading).catch(
        () => void upgrading.socket.destroy(),
      );
    const { host, port } = endpoint;
    const to = { scheme: 'https', host, port, path, tls: this.#deps.proxy.tls(host) } as const;
    const tunnel = offered.filter((one) => one.startsWith(tunnelled));
    return call.subresource === 'portforward' && tunnel.length > 0
      ? passUpgrade({ ...to, method: 'POST', headers: spdyHeaders(incoming, tunnel) }, upgrading, tunnel[0])
      : passUpgrade({ ...to, method: incoming.method ?? 'GET', headers: sentOn(incoming) }, upgrading);
  }

  /** Translates a WebSocket to SPDY: the client always receives its 101, and errors of the kubelet on channel 3. */
  async #translate({ subresource, query }: StreamCall, to: Target, upgrading: Upgrading): Promise<void> {
    const { clock, client } = this.#deps;
    const web = await takeWebSocket(upgrading, closing);
    const is = (name: string): boolean => isTrue(query.get(name));
    const tty = is('tty');
    const options = { stdin: is('stdin'), stdout: is('stdout'), stderr: is('stderr') && !tty, tty };
    const url = new URL(`https://${joinHostPort(to.endpoint.host, to.endpoint.port)}${to.path}`);
    const command = remoteCommand({ clock, times: streamTimes }, { url, client }, spdyProtocols);
    const verb = subresource === 'exec' ? 'executing command in' : 'attaching to';
    await serveCommand(webSocketStreams(web, closing, options, clock), command, verb);
  }
}

interface Target {
  readonly endpoint: KubeletEndpoint;
  readonly path: string;
}

const spdyHeaders = (incoming: IncomingMessage, tunnel: readonly string[]): string[] => [
  ...sentOn(incoming, /^(connection|upgrade|content-length|sec-websocket-.*)$/i),
  ...['Connection', 'Upgrade', 'Upgrade', 'SPDY/3.1'],
  // without it Node sends the end of a chunked body, which the kubelet would read as SPDY
  ...['Content-Length', '0'],
  ...tunnel.flatMap((one) => ['X-Stream-Protocol-Version', one.slice(tunnelled.length)]),
];
