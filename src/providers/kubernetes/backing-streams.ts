import { once } from 'node:events';
import type { Duplex } from 'node:stream';
import type { WebSocket } from 'ws';
import type { ApiConnection } from '../../api/rest/connection.ts';
import { fixedCredentials } from '../../api/rest/connection.ts';
import { type HttpStream, Transport } from '../../api/rest/transport.ts';
import type { Clock } from '../../base/clock.ts';
import { AgentError } from '../../base/errors.ts';
import type { LogOptions, LogSink } from '../../provider/logs.ts';
import type { TerminalIo } from '../../provider/powers.ts';
import { exitCodeOfText } from '../../streams/remote-command-client.ts';
import { bytesOf, Channels } from '../../streams/websocket.ts';
import { openWebSocket } from '../../streams/websocket-client.ts';

/** A container of a backing pod. */
export interface BackingContainer {
  readonly namespace: string;
  readonly pod: string;
  readonly container: string;
}

type Query = readonly (readonly [name: string, value: string])[];

const channel = { stdin: 0, stdout: 1, stderr: 2, error: 3, resize: 4 } as const;
/** The message of protocol v5 that ends standard input. */
const endOfStdin = Buffer.from([255, channel.stdin]);
const commandProtocols = ['v5.channel.k8s.io', 'v4.channel.k8s.io'];
const portProtocols = ['v4.channel.k8s.io'];
/** The deadline until a log begins, ms. */
const logHeadMs = 30_000;

/** BackingStreams is the client of the backing API server for what requests and answers do not do: logs, exec, attach and port-forward. */
export class BackingStreams {
  readonly #connection: ApiConnection;
  readonly #transport: Transport;

  constructor(connection: ApiConnection, clock: Clock) {
    this.#connection = connection;
    this.#transport = new Transport(connection, clock);
  }

  /** Runs a command with streams and returns its exit code. */
  async exec(
    target: BackingContainer,
    command: readonly string[],
    io: TerminalIo,
    signal: AbortSignal,
  ): Promise<number> {
    const words = command.map((word) => ['command', word] as const);
    return this.#converse(target, 'exec', { words, io, signal });
  }

  /** Connects to the streams of a container's main process. */
  async attach(target: BackingContainer, io: TerminalIo, signal: AbortSignal): Promise<void> {
    await this.#converse(target, 'attach', { words: [], io, signal });
  }

  /** Joins a connection with a port of a pod until both directions have ended. */
  async portForward(
    target: Omit<BackingContainer, 'container'>,
    port: number,
    stream: Duplex,
    signal: AbortSignal,
  ): Promise<void> {
    const url = this.#url(target, 'portforward', [['ports', String(port)]]);
    const socket = await this.#open(url, portProtocols, signal);
    const closed = closing(socket);
    let heads = 2;
    let refusal = '';
    socket.on('message', (data) => {
      const bytes = bytesOf(data);
      const [kind] = bytes;
      // the first message of each channel repeats the port
      if (heads > 0) heads--;
      else if (kind === 1) refusal += bytes.subarray(1).toString();
      else if (!stream.destroyed && !stream.write(bytes.subarray(1))) pauseUntilDrained(socket, stream);
    });
    socket.resume();
    const channels = new Channels(socket, 'v4.channel.k8s.io');
    stream.pipe(channels.writable(0)).once('finish', () => {
      socket.close(1000);
    });
    const end = (): void => {
      socket.close(1000);
    };
    stream.once('close', end);
    stream.on('error', end);
    await closed;
    stream.end();
    if (refusal !== '') throw new AgentError('unavailable', refusal.trim());
  }

