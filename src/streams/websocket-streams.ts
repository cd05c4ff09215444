import type { WebSocket } from 'ws';
import type { Clock } from '../base/clock.ts';
import {
  ended,
  type RemoteStreams,
  SizeQueue,
  sizeOf,
  type StreamOptions,
  type StreamStatus,
  internalStatus,
} from './remote-command.ts';
import { statusText } from './spdy/remote-streams.ts';
import { Channels } from './websocket.ts';

/** Protocols of exec and attach over WebSocket (K4). */
export const webSocketProtocols: readonly string[] = [
  '',
  'channel.k8s.io',
  'base64.channel.k8s.io',
  'v4.channel.k8s.io',
  'v4.base64.channel.k8s.io',
  'v5.channel.k8s.io',
];

const channelOf = { stdin: 0, stdout: 1, stderr: 2, error: 3, resize: 4 } as const;

/** How long the client has to answer the close frame, ms. */
const closeMs = 5000;

/** Opens the streams of an exec or attach over a WebSocket. Follows `createWebSocketStreams` (cri-streaming). */
export function webSocketStreams(
  socket: WebSocket,
  protocol: string,
  options: StreamOptions,
  clock: Clock,
): RemoteStreams {
  const channels = new Channels(socket, protocol);
  const gone = new AbortController();
  const sizes = options.tty ? new SizeQueue() : undefined;
  socket.once('close', () => {
    gone.abort();
    sizes?.end();
  });
  const stdin = options.stdin ? channels.readable(channelOf.stdin) : undefined;
  const stdout = options.stdout ? channels.writable(channelOf.stdout) : undefined;
  const stderr = options.stderr ? channels.writable(channelOf.stderr) : undefined;
  if (sizes)
    channels.onText(channelOf.resize, (text) => {
      sizes.push(sizeOf(text));
    });
  // An empty message on the first writable channel signals that the streams are open.
  channels.send(
    options.stdout ? channelOf.stdout : options.stderr ? channelOf.stderr : channelOf.error,
    empty,
  );
  return {
    io: {
      ...(stdin && { stdin }),
      ...(stdout && { stdout }),
      ...(stderr && { stderr }),
      tty: options.tty,
      ...(sizes && { resize: sizes }),
    },
    signal: gone.signal,
    finish: async (status) => {
      await Promise.all([ended(stdout), ended(stderr)]);
      const text = statusText(protocol, translated(status));
      if (text !== '')
        await new Promise<void>((resolve) => {
          channels.send(channelOf.error, Buffer.from(text), resolve);
        });
      closeSocket(socket, clock);
    },
  };
}

const empty = Buffer.alloc(0);

/** Wraps an error once more, as the kubelet does when it translates WebSocket to SPDY internally. */
function translated(status: StreamStatus): StreamStatus {
  return status.code === 500 && status.message !== undefined ? internalStatus(status.message) : status;
}

/** Closes a WebSocket as the kubelet does: code 1000 without a reason. */
export function closeSocket(socket: WebSocket, clock: Clock): void {
  socket.resume();
  socket.close(1000, '');
  const stop = clock.timer(closeMs, () => {
    socket.terminate();
  });
  socket.once('close', stop);
}
