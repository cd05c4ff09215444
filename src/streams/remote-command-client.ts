import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import type { Clock } from '../base/clock.ts';
import { messageOf } from '../base/errors.ts';
import type { TerminalIo } from '../provider/powers.ts';
import { type Command, internalStatus, StatusFailure, type StreamStatus } from './remote-command.ts';
import { SpdyConnection } from './spdy/connection.ts';
import { dialSpdy, type StreamServer } from './spdy/dial.ts';
import type { SpdyStream } from './spdy/stream.ts';
import type { StreamTimes } from './times.ts';

export interface ClientDeps {
  readonly clock: Clock;
  readonly times: StreamTimes;
}

/** Returns a command that a streaming server runs: the client half of exec and attach over SPDY. */
export function remoteCommand(
  deps: ClientDeps,
  server: StreamServer,
  protocols: readonly string[] = ['v4.channel.k8s.io'],
): Command {
  return async (io, signal) => {
    const connection = await openConnection(deps, server, protocols, signal).catch((reason: unknown) => {
      throw new StatusFailure(plainFailure(messageOf(reason)));
    });
    try {
      return exitCodeOf(await converse(connection, io));
    } finally {
      connection.close();
    }
  };
}

/** Returns the failure status of an error on this side, before the WebSocket half wraps it. */
const plainFailure = (message: string): StreamStatus => ({
  metadata: {},
  status: 'Failure',
  message,
  code: 500,
});

/** Opens a SPDY connection to a streaming server. @throws {AgentError} `unavailable` with the server's text when it refuses */
export async function openConnection(
  { clock, times }: ClientDeps,
  server: StreamServer,
  protocols: readonly string[],
  signal: AbortSignal,
): Promise<SpdyConnection> {
  const { socket, head } = await dialSpdy(server, protocols, signal);
  const connection = new SpdyConnection(socket, { clock, idleMs: times.idleMs });
  void connection.run(head);
  return connection;
}

const streamType = (type: string): ReadonlyMap<string, string> => new Map([['streamtype', type]]);

/** Opens the streams of a command, joins them to the client's, and returns the command's status. */
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
  const received = await status;
  await Promise.all(outputs);
  for (const input of inputs) input.destroy();
  return statusOf(received);
}

function pass(from: Readable, to: SpdyStream): SpdyStream {
  to.resume();
  from.on('error', () => to.end());
  return from.pipe(to);
}

/** Copies with backpressure; the caller ends `to`. */
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

/** Reads a short text that is sent as a stream. */
export async function collect(stream: SpdyStream): Promise<string> {
  let text = '';
  for await (const chunk of stream) if (text.length < mostStatusBytes) text += (chunk as Buffer).toString();
  return text;
}

/** Returns the exit code of a command whose error stream ended with this text. @throws {StatusFailure} when it did not run or not end */
export const exitCodeOfText = (text: string): number => exitCodeOf(statusOf(text));

function statusOf(text: string): StreamStatus {
  if (text === '') return internalStatus('the streaming server ended the connection without a status');
  try {
    return JSON.parse(text) as StreamStatus;
  } catch {
    return internalStatus(text);
  }
}

/** @throws {StatusFailure} for a status that is not an exit code */
function exitCodeOf(status: StreamStatus): number {
  if (status.status === 'Success') return 0;
  const cause = status.details?.causes.find(({ reason }) => reason === 'ExitCode');
  const code = Number(cause?.message);
  if (status.reason === 'NonZeroExitCode' && Number.isInteger(code)) return code;
  throw new StatusFailure(status);
}