  /** Writes a container's log to `sink`. */
  async logs(
    target: BackingContainer,
    options: LogOptions,
    sink: LogSink,
    signal: AbortSignal,
  ): Promise<void> {
    const query = [['container', target.container] as const, ...logQuery(options)];
    const { pathname, search } = this.#url(target, 'log', query);
    const answer: HttpStream = await this.#transport.stream({
      method: 'GET',
      path: pathname + search,
      headers: { accept: '*/*', 'user-agent': 'podtender' },
      signal,
      timeoutMs: logHeadMs,
    });
    if (answer.status === 200) {
      for await (const bytes of answer.body) await sink(bytes);
      return;
    }
    let text = '';
    for await (const bytes of answer.body) text += bytes.toString();
    throw new AgentError(answer.status === 404 ? 'not_found' : 'unavailable', messageIn(text));
  }

  close(): Promise<void> {
    return this.#transport.close();
  }

  async #converse(
    target: BackingContainer,
    subresource: string,
    { words, io, signal }: { readonly words: Query; readonly io: TerminalIo; readonly signal: AbortSignal },
  ): Promise<number> {
    const wants = {
      stdin: io.stdin,
      stdout: io.stdout,
      stderr: io.tty ? undefined : io.stderr,
      tty: io.tty || undefined,
    };
    const flags = Object.entries(wants).map(
      ([name, one]) => [name, one === undefined ? 'false' : 'true'] as const,
    );
    const url = this.#url(target, subresource, [['container', target.container], ...flags, ...words]);
    const socket = await this.#open(url, commandProtocols, signal);
    const closed = closing(socket);
    const channels = new Channels(socket, 'v4.channel.k8s.io');
    const outputs = (
      [
        ['stdout', io.stdout],
        ['stderr', wants.stderr],
      ] as const
    ).flatMap(([name, to]) => (to ? [drained(channels.readable(channel[name]), to)] : []));
    let status = '';
    channels.onText(channel.error, (text) => {
      status += text;
    });
    socket.resume();
    if (io.stdin) passStdin(io.stdin, channels, socket);
    if (io.tty && io.resize) void passSizes(io.resize, channels);
    await closed;
    await Promise.all(outputs);
    signal.throwIfAborted();
    return exitCodeOfText(status);
  }

  async #open(url: URL, protocols: readonly string[], signal: AbortSignal): Promise<WebSocket> {
    const { ca, proxyUrl, tlsServerName, skipTlsVerify, credentials } = this.#connection;
    if (proxyUrl !== undefined)
      throw new AgentError(
        'unimplemented',
        'exec, attach and port-forward do not go through the proxy of the backing cluster',
      );
    const current = await (credentials ?? fixedCredentials(this.#connection)).current();
    const { headers, cert, key, ca: trusted = ca } = current;
    return openWebSocket(
      {
        url,
        headers,
        ...(trusted !== undefined && { ca: trusted }),
        ...(cert !== undefined && { cert }),
        ...(key !== undefined && { key }),
        ...(tlsServerName !== undefined && { servername: tlsServerName }),
        ...(skipTlsVerify === true && { rejectUnauthorized: false }),
      },
      protocols,
      signal,
    );
  }

  #url({ namespace, pod }: Omit<BackingContainer, 'container'>, subresource: string, query: Query): URL {
    const url = new URL(this.#connection.server);
    const base = url.pathname.replace(/\/$/, '');
    url.pathname = `${base}/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(pod)}/${subresource}`;
    for (const [name, value] of query) url.searchParams.append(name, value);
    return url;
  }
}

const closing = (socket: WebSocket): Promise<unknown> => once(socket, 'close');

function passStdin(stdin: NonNullable<TerminalIo['stdin']>, channels: Channels, socket: WebSocket): void {
  const end = (): void => {
    if (socket.readyState !== socket.OPEN) return;
    // an older server has no half-close: its command sees the end when the connection closes
    if (socket.protocol.startsWith('v5')) socket.send(endOfStdin);
  };
  const to = channels.writable(channel.stdin);
  stdin.on('error', end);
  stdin.pipe(to).once('finish', end);
}

async function passSizes(sizes: NonNullable<TerminalIo['resize']>, channels: Channels): Promise<void> {
  for await (const { width, height } of sizes)
    channels.send(channel.resize, Buffer.from(JSON.stringify({ Width: width, Height: height })));
}

/** Copies with backpressure; the caller ends `to`. */
async function drained(from: AsyncIterable<Buffer>, to: NonNullable<TerminalIo['stdout']>): Promise<void> {
  for await (const chunk of from)
    if (!to.write(chunk) && !to.destroyed) await once(to, 'drain').catch(() => undefined);
}

function pauseUntilDrained(socket: WebSocket, stream: Duplex): void {
  socket.pause();
  stream.once('drain', () => {
    socket.resume();
  });
}

function logQuery(options: LogOptions): Query {
  const { follow, previous, tailLines, sinceSeconds, sinceTime, timestamps, limitBytes, stream } = options;
  const all = {
    follow: follow === true ? 'true' : undefined,
    previous: previous === true ? 'true' : undefined,
    timestamps: timestamps === true ? 'true' : undefined,
    tailLines: tailLines !== undefined && tailLines >= 0 ? String(tailLines) : undefined,
    sinceSeconds: sinceSeconds === undefined ? undefined : String(sinceSeconds),
    sinceTime: sinceTime === undefined ? undefined : new Date(sinceTime).toISOString(),
    limitBytes: limitBytes === undefined ? undefined : String(limitBytes),
    stream: stream === 'All' ? undefined : stream,
  };
  return Object.entries(all).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value] as const],
  );
}

/** The message of a Status, or the text itself. */
function messageIn(text: string): string {
  try {
    const { message } = JSON.parse(text) as { readonly message?: unknown };
    return typeof message === 'string' ? message : text;
  } catch {
    return text.trim();
  }
}
