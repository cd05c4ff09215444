import { once } from 'node:events';
import { Duplex, type Readable, type Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createWebSocketStream } from 'ws';
import type { Clock } from '../base/clock.ts';
import { messageOf } from '../base/errors.ts';
import type { TerminalIo } from '../provider/powers.ts';
import { channelProtocols, portForwardProtocol, serveChannels, tunnelProtocol } from './port-forward.ts';
import {
  type Command,
  internalStatus,
  serveCommand,
  StatusFailure,
  type StreamOptions,
  type StreamStatus,
} from './remote-command.ts';
import { type Reply, type ServerRequest, text } from './reply.ts';
import { SpdyConnection } from './spdy/connection.ts';
import { dial, dialSpdy, requestHead } from './spdy/dial.ts';
import type { SpdyStream } from './spdy/stream.ts';
import { isSpdy, isWebSocket, replyUpgrade, type StreamTimes, upgradeRequired } from './upgrade.ts';
import { acceptWebSocket, chooseProtocol, forbidden } from './websocket.ts';
import { webSocketProtocols, webSocketStreams } from './websocket-streams.ts';

interface ProxyDeps {
  readonly clock: Clock;
  readonly times: StreamTimes;
}

/** What a runtime's streaming server is to serve. */
export type Proxied =
  | { readonly kind: 'command'; readonly options: StreamOptions; readonly url: () => Promise<URL> }
  | {
      readonly kind: 'ports';
      readonly ports: readonly number[];
      readonly podUid: string;
      readonly url: () => Promise<URL>;
    };

/**
 * Lets the runtime's streaming server answer: SPDY byte by byte, WebSocket translated to the SPDY that every runtime speaks.
 * Follows kubelet `proxyStream` and, for WebSockets, its translating handlers.
 */
export async function proxied(deps: ProxyDeps, request: ServerRequest, what: Proxied): Promise<Reply> {
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
  if (!web)
    return replyUpgrade(async (socket, head) => {
      await proxyBytes(request, url, socket, head);
    });
  return replyUpgrade(async (socket, head) => {
    const webSocket = await acceptWebSocket(request, socket, head, protocol);
    if (what.kind === 'command') {
      const streams = webSocketStreams(webSocket, protocol, what.options, deps.clock);
      await serveCommand(streams, remoteCommand(deps, url), 'executing command in');
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

const protocolsOf = ({ kind }: Proxied): readonly string[] =>
  kind === 'command' ? webSocketProtocols : [tunnelProtocol, ...channelProtocols];

/** Sends the request on as it came, without what is between the client and us, then joins the two connections. */
async function proxyBytes(request: ServerRequest, url: URL, socket: Duplex, head: Buffer): Promise<void> {
  let upstream: Duplex;
  try {
    upstream = await dial(url, request.signal);
  } catch (reason) {
    const body = messageOf(reason);
    socket.end(
      `HTTP/1.1 500 Internal Server Error\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
    );
    return;
  }
  upstream.write(requestHead(request.method, url, request.headers));
  if (head.length > 0) upstream.write(head);
  await joinDuplexes(socket, upstream);
}

/** Both directions, each at the pace of the slower side, until one connection is over. */
async function joinDuplexes(one: Duplex, other: Duplex): Promise<void> {
  const end = (): void => {
    one.destroy();
    other.destroy();
  };
  await Promise.all([pipeline(one, other), pipeline(other, one)]).catch(() => undefined);
  end();
}

async function tunnel(url: URL, socket: Duplex): Promise<void> {
  const gone = goneOf(socket);
  const upstream = await dialSpdy(url, [portForwardProtocol], gone);
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

/** A command that a streaming server runs: the client half of exec and attach over SPDY. */
function remoteCommand(deps: ProxyDeps, url: URL): Command {
  return async (io, signal) => {
    const connection = await openConnection(deps, url, ['v4.channel.k8s.io'], signal).catch(
      (reason: unknown) => {
        throw new StatusFailure(internalStatus(messageOf(reason)));
      },
    );
    try {
      return exitCodeOf(await converse(connection, io));
    } finally {
      connection.close();
    }
  };
}

async function openConnection(
  { clock, times }: ProxyDeps,
  url: URL,
  protocols: readonly string[],
  signal: AbortSignal,
): Promise<SpdyConnection> {
  const { socket, head } = await dialSpdy(url, protocols, signal);
  const connection = new SpdyConnection(socket, { clock, idleMs: times.idleMs });
  void connection.run(head);
  return connection;
}

const streamType = (type: string): ReadonlyMap<string, string> => new Map([['streamtype', type]]);

/** Opens the streams of a command, joins them to the client's, and reads how it went. */
async function converse(connection: SpdyConnection, io: TerminalIo): Promise<StreamStatus> {
  const errorStream = await connection.open(streamType('error'));
  errorStream.end();
  const status = collect(errorStream);
  const inputs: SpdyStream[] = [];
  if (io.stdin) inputs.push(pass(io.stdin, await connection.open(streamType('stdin'))));
  const outputs: Promise<void>[] = [];
  if (io.stdout) outputs.push(drainTo(await connection.open(streamType('stdout')), io.stdout));
  if (io.stderr) outputs.push(drainTo(await connection.open(streamType('stderr')), io.stderr));
  if (io.tty && io.resize) void passSizes(io.resize, await connection.open(streamType('resize')));
  const told = await status;
  await Promise.all(outputs);
  for (const input of inputs) input.destroy();
  return statusOf(told);
}

function pass(from: Readable, to: SpdyStream): SpdyStream {
  to.resume();
  from.on('error', () => to.end());
  return from.pipe(to);
}

/** Copies at the pace of the reader; the end of `to` is its owner's affair. */
async function drainTo(from: SpdyStream, to: Writable): Promise<void> {
  from.end();
  for await (const chunk of from)
    if (!to.write(chunk) && !to.destroyed) await once(to, 'drain').catch(() => undefined);
}

async function passSizes(sizes: NonNullable<TerminalIo['resize']>, to: SpdyStream): Promise<void> {
  to.resume();
  for await (const { width, height } of sizes) to.write(JSON.stringify({ Width: width, Height: height }));
  to.end();
}

const mostStatusBytes = 64 * 1024;

async function collect(stream: SpdyStream): Promise<string> {
  let text = '';
  for await (const chunk of stream) if (text.length < mostStatusBytes) text += (chunk as Buffer).toString();
  return text;
}

function statusOf(text: string): StreamStatus {
  if (text === '') return internalStatus('the streaming server ended the connection without a status');
  try {
    return JSON.parse(text) as StreamStatus;
  } catch {
    return internalStatus(text);
  }
}

/** @throws {StatusFailure} for a status that is no exit code */
function exitCodeOf(status: StreamStatus): number {
  if (status.status === 'Success') return 0;
  const cause = status.details?.causes.find(({ reason }) => reason === 'ExitCode');
  const code = Number(cause?.message);
  if (status.reason === 'NonZeroExitCode' && Number.isInteger(code)) return code;
  throw new StatusFailure(status);
}

/** One forwarded connection through a streaming server, on a connection of its own. */
async function forwardThrough(
  deps: ProxyDeps,
  { url, port, stream }: { readonly url: URL; readonly port: number; readonly stream: Duplex },
  signal: AbortSignal,
): Promise<void> {
  const connection = await openConnection(deps, url, [portForwardProtocol], signal);
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
