import type { Duplex, Readable, Writable } from 'node:stream';
import { messageOf } from '../base/errors.ts';
import type { TerminalIo } from '../provider/powers.ts';

/** Which streams a client asks for. */
export interface StreamOptions {
  readonly stdin: boolean;
  readonly stdout: boolean;
  readonly stderr: boolean;
  readonly tty: boolean;
}

/** The streams that a query asks for; nothing when it asks for none. With a terminal there is no stderr of its own. */
export function streamOptionsOf(query: URLSearchParams): StreamOptions | undefined {
  const is = (name: string): boolean => query.get(name) === '1';
  const tty = is('tty');
  const options = { stdin: is('input'), stdout: is('output'), stderr: is('error') && !tty, tty };
  return options.stdin || options.stdout || options.stderr ? options : undefined;
}

export const noStreamsText = 'you must specify at least 1 of stdin, stdout, stderr';

/** How a command ended, as the error stream tells it: a `Status` without kind. */
export interface StreamStatus {
  readonly metadata: Readonly<Record<string, never>>;
  readonly status: 'Success' | 'Failure';
  readonly message?: string;
  readonly reason?: string;
  readonly details?: { readonly causes: readonly { readonly reason?: string; readonly message: string }[] };
  readonly code?: number;
}

export const success: StreamStatus = { metadata: {}, status: 'Success' };

/** What a command's exit code is told as. */
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

/** Thrown by one who has the status of a command from elsewhere. */
export class StatusFailure extends Error {
  override readonly name: string = 'StatusFailure';
  readonly status: StreamStatus;

  constructor(status: StreamStatus) {
    super(status.message ?? status.status);
    this.status = status;
  }
}

/** The live streams that a client has opened, whatever carries them. */
export interface RemoteStreams {
  readonly io: TerminalIo;
  /** Aborts when the client has gone. */
  readonly signal: AbortSignal;
  /** Ends output, tells how it went, and closes the connection when all has been sent. */
  finish(status: StreamStatus): Promise<void>;
}

/** Runs a command or joins a container over a client's streams; resolves with the exit code. */
export type Command = (io: TerminalIo, signal: AbortSignal) => Promise<number>;

/** Runs `command` over `streams` and tells the client how it went. Follows `ServeExec` and `ServeAttach` (cri-streaming). */
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

/** A size message: `{"Width":80,"Height":24}`; anything else, and sizes that no terminal has, give nothing. */
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

/** Sizes as they come; a slow reader sees the newest only. */
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

/** Reads size messages, one JSON document after the other, until the stream ends. */
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
    // the client has gone; the sizes end with it
  } finally {
    queue.end();
  }
}

/** Ends a stream and waits until all of it was handed on. */
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
