import type { Duplex, Readable, Writable } from 'node:stream';
import { messageOf } from '../base/errors.ts';
import type { TerminalIo } from '../provider/powers.ts';

/** The streams that a client requests. */
export interface StreamOptions {
  readonly stdin: boolean;
  readonly stdout: boolean;
  readonly stderr: boolean;
  readonly tty: boolean;
}

/** Parses the requested streams of a query; undefined when it requests none. With a terminal, stderr is part of stdout. */
export function streamOptionsOf(query: URLSearchParams): StreamOptions | undefined {
  const is = (name: string): boolean => query.get(name) === '1';
  const tty = is('tty');
  const options = { stdin: is('input'), stdout: is('output'), stderr: is('error') && !tty, tty };
  return options.stdin || options.stdout || options.stderr ? options : undefined;
}

export const noStreamsText = 'you must specify at least 1 of stdin, stdout, stderr';

/** A command's result as sent on the error stream: a `Status` without kind. */
export interface StreamStatus {
  readonly metadata: Readonly<Record<string, never>>;
  readonly status: 'Success' | 'Failure';
  readonly message?: string;
  readonly reason?: string;
  readonly details?: { readonly causes: readonly { readonly reason?: string; readonly message: string }[] };
  readonly code?: number;
}

export const success: StreamStatus = { metadata: {}, status: 'Success' };

/** Returns the status of a command's exit code. */
export function exitStatus(code: number): StreamStatus {
  if (code === 0) return success;
  return {
    metadata: {},
    status: 'Failure',
    message: `command terminated with non-zero exit code: command terminated with exit code ${code}`,
    reason: 'NonZeroExitCode',
    details: { causes: [{ reason: 'ExitCode', message: String(code) }] },
  };
}

export function internalStatus(text: string): StreamStatus {
  return {
    metadata: {},
    status: 'Failure',
    message: `Internal error occurred: ${text}`,
    reason: 'InternalError',
    details: { causes: [{ message: text }] },
    code: 500,
  };
}

/** Thrown when another server has already reported the command's status. */
export class StatusFailure extends Error {
  override readonly name: string = 'StatusFailure';
  readonly status: StreamStatus;

  constructor(status: StreamStatus) {
    super(status.message ?? status.status);
    this.status = status;
  }
}

/** The live streams that a client has opened, independent of the protocol. */
export interface RemoteStreams {
  readonly io: TerminalIo;
  /** Aborts when the client disconnects. */
  readonly signal: AbortSignal;
  /** Ends the output, sends the status, and closes the connection once everything is sent. */
  finish(status: StreamStatus): Promise<void>;
}

/** Runs a command or attaches to a container over a client's streams; resolves to the exit code. */
export type Command = (io: TerminalIo, signal: AbortSignal) => Promise<number>;

/** Runs `command` over `streams` and sends its status to the client. Follows `ServeExec` and `ServeAttach` (cri-streaming). */
export async function serveCommand(
  streams: RemoteStreams,
  command: Command,
  verb: 'executing command in' | 'attaching to',
): Promise<void> {
  await streams.finish(await statusOf(streams, command, verb));
}

async function statusOf(streams: RemoteStreams, command: Command, verb: string): Promise<StreamStatus> {
  try {
    return exitStatus(await command(streams.io, streams.signal));
  } catch (reason) {
    if (reason instanceof StatusFailure) return reason.status;
    return internalStatus(`error ${verb} container: ${messageOf(reason)}`);
  }
}

/** A terminal's size as clients send it. */
export interface TerminalSize {
  readonly width: number;
  readonly height: number;
}

/** Parses a size message: `{"Width":80,"Height":24}`; undefined for anything else and for impossible sizes. */
export function sizeOf(text: string): TerminalSize | undefined {
  try {
    const { Width: width, Height: height } = JSON.parse(text) as { Width?: unknown; Height?: unknown };
    const hold = (value: unknown): value is number =>
      typeof value === 'number' && Number.isInteger(value) && value > 0 && value < 65_536;
    return hold(width) && hold(height) ? { width, height } : undefined;
  } catch {
    return undefined;
  }
}

/** Queue of terminal sizes; a slow reader sees only the newest. */
export class SizeQueue implements AsyncIterable<TerminalSize> {
  #newest: TerminalSize | undefined;
  #ended = false;
  #wake: (() => void) | undefined;

  push(size: TerminalSize | undefined): void {
    if (!size) return;
    this.#newest = size;
    this.#wake?.();
  }

  end(): void {
    this.#ended = true;
    this.#wake?.();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<TerminalSize> {
    for (;;) {
      const size = this.#newest;
      this.#newest = undefined;
      if (size) yield size;
      else if (this.#ended) return;
      else
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
    }
  }
}

/** Reads size messages, consecutive JSON documents, until the stream ends. */
export async function readSizes(stream: Readable, queue: SizeQueue): Promise<void> {
  let rest = '';
  try {
    for await (const chunk of stream) {
      rest = (rest + (chunk as Buffer).toString()).slice(-4096);
      const end = rest.lastIndexOf('}');
      if (end < 0) continue;
      const start = rest.lastIndexOf('{', end);
      if (start >= 0) queue.push(sizeOf(rest.slice(start, end + 1)));
      rest = rest.slice(end + 1);
    }
  } catch {
    // The client has disconnected; the sizes end with it.
  } finally {
    queue.end();
  }
}

/** Ends a stream and waits until everything is passed on. */
export function ended(stream: Writable | Duplex | undefined): Promise<void> {
  return new Promise((resolve) => {
    if (!stream || stream.destroyed || stream.writableFinished) {
      resolve();
      return;
    }
    stream.once('close', resolve);
    stream.once('error', () => {
      resolve();
    });
    stream.end(() => {
      resolve();
    });
  });
}
