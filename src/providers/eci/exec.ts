import { type Readable, Writable } from 'node:stream';
import { WebSocket, type RawData } from 'ws';
import type { Clock } from '../../base/clock.ts';
import { AgentError, messageOf } from '../../base/errors.ts';
import type { TerminalIo } from '../../provider/powers.ts';
import type { EciCalls } from './calls.ts';

/** Where a command runs. */
export interface ExecTarget {
  readonly groupId: string;
  readonly container: string;
}

export interface ExecDeps {
  readonly calls: EciCalls;
  readonly clock: Clock;
  readonly region: string;
}

/** How long a stream may take to open, ms. */
const openTimeoutMs = 15_000;
/** Output that was not yet taken by the client is held back beyond this, bytes. */
const mostUnsent = 1024 * 1024;

/** The first byte of each message of a stream: Kubernetes' channels. */
const channel = { stdin: 0, stdout: 1, stderr: 2, status: 3, resize: 4, close: 255 } as const;

/** What a command that was run to its end gave. */
export interface ExecResult {
  readonly exitCode: number;
  readonly stdout: Buffer;
  readonly stderr: Buffer;
}

/** The mark behind which a synchronous command's exit code stands. */
const exitMark = '__exit_code__:';

/**
 * EciExec runs commands in containers of groups: short ones by a synchronous call, others over the WebSocket that the service opens for them,
 * with terminals and their sizes.
 */
export class EciExec {
  readonly #deps: ExecDeps;

  constructor(deps: ExecDeps) {
    this.#deps = deps;
  }

  /**
   * Runs a short command and collects what it prints. The service's synchronous call shows output but no exit code, so the command is run by
   * the container's shell, which prints it; in images without a shell it runs over a stream.
   */
  async runSync(target: ExecTarget, command: readonly string[], timeoutMs: number): Promise<ExecResult> {
    const { clock } = this.#deps;
    const end = new AbortController();
    const stop = clock.timer(timeoutMs, () => {
      end.abort(
        new AgentError(
          'deadline_exceeded',
          `command ${JSON.stringify(command.join(' '))} timed out after ${String(timeoutMs)} ms`,
        ),
      );
    });
    try {
      const shell = ['sh', '-c', `"$@"; printf '\\n${exitMark}%d' $?`, 'sh', ...command];
      const { SyncResponse = '' } = (await this.#call(target, shell, { Sync: true }, end.signal)) as {
        SyncResponse?: string;
      };
      const at = SyncResponse.lastIndexOf(`\n${exitMark}`);
      const code = at < 0 ? Number.NaN : Number(SyncResponse.slice(at + exitMark.length + 1));
      if (Number.isInteger(code))
        return { exitCode: code, stdout: Buffer.from(SyncResponse.slice(0, at)), stderr: Buffer.alloc(0) };
      return await this.#collect(target, command, end.signal);
    } finally {
      stop();
    }
  }

  /** Runs a command with live streams. @returns its exit code */
  async run(
    target: ExecTarget,
    command: readonly string[],
    io: TerminalIo,
    signal: AbortSignal,
  ): Promise<number> {
    const parameters = { Sync: false, Stdin: io.stdin !== undefined, TTY: io.tty };
    const { WebSocketUri } = (await this.#call(target, command, parameters, signal)) as {
      WebSocketUri?: string;
    };
    if (!WebSocketUri)
      throw new AgentError('unavailable', 'ExecContainerCommand: the answer has no WebSocketUri');
    const socket = await this.#open(WebSocketUri, signal);
    return new Session(socket, io, signal).run();
  }

  async #collect(target: ExecTarget, command: readonly string[], signal: AbortSignal): Promise<ExecResult> {
    const [stdout, stderr] = [new Collector(), new Collector()];
    const exitCode = await this.run(target, command, { tty: false, stdout, stderr }, signal);
    return { exitCode, stdout: stdout.bytes, stderr: stderr.bytes };
  }

  #call(
    { groupId, container }: ExecTarget,
    command: readonly string[],
    parameters: Readonly<Record<string, boolean>>,
    signal: AbortSignal,
  ): Promise<unknown> {
    const { calls, region } = this.#deps;
    const request = {
      RegionId: region,
      ContainerGroupId: groupId,
      ContainerName: container,
      Command: JSON.stringify(command),
    };
    return calls.call('ExecContainerCommand', { ...request, ...parameters }, signal);
  }

  async #open(uri: string, signal: AbortSignal): Promise<WebSocket> {
    const socket = new WebSocket(uri, ['v4.channel.k8s.io'], { maxPayload: 16 * 1024 * 1024 });
    const opened = Promise.withResolvers<WebSocket>();
    const fail = (reason: unknown): void => {
      opened.reject(
        new AgentError('unavailable', `the command's stream cannot be opened: ${messageOf(reason)}`),
      );
      socket.terminate();
    };
    const stop = this.#deps.clock.timer(openTimeoutMs, () => {
      fail(`no answer within ${String(openTimeoutMs)} ms`);
    });
    const abort = (): void => {
      fail(signal.reason);
    };
    signal.addEventListener('abort', abort, { once: true });
    if (signal.aborted) abort();
    socket.once('open', () => {
      opened.resolve(socket);
    });
    socket.on('error', fail);
    try {
      return await opened.promise;
    } finally {
      stop();
      signal.removeEventListener('abort', abort);
    }
  }
}

