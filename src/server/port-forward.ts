import { Duplex } from 'node:stream';
import type { WebSocket } from 'ws';
import type { Clock } from '../base/clock.ts';
import { AgentError, messageOf } from '../base/errors.ts';
import { goQuote } from '../go/go-quote.ts';
import { ended } from '../streams/remote-command.ts';
import { SpdyConnection } from '../streams/spdy/connection.ts';
import type { SpdyStream } from '../streams/spdy/stream.ts';
import type { StreamTimes } from '../streams/times.ts';
import { Channels } from '../streams/websocket.ts';
import { closeSocket } from '../streams/websocket-streams.ts';

/** Connects one stream to one port of a pod; resolves when both directions have ended. */
export type Forward = (port: number, stream: Duplex, signal: AbortSignal) => Promise<void>;

/** The pod that connections are forwarded to, as named in error texts. */
export interface ForwardTarget {
  readonly podUid: string;
  readonly forward: Forward;
}

export const portForwardProtocol = 'portforward.k8s.io';
/** Subprotocol of SPDY inside a WebSocket. */
export const tunnelProtocol = 'SPDY/3.1+portforward.k8s.io';
/** Subprotocols with the ports named in the query, two channels each. */
export const channelProtocols: readonly string[] = ['', 'v4.channel.k8s.io', 'v4.base64.channel.k8s.io'];

/** Parses a port number. @throws {RangeError} with the kubelet's text */
export function portOf(text: string): number {
  const wrong = (why: string): RangeError =>
    new RangeError(
      `unable to parse ${goQuote(text)} as a port: strconv.ParseUint: parsing ${goQuote(text)}: ${why}`,
    );
  if (!/^\d+$/.test(text)) throw wrong('invalid syntax');
  const port = Number(text);
  if (port > 65_535) throw wrong('value out of range');
  if (port < 1) throw new RangeError(`port ${goQuote(text)} must be > 0`);
  return port;
}

/** Returns the ports that a WebSocket client names. @throws {RangeError} with the kubelet's text */
export function portsOf(query: URLSearchParams): readonly number[] {
  const texts = query.getAll('port').flatMap((text) => text.split(','));
  if (texts.length === 0) throw new RangeError('query parameter "port" is required');
  return texts.map((text) => {
    if (text === '') throw new RangeError('query parameter "port" cannot be empty');
    const port = portOf(text);
    return port;
  });
}

interface Pair {
  readonly data?: SpdyStream;
  readonly error?: SpdyStream;
  readonly stop: () => void;
}

/**
 * Serves port-forward over SPDY, on a socket or inside a WebSocket, until the client closes the connection. Each forwarded connection is
 * a pair of streams. Follows `httpStreamHandler` (cri-streaming/portforward).
 */
export async function servePortForward(
  transport: Duplex,
  head: Buffer,
  { podUid, forward }: ForwardTarget,
  { clock, times }: { readonly clock: Clock; readonly times: StreamTimes },
): Promise<void> {
  const pairs = new Map<string, Pair>();
  const gone = new AbortController();
  const onStream = (stream: SpdyStream): void => {
    const { id, type, port } = requestOf(stream);
    const pending = pairs.get(id) ?? {
      stop: clock.timer(times.creationMs, () => {
        const half = pairs.get(id);
        pairs.delete(id);
        half?.data?.destroy();
        half?.error?.end('timed out waiting for streams');
      }),
    };
    if (pending[type]) throw new AgentError('invalid_argument', `stream ${type} of request ${id} exists`);
    const pair = { ...pending, [type]: stream };
    pairs.set(id, pair);
    if (!pair.data || !pair.error) return;
    pair.stop();
    pairs.delete(id);
    void join({ data: pair.data, error: pair.error, port, podUid, forward }, gone.signal);
  };
  const connection = new SpdyConnection(transport, { clock, idleMs: times.idleMs, onStream });
  transport.once('close', () => {
    gone.abort();
  });
  await connection.run(head);
  gone.abort();
  for (const { stop } of pairs.values()) stop();
}

interface StreamRequest {
  readonly id: string;
  readonly type: 'data' | 'error';
  readonly port: number;
}

/**
 * Returns the purpose of a stream. Old clients send no request id: it is then the number of the error stream, which comes first. @throws
 * for an unknown stream type
 */
function requestOf({ id, headers }: SpdyStream): StreamRequest {
  const port = portOf(required(headers.get('port'), 'port'));
  const type = required(headers.get('streamtype'), 'streamType');
  if (type !== 'data' && type !== 'error')
    throw new AgentError('invalid_argument', `invalid stream type ${goQuote(type)}`);
  const requestId = headers.get('requestid') ?? String(type === 'error' ? id : id - 2);
  return { id: requestId, type, port };
}

function required(value: string | undefined, name: string): string {
  if (value === undefined || value === '')
    throw new AgentError('invalid_argument', `${goQuote(name)} header is required`);
  return value;
}

interface Joined extends ForwardTarget {
  readonly data: SpdyStream;
  readonly error: SpdyStream;
  readonly port: number;
}

async function join({ data, error, port, podUid, forward }: Joined, gone: AbortSignal): Promise<void> {
  const reset = new AbortController();
  const abort = (): void => {
    reset.abort();
  };
  data.once('reset', abort);
  gone.addEventListener('abort', abort, { once: true });
  error.resume();
  try {
    await forward(port, data, reset.signal);
  } catch (reason) {
    if (!reset.signal.aborted) error.write(failureText(podUid, port, reason));
  } finally {
    gone.removeEventListener('abort', abort);
    await Promise.all([ended(error), ended(data)]);
    data.destroy();
    error.destroy();
  }
}

const failureText = (podUid: string, port: number, reason: unknown): string =>
  `error forwarding port ${port} to pod ${podUid}, uid : ${messageOf(reason)}`;

/** Serves the ports named in the query: channel 2i carries the i-th port's data, 2i+1 its errors; each starts with the port number. */
export async function serveChannels(
  socket: WebSocket,
  protocol: string,
  ports: readonly number[],
  { podUid, forward, clock }: ForwardTarget & { readonly clock: Clock },
): Promise<void> {
  const channels = new Channels(socket, protocol);
  const gone = new AbortController();
  socket.once('close', () => {
    gone.abort();
  });
  const streams = ports.map((port, i) => {
    const lead = Buffer.alloc(2);
    lead.writeUInt16LE(port);
    channels.send(2 * i, lead);
    channels.send(2 * i + 1, lead);
    return { port, data: channelStream(channels, 2 * i), errors: 2 * i + 1 };
  });
  await Promise.all(
    streams.map(async ({ port, data, errors }) => {
      try {
        await forward(port, data, gone.signal);
      } catch (reason) {
        channels.send(errors, Buffer.from(failureText(podUid, port, reason)));
      }
      await ended(data);
      data.destroy();
    }),
  );
  closeSocket(socket, clock);
}

/** Returns both directions of a channel as one stream. */
function channelStream(channels: Channels, channel: number): Duplex {
  const duplex = Duplex.from({
    readable: channels.readable(channel),
    writable: channels.writable(channel),
  });
  duplex.on('error', () => undefined);
  return duplex;
}
