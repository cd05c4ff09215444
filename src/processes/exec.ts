import type { ChildProcess } from 'node:child_process';
import {
  closeSync,
  constants as fileConstants,
  fchownSync,
  fstatSync,
  openSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { constants } from 'node:os';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { AgentError, messageOf } from '../base/errors.ts';
import type { Clock } from '../base/clock.ts';
import { spawnProgram } from '../base/spawn.ts';
import {
  launchFd,
  launchScript,
  launchScriptPath,
  type LaunchTools,
  type LaunchWords,
} from './launch-script.ts';
import { findProgram, launchFault, wordFault } from './program.ts';
import { quote } from './shell-word.ts';
import { sendSignal } from './sweep.ts';
import type { ProcessUser } from './user.ts';

/** A command to run in a container: with its environment, working directory and user. */
export interface ExecPlan extends LaunchWords {
  readonly user: ProcessUser;
  readonly prefix: readonly string[];
  readonly shell: string;
  readonly tools: LaunchTools;
  /** Scratch directory that only the agent writes to. */
  readonly scratch: string;
}

/** Output and exit code of a command. */
export interface ExecResult {
  readonly exitCode: number;
  readonly stdout: Buffer;
  readonly stderr: Buffer;
}

/** Maximum collected output per stream, bytes; the rest is discarded. */
const maxCollectedBytes = 16 * 1024 * 1024;

/**
 * Runs a command and collects its output.
 *
 * @param timeoutMs 0: no limit. On timeout, or when `signal` aborts, the command's process group is killed
 * @throws {AgentError} `deadline_exceeded`; `internal` with runc's message when the program cannot be started
 */
export async function execCollect(
  plan: ExecPlan,
  timeoutMs: number,
  clock: Clock,
  signal?: AbortSignal,
): Promise<ExecResult> {
  signal?.throwIfAborted();
  const child = startExec(plan, { stdin: false });
  const report = launchReport(child, plan);
  const stdout = collect(child.stdout);
  const stderr = collect(child.stderr);
  const limits = limitsOf(child, { timeoutMs, clock, signal });
  try {
    const exitCode = await Promise.race([exitOf(child, 'close'), limits.reached]);
    await report(() => stderr().toString());
    return { exitCode, stdout: stdout(), stderr: stderr() };
  } finally {
    limits.lift();
  }
}

interface Limits {
  /** 0: no limit. */
  readonly timeoutMs: number;
  readonly clock: Clock;
  readonly signal: AbortSignal | undefined;
}

/**
 * Ends a command on timeout or when its signal aborts: kills its group and closes its streams, which a process that left the
 * group may hold open. A command that exited by itself keeps its exit code.
 */
function limitsOf(
  child: ChildProcess,
  { timeoutMs, clock, signal }: Limits,
): { readonly reached: Promise<never>; lift(): void } {
  const { promise, reject } = Promise.withResolvers<never>();
  promise.catch(() => undefined);
  const late = (): Error =>
    new AgentError('deadline_exceeded', `command timed out: ${timeoutMs / 1000}s exceeded`);
  const stop =
    timeoutMs > 0
      ? clock.timer(timeoutMs, () => {
          if (endOf(child)) reject(late());
        })
      : undefined;
  const abort = (): void => {
    endOf(child);
    reject(signal?.reason as Error);
  };
  signal?.addEventListener('abort', abort, { once: true });
  return {
    reached: promise,
    lift: () => {
      stop?.();
      signal?.removeEventListener('abort', abort);
    },
  };
}

/** Kills the process group of a command. @returns true when it was running */
function endOf(child: ChildProcess): boolean {
  const killed = killGroup(child);
  for (const stream of [child.stdout, child.stderr]) stream?.destroy();
  return killed;
}

/** Streams of an interactive command; an absent one is not connected. */
export interface ExecStreams {
  readonly stdin?: Readable;
  readonly stdout?: Writable;
  readonly stderr?: Writable;
  readonly terminal?: ExecTerminal;
}

/** The programs that provide the terminal of a command. */
export interface ExecTerminal {
  /** Path of util-linux's `script`. */
  readonly script: string;
  /** Shell commands that set up the terminal, each followed by `; `. They contain no external input. */
  readonly setUp: string;
  /** Called with the pid of the process group leader that runs on the terminal. */
  readonly leader: (pid: number) => void;
}

/**
 * Runs a command with interactive streams and returns its exit code. When `signal` aborts, its process group is killed.
 *
 * @throws {AgentError} `internal` with runc's message when the program cannot be started
 */
export async function execStreams(
  plan: ExecPlan,
  streams: ExecStreams,
  signal: AbortSignal,
): Promise<number> {
  signal.throwIfAborted();
  const { terminal } = streams;
  const child = startExec(plan, { stdin: streams.stdin !== undefined, ...(terminal && { terminal }) });
  const report = launchReport(child, plan);
  const leader = terminal && reported(child, terminal.leader, signal);
  const abort = (): void => {
    endOf(child);
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
    await report(() => '');
    return exitCode;
  } finally {
    signal.removeEventListener('abort', abort);
    if (stdin) streams.stdin?.unpipe(stdin);
  }
}

interface ExecSettings {
  readonly stdin: boolean;
  readonly terminal?: ExecTerminal;
}

function startExec(plan: ExecPlan, settings: ExecSettings): ChildProcess {
  const { argv, env, workingDir, user, prefix } = plan;
  const [name = '', ...args] = argv;
  const odd = wordFault(plan);
  const found =
    odd === undefined ? findProgram(name, { path: env.get('PATH') ?? '', workingDir, user }) : { fault: odd };
  if (found.fault !== undefined) throw new AgentError('internal', execFault(found.fault));
  const input = settings.stdin ? 'pipe' : 'ignore';
  try {
    if (prefix.length > 0 || settings.terminal || found.path === undefined)
      return startScript(plan, settings, name.startsWith('-') ? found.path : undefined);
    return spawnProgram(found.path, args, {
      cwd: workingDir,
      env: Object.fromEntries(env),
      argv0: name,
      detached: true,
      stdio: [input, 'pipe', 'pipe'],
    });
  } catch (cause) {
    throw new AgentError('internal', execFault(messageOf(cause)), { cause });
  }
}

/** Returns the arguments that start a script: privileges are dropped before the shell reads external input; see {@link launchScript}. */
function startScript(
  plan: ExecPlan,
  { stdin, terminal }: ExecSettings,
  program: string | undefined,
): ChildProcess {
  const { prefix, shell, tools, user, root } = plan;
  const wrapper = terminal
    ? [
        terminal.script,
        '-qefc',
        // Writes the leader's pid first: it identifies the terminal and the processes that survive its end.
        `echo "$$" >&${launchFd.leader}; exec ${launchFd.leader}>&-; ${terminal.setUp}exec ${quote(shell)} ${launchScriptPath}`,
        '/dev/null',
      ]
    : [shell, launchScriptPath];
  const [file = '', ...args] = [...prefix, ...wrapper];
  const script = unlinkedFile(join(plan.scratch, 'exec.sh'), launchScript(plan, tools, program), user.uid);
  try {
    return spawnProgram(file, args, {
      cwd: root,
      env: terminal ? { SHELL: shell } : {},
      detached: true,
      stdio: [
        stdin ? 'pipe' : 'ignore',
        'pipe',
        'pipe',
        script,
        'pipe',
        ...(terminal ? ['pipe' as const] : []),
      ],
    });
  } finally {
    closeSync(script);
  }
}

/**
 * Reads a command launcher's report from its start on.
 *
 * @returns a function to call with the error output when the command has ended; it throws {AgentError} `internal` when the kernel refused
 * the program
 */
function launchReport(child: ChildProcess, plan: ExecPlan): (errorText: () => string) => Promise<void> {
  const from = (child.stdio as readonly unknown[])[launchFd.fault] as Readable | null | undefined;
  if (!from) return () => Promise.resolve();
  // The pipe closes when the program starts, as the program does not inherit it, or when the launcher exits.
  const ended = new Promise<string>((resolve) => {
    let text = '';
    from.on('data', (part: Buffer) => (text += part.toString()));
    for (const event of ['end', 'error', 'close'])
      from.once(event, () => {
        resolve(text);
      });
  });
  return async (errorText) => {
    const code = Number.parseInt(await ended, 10);
    if (!Number.isNaN(code))
      throw new AgentError('internal', execFault(launchFault(plan, code, errorText())));
  };
}

/** Opens a file that one user can read and unlinks it. The caller closes it. */
function unlinkedFile(path: string, text: string, uid: number): number {
  rmSync(path, { force: true });
  writeFileSync(path, text, { mode: 0o400, flag: 'wx' });
  try {
    const file = openSync(path, fileConstants.O_RDONLY | fileConstants.O_NOFOLLOW);
    if (fstatSync(file).uid !== uid) fchownSync(file, uid, -1);
    return file;
  } finally {
    rmSync(path, { force: true });
  }
}

/**
 * Reads the line that the first process on a terminal writes. A leader whose pid is read only after `signal` aborted is killed
 * then: it may ignore the hang-up of its terminal.
 */
function reported(
  child: ChildProcess,
  onLeader: (pid: number) => void,
  signal: AbortSignal,
): { pid?: number } {
  const leader: { pid?: number } = {};
  const from = (child.stdio as readonly unknown[])[launchFd.leader] as Readable | undefined;
  from?.on('error', () => undefined);
  from?.once('data', (line: Buffer) => {
    const pid = Number(line.toString());
    from.destroy();
    if (!(pid > 1)) return;
    leader.pid = pid;
    if (signal.aborted) sendSignal(-pid, 'SIGKILL');
    else onLeader(pid);
  });
  return leader;
}

function execFault(fault: string): string {
  return `failed to exec in container: OCI runtime exec failed: exec failed: unable to start container process: ${fault}`;
}

/** Resolves with the exit code of a process. @param event `close` also waits for the streams, which a grandchild may hold open */
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

/** Copies `from` to `to`; resolves when `from` has ended. The owner closes `to`. */
function forward(from: Readable | null, to: Writable | undefined): Promise<void> {
  return new Promise((resolve) => {
    if (!from) {
      resolve();
      return;
    }
    const over = (): void => {
      resolve();
    };
    // A destroyed stream emits no `end`.
    from.once('end', over).once('error', over).once('close', over);
    if (to) from.pipe(to, { end: false });
    else from.resume();
  });
}
