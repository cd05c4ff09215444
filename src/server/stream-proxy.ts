import { once } from 'node:events';
import type { Duplex } from 'node:stream';
import { createWebSocketStream } from 'ws';
import { messageOf } from '../base/errors.ts';
import { channelProtocols, portForwardProtocol, serveChannels, tunnelProtocol } from './port-forward.ts';
import { joinDuplexes } from '../streams/join.ts';
import { serveCommand, type StreamOptions } from '../streams/remote-command.ts';
import { type ClientDeps, collect, openConnection, remoteCommand } from '../streams/remote-command-client.ts';
import { type Reply, type ServerRequest, text } from './reply.ts';
import { dial, dialSpdy, requestHead } from '../streams/spdy/dial.ts';
import { remoteCommandProtocols } from '../streams/spdy/remote-streams.ts';
import { forbidden, isSpdy, isWebSocket, negotiate, replyUpgrade, upgradeRequired } from './upgrade.ts';
import { acceptWebSocket, chooseProtocol } from '../streams/websocket.ts';
import { webSocketProtocols, webSocketStreams } from '../streams/websocket-streams.ts';

/** What the runtime's streaming server is to serve. */
export type Proxied =
  | { readonly kind: 'command'; readonly options: StreamOptions; readonly url: () => Promise<URL> }
  | {
      readonly kind: 'ports';
      readonly ports: readonly number[];
      readonly podUid: string;
      readonly url: () => Promise<URL>;
    };

/**
 * Proxies a request to the runtime's streaming server: SPDY byte by byte, WebSocket translated to the SPDY that every runtime speaks.
 * Follows kubelet `proxyStream` and, for WebSockets, its translating handlers.
 */
export async function proxied(deps: ClientDeps, request: ServerRequest, what: Proxied): Promise<Reply> {
  if (!isSpdy(request) && !isWebSocket(request)) return upgradeRequired;
  const web = isWebSocket(request);
  const protocol = web ? chooseProtocol(request, protocolsOf(what)) : '';
  if (protocol === undefined) return forbidden;
  let url: URL;
  try {
    url = await what.url();
  } catch (reason) {
    return text(500, messageOf(reason));
  }
  if (!web) {
    // Checked here because not every runtime refuses properly: containerd 1.6 answers 200 and nothing to a port-forward without a
    // protocol.
    const chosen = negotiate(request, spdyProtocolsOf(what), what.kind === 'command');
    if ('refusal' in chosen) return chosen.refusal;
    return replyUpgrade(async (socket, head) => {
      await proxyBytes(request, url, socket, head);
    });
  }
  return replyUpgrade(async (socket, head) => {
    const webSocket = await acceptWebSocket(request, socket, head, protocol);
    if (what.kind === 'command') {
      const streams = webSocketStreams(webSocket, protocol, what.options, deps.clock);
      await serveCommand(streams, remoteCommand(deps, { url }), 'executing command in');
    } else if (protocol === tunnelProtocol) await tunnel(url, createWebSocketStream(webSocket));
    else {
      const forward = (port: number, stream: Duplex, signal: AbortSignal): Promise<void> =>
        what.url().then((own) => forwardThrough(deps, { url: own, port, stream }, signal));
      await serveChannels(webSocket, protocol, what.ports, {
        podUid: what.podUid,
        forward,
        clock: deps.clock,
      });
    }
  });
}

const spdyProtocolsOf = ({ kind }: Proxied): readonly string[] =>
  kind === 'command' ? remoteCommandProtocols : [portForwardProtocol];

const protocolsOf = ({ kind }: Proxied): readonly string[] =>
  kind === 'command' ? webSocketProtocols : [tunnelProtocol, ...channelProtocols];

/** Forwards the request without hop-by-hop headers, then joins the two connections. */
async function proxyBytes(request: ServerRequest, url: URL, socket: Duplex, head: Buffer): Promise<void> {
  let upstream: Duplex;
  try {
    upstream = await dial({ url }, request.signal);
  } catch (reason) {
    const body = `error dialing backend: ${messageOf(reason)}`;
    socket.end(
      `HTTP/1.1 500 Internal Server Error\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
    );
    return;
  }
  upstream.write(requestHead(request.method, url, request.headers));
  if (head.length > 0) upstream.write(head);
  await joinDuplexes(socket, upstream);
}

async function tunnel(url: URL, socket: Duplex): Promise<void> {
  const gone = goneOf(socket);
  const upstream = await dialSpdy({ url }, [portForwardProtocol], gone);
  if (upstream.head.length > 0) socket.write(upstream.head);
  await joinDuplexes(socket, upstream.socket);
}

function goneOf(socket: Duplex): AbortSignal {
  const gone = new AbortController();
  socket.once('close', () => {
    gone.abort();
  });
  return gone.signal;
}

/** Forwards one connection through a streaming server, on a connection of its own. */
async function forwardThrough(
  deps: ClientDeps,
  { url, port, stream }: { readonly url: URL; readonly port: number; readonly stream: Duplex },
  signal: AbortSignal,
): Promise<void> {
  const connection = await openConnection(deps, { url }, [portForwardProtocol], signal);
  try {
    const headers = (type: string): ReadonlyMap<string, string> =>
      new Map([
        ['streamtype', type],
        ['port', String(port)],
        ['requestid', '0'],
      ]);
    const errors = await connection.open(headers('error'));
    errors.end();
    const failure = collect(errors);
    const data = await connection.open(headers('data'));
    stream.pipe(data);
    for await (const chunk of data)
      if (!stream.write(chunk) && !stream.destroyed) await once(stream, 'drain');
    const text = await failure;
    if (text !== '') throw new Error(text);
  } finally {
    connection.close();
  }
}
