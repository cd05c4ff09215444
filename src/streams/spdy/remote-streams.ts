import type { Duplex } from 'node:stream';
import type { Clock } from '../../base/clock.ts';
import { AgentError } from '../../base/errors.ts';
import { goStructJson } from '../../go/go-json.ts';
import {
  ended,
  readSizes,
  type RemoteStreams,
  SizeQueue,
  type StreamOptions,
  type StreamStatus,
} from '../remote-command.ts';
import { SpdyConnection } from './connection.ts';
import type { SpdyStream } from './stream.ts';
import type { StreamTimes } from '../times.ts';

/** Protocols of exec and attach over SPDY (K4). */
export const remoteCommandProtocols: readonly string[] = [
  'v4.channel.k8s.io',
  'v3.channel.k8s.io',
  'v2.channel.k8s.io',
  'channel.k8s.io',
];

interface SpdyRemote {
  readonly protocol: string;
  readonly options: StreamOptions;
  readonly clock: Clock;
  readonly times: StreamTimes;
}

const hasResize = (protocol: string): boolean => protocol.startsWith('v4') || protocol.startsWith('v3');

/** Returns the stream types that a client will open: always `error`, and the requested ones. */
function expectedTypes({ protocol, options }: SpdyRemote): ReadonlySet<string> {
  const { stdin, stdout, stderr, tty } = options;
  return new Set([
    'error',
    ...(stdin ? ['stdin'] : []),
    ...(stdout ? ['stdout'] : []),
    ...(stderr ? ['stderr'] : []),
    ...(tty && hasResize(protocol) ? ['resize'] : []),
  ]);
}

/**
 * Waits until a client has opened the streams of an exec or attach over SPDY. Follows `createHTTPStreamStreams` (cri-streaming).
 *
 * @throws {AgentError} `deadline_exceeded` when the client is too late; the connection is then closed
 */
export async function spdyRemoteStreams(
  socket: Duplex,
  head: Buffer,
  remote: SpdyRemote,
): Promise<RemoteStreams> {
  const { clock, times } = remote;
  const expected = expectedTypes(remote);
  const streams = new Map<string, SpdyStream>();
  const complete = Promise.withResolvers<undefined>();
  const gone = new AbortController();
  const connection = new SpdyConnection(socket, {
    clock,
    idleMs: times.idleMs,
    mostStreams: 8,
    onStream: (stream) => {
      const type = stream.headers.get('streamtype') ?? '';
      if (!expected.has(type) || streams.has(type))
        throw new AgentError('invalid_argument', `invalid stream type "${type}"`);
      streams.set(type, stream);
      if (streams.size === expected.size) complete.resolve(undefined);
    },
  });
  const leave = (): void => {
    gone.abort();
    complete.reject(new AgentError('cancelled', 'the client has gone'));
  };
  socket.once('close', leave);
  void connection.run(head).then(leave);
  const stop = clock.timer(times.creationMs, () => {
    complete.reject(new AgentError('deadline_exceeded', 'timed out waiting for client to create streams'));
  });
  try {
    await complete.promise;
  } catch (reason) {
    connection.close();
    throw reason;
  } finally {
    stop();
  }
  return liveStreams({ connection, streams, remote, signal: gone.signal });
}

interface Live {
  readonly connection: SpdyConnection;
  readonly streams: ReadonlyMap<string, SpdyStream>;
  readonly remote: SpdyRemote;
  readonly signal: AbortSignal;
}

function liveStreams({ connection, streams, remote, signal }: Live): RemoteStreams {
  const [stdin, stdout, stderr] = ['stdin', 'stdout', 'stderr'].map((type) => streams.get(type));
  const resize = resizeOf(streams.get('resize'));
  return {
    io: {
      ...(stdin && { stdin }),
      ...(stdout && { stdout }),
      ...(stderr && { stderr }),
      tty: remote.options.tty,
      ...(resize && { resize }),
    },
    signal,
    finish: async (status) => {
      await Promise.all([ended(stdout), ended(stderr)]);
      const error = streams.get('error');
      const text = statusText(remote.protocol, status);
      if (text !== '') error?.write(text);
      await ended(error);
      connection.close();
    },
  };
}

function resizeOf(stream: SpdyStream | undefined): SizeQueue | undefined {
  if (!stream) return undefined;
  const queue = new SizeQueue();
  void readSizes(stream, queue);
  return queue;
}

/** Returns a status as sent on the error stream: the whole status for v4 and later, only the failure text before. */
export function statusText(protocol: string, status: StreamStatus): string {
  if (protocol.startsWith('v4') || protocol.startsWith('v5')) return goStructJson(status);
  return status.status === 'Success' ? '' : (status.message ?? '');
}
