import type { ChildProcess, SpawnOptions } from 'node:child_process';
import { constants } from 'node:os';
import type { Readable, Writable } from 'node:stream';
import { AgentError, messageOf } from '../base/errors.ts';
import type { Clock } from '../base/clock.ts';
import { spawnProgram } from '../base/spawn.ts';
import { findProgram } from './program.ts';
import { sendSignal } from './sweep.ts';

/** A command to run beside a container's own: same environment, directory and user. */
export interface ExecPlan {
  readonly argv: readonly string[];
  readonly env: ReadonlyMap<string, string>;
  readonly workingDir: string;
  readonly prefix: readonly string[];
}

/** What the command printed and how it ended. */
export interface ExecResult {
  readonly exitCode: number;
  readonly stdout: Buffer;
  readonly stderr: Buffer;
}

/** More than this of one stream is cut off. */
const maxCollectedBytes = 16 * 1024 * 1024;

/**
 * Runs a command and collects what it prints.
 *
 * @param timeoutMs 0: none. The command's whole group is killed then
 * @throws {AgentError} `deadline_exceeded`; `internal` with runc's words when the program cannot be started
 */
export async function execCollect(plan: ExecPlan, timeoutMs: number, clock: Clock): Promise<ExecResult> {
  const child = startExec(plan, { stdin: false });
  const stdout = collect(child.stdout);
  const stderr = collect(child.stderr);
  const timeout = { late: false };
  const stop = timeoutMs > 0 ? clock.timer(timeoutMs, () => (timeout.late = killGroup(child))) : undefined;
  try {
    const exitCode = await exitOf(child, 'close');
    if (timeout.late)
      throw new AgentError('deadline_exceeded', `command timed out: ${timeoutMs / 1000}s exceeded`);
    return { exitCode, stdout: stdout(), stderr: stderr() };
  } finally {
    stop?.();
  }
}

/** The streams of a live command; an absent one was not asked for. */
export interface ExecStreams {
  readonly stdin?: Readable;
  readonly stdout?: Writable;
  readonly stderr?: Writable;
  /** Told the number that the command writes to descriptor 3: a process whose group ends with the command. */
  readonly leader?: (pid: number) => void;
}

/**
 * Runs a command with live streams and resolves with its exit code. When `signal` aborts, its group is killed.
 *
 * @throws {AgentError} `internal` with runc's words when the program cannot be started
 */
export async function execStreams(
  plan: ExecPlan,
  streams: ExecStreams,
  signal: AbortSignal,
): Promise<number> {
  signal.throwIfAborted();
  const child = startExec(plan, { stdin: streams.stdin !== undefined, report: streams.leader !== undefined });
  const leader = streams.leader && reported(child, streams.leader);
  const abort = (): void => {
    killGroup(child);
    if (leader?.pid !== undefined) sendSignal(-leader.pid, 'SIGKILL');
  };
  signal.addEventListener('abort', abort, { once: true });
  const { stdin } = child;
  if (stdin) {
    stdin.on('error', () => undefined);
    streams.stdin?.pipe(stdin);
  }
  const done = [forward(child.stdout, streams.stdout), forward(child.stderr, streams.stderr)];
  try {
    const exitCode = await exitOf(child, 'exit');
    await Promise.all(done);
    return exitCode;
  } finally {
    signal.removeEventListener('abort', abort);
    if (stdin) streams.stdin?.unpipe(stdin);
  }
}

function startExec(
  plan: ExecPlan,
  options: { readonly stdin: boolean; readonly report?: boolean },
): ChildProcess {
  const [name = ''] = plan.argv;
  const found = findProgram(name, plan.env.get('PATH') ?? '', plan.workingDir);
  if (found.fault !== undefined) throw new AgentError('internal', execFault(found.fault));
  const [file = '', ...args] = [...plan.prefix, ...plan.argv];
  const direct = plan.prefix.length === 0;
  const how: SpawnOptions = {
    cwd: plan.workingDir,
    env: Object.fromEntries(plan.env),
    detached: true,
    stdio: [
      options.stdin ? 'pipe' : 'ignore',
      'pipe',
      'pipe',
      ...(options.report === true ? ['pipe' as const] : []),
    ],
    ...(direct && { argv0: name }),
  };
  try {
    return spawnProgram(direct ? found.path : file, args, how);
  } catch (cause) {
    throw new AgentError('internal', execFault(messageOf(cause)), { cause });
  }
}

/** Reads the one line that a command writes to descriptor 3. */
function reported(child: ChildProcess, tell: (pid: number) => void): { pid?: number } {
  const found: { pid?: number } = {};
  const from = child.stdio[3] as Readable | undefined;
  from?.on('error', () => undefined);
  from?.once('data', (line: Buffer) => {
    const pid = Number(line.toString());
    from.destroy();
    if (!(pid > 1)) return;
    found.pid = pid;
    tell(pid);
  });
  return found;
}

function execFault(fault: string): string {
  return `failed to exec in container: OCI runtime exec failed: exec failed: unable to start container process: ${fault}`;
}

/** @param event `close` waits for the streams too, which a grandchild may hold open */
function exitOf(child: ChildProcess, event: 'exit' | 'close'): Promise<number> {
  return new Promise((resolve, reject) => {
    child.once('error', (cause) => {
      reject(new AgentError('internal', execFault(messageOf(cause)), { cause }));
    });
    child.once(event, (code: number | null, signal: NodeJS.Signals | null) => {
      resolve(code ?? 128 + signalOf(signal));
    });
  });
}

function signalOf(name: NodeJS.Signals | null): number {
  return name === null ? 0 : constants.signals[name];
}

function killGroup(child: ChildProcess): boolean {
  return child.pid !== undefined && sendSignal(-child.pid, 'SIGKILL');
}

function collect(stream: Readable | null): () => Buffer {
  const parts: Buffer[] = [];
  let bytes = 0;
  stream?.on('data', (part: Buffer) => {
    if (bytes < maxCollectedBytes) parts.push(part.subarray(0, maxCollectedBytes - bytes));
    bytes += part.length;
  });
  return () => Buffer.concat(parts);
}

/** Resolves when `from` has ended; `to` stays open for its owner to close. */
function forward(from: Readable | null, to: Writable | undefined): Promise<void> {
  return new Promise((resolve) => {
    if (!from) {
      resolve();
      return;
    }
    from.once('end', resolve).once('error', () => {
      resolve();
    });
    if (to) from.pipe(to, { end: false });
    else from.resume();
  });
}