/** One command's stream, from its opening to its end. */
class Session {
  readonly #socket: WebSocket;
  readonly #io: TerminalIo;
  readonly #signal: AbortSignal;
  readonly #end = Promise.withResolvers<number>();
  #exitCode: number | undefined;

  constructor(socket: WebSocket, io: TerminalIo, signal: AbortSignal) {
    this.#socket = socket;
    this.#io = io;
    this.#signal = signal;
  }

  async run(): Promise<number> {
    const abort = (): void => {
      this.#end.reject(this.#signal.reason as Error);
    };
    this.#signal.addEventListener('abort', abort, { once: true });
    this.#socket.on('message', (data) => {
      this.#receive(bytesOf(data));
    });
    this.#socket.on('close', () => {
      if (this.#exitCode === undefined)
        this.#end.reject(new AgentError('unavailable', "the command's stream ended without its exit code"));
      else this.#end.resolve(this.#exitCode);
    });
    void this.#sendInput(this.#io.stdin);
    void this.#sendSizes();
    try {
      return await this.#end.promise;
    } finally {
      this.#signal.removeEventListener('abort', abort);
      this.#socket.terminate();
    }
  }

  #receive(message: Buffer): void {
    const payload = message.subarray(1);
    switch (message[0]) {
      case channel.stdout:
        this.#write(this.#io.stdout, payload);
        return;
      case channel.stderr:
        this.#write(this.#io.stderr ?? this.#io.stdout, payload);
        return;
      case channel.status:
        this.#exitCode = exitCodeOf(payload.toString());
        this.#socket.close();
        return;
      default:
    }
  }

  /** A slow client holds the service back, so that output does not gather here. */
  #write(stream: Writable | undefined, bytes: Buffer): void {
    if (!stream || stream.write(bytes) || stream.writableLength < mostUnsent) return;
    this.#socket.pause();
    stream.once('drain', () => {
      this.#socket.resume();
    });
  }

  async #sendInput(stdin: Readable | undefined): Promise<void> {
    if (!stdin) return;
    try {
      for await (const part of stdin) await this.#send(channel.stdin, Buffer.from(part as Uint8Array));
      await this.#send(channel.close, Buffer.from([channel.stdin]));
    } catch {
      // the client went away, or the command ended first
    }
  }

  async #sendSizes(): Promise<void> {
    if (!this.#io.resize) return;
    try {
      for await (const { width, height } of this.#io.resize)
        await this.#send(channel.resize, Buffer.from(JSON.stringify({ Width: width, Height: height })));
    } catch {
      // as above
    }
  }

  #send(number: number, bytes: Buffer): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#socket.send(Buffer.concat([Buffer.from([number]), bytes]), (fault) => {
        if (fault) reject(fault);
        else resolve();
      });
    });
  }
}

const bytesOf = (data: RawData): Buffer =>
  Array.isArray(data) ? Buffer.concat(data) : Buffer.isBuffer(data) ? data : Buffer.from(data);

/** The exit code in a Kubernetes Status; other failures are thrown by the caller as code 1 with their message on the error stream. */
function exitCodeOf(text: string): number {
  interface Status {
    readonly status?: string;
    readonly details?: {
      readonly causes?: readonly { readonly reason?: string; readonly message?: string }[];
    };
  }
  let status: Status;
  try {
    status = JSON.parse(text) as Status;
  } catch {
    return 1;
  }
  if (status.status === 'Success') return 0;
  const code = Number(
    status.details?.causes?.find(({ reason }) => reason === 'ExitCode')?.message ?? Number.NaN,
  );
  return Number.isInteger(code) ? code : 1;
}

/** The most output of a synchronous command that is kept, bytes. */
const mostCollected = 16 * 1024 * 1024;

/** Collector keeps what a command prints, up to a limit. */
class Collector extends Writable {
  readonly #parts: Buffer[] = [];
  #length = 0;

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    if (this.#length < mostCollected) this.#parts.push(chunk);
    this.#length += chunk.length;
    done();
  }

  get bytes(): Buffer {
    return Buffer.concat(this.#parts);
  }
}
