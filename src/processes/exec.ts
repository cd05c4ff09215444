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

/** A command to run beside a container's own: same environment, directory and user. */
export interface ExecPlan extends LaunchWords {
  readonly user: ProcessUser;
  readonly prefix: readonly string[];
  readonly shell: string;
  readonly tools: LaunchTools;
  /** A directory that the agent alone writes to. */
  readonly scratch: string;
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
 * @param timeoutMs 0: none. The command's whole group is killed then, as when `signal` aborts
 * @throws {AgentError} `deadline_exceeded`; `internal` with runc's words when the program cannot be started
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
  /** 0: none. */
  readonly timeoutMs: number;
  readonly clock: Clock;
  readonly signal: AbortSignal | undefined;
}

/**
 * Ends a command when its time is over or its signal aborts: its group is killed, and its streams are closed, which a process that left the
 * group may hold open. A command that has itself ended counts by its exit code.
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

/** @returns whether there was something to kill */
function endOf(child: ChildProcess): boolean {
  const killed = killGroup(child);
  for (const stream of [child.stdout, child.stderr]) stream?.destroy();
  return killed;
}

/** The streams of a live command; an absent one was not asked for. */
export interface ExecStreams {
  readonly stdin?: Readable;
  readonly stdout?: Writable;
  readonly stderr?: Writable;
  readonly terminal?: ExecTerminal;
}

/** What holds the terminal of a command. */
export interface ExecTerminal {
  /** util-linux's `script`. */
  readonly script: string;
  /** Commands of a shell that set the terminal up, each with `; ` after it. No word of them comes from outside. */
  readonly setUp: string;
  /** Called with the number of a process whose group ends with the command. */
  readonly leader: (pid: number) => void;
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
  const { terminal } = streams;
  const child = startExec(plan, { stdin: streams.stdin !== undefined, ...(terminal && { terminal }) });
  const report = launchReport(child, plan);
  const leader = terminal && reported(child, terminal.leader);
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

/** Privileges go first, then the shell reads what comes from outside: see {@link launchScript}. */
function startScript(
  plan: ExecPlan,
  { stdin, terminal }: ExecSettings,
  program: string | undefined,
): ChildProcess {
  const { prefix, shell, tools, user, root } = plan;
  const held = terminal
    ? [
        terminal.script,
        '-qefc',
        // the leader's number first: by it the terminal is found, and those who take no notice of its end
        `echo "$$" >&${launchFd.leader}; exec ${launchFd.leader}>&-; ${terminal.setUp}exec ${quote(shell)} ${launchScriptPath}`,
        '/dev/null',
      ]
    : [shell, launchScriptPath];
  const [file = '', ...args] = [...prefix, ...held];
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
 * Reads what the launcher of a command reports, from its start on.
 *
 * @returns to be called when the command has ended, with what was said of errors; throws {AgentError} `internal` when the kernel refused the program
 */
function launchReport(child: ChildProcess, plan: ExecPlan): (said: () => string) => Promise<void> {
  const from = (child.stdio as readonly unknown[])[launchFd.fault] as Readable | null | undefined;
  if (!from) return () => Promise.resolve();
  // its end comes with the start of the program, which does not inherit it, or with the launcher's end
  const ended = new Promise<string>((resolve) => {
    let text = '';
    from.on('data', (part: Buffer) => (text += part.toString()));
    for (const event of ['end', 'error', 'close'])
      from.once(event, () => {
        resolve(text);
      });
  });
  return async (said) => {
    const code = Number.parseInt(await ended, 10);
    if (!Number.isNaN(code)) throw new AgentError('internal', execFault(launchFault(plan, code, said())));
  };
}

/** A file that one user can read and that has no name any more. The caller closes it. */
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

/** Reads the one line that a terminal's first process writes. */
function reported(child: ChildProcess, tell: (pid: number) => void): { pid?: number } {
  const found: { pid?: number } = {};
  const from = (child.stdio as readonly unknown[])[launchFd.leader] as Readable | undefined;
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
    const over = (): void => {
      resolve();
    };
    // one that is destroyed has no end
    from.once('end', over).once('error', over).once('close', over);
    if (to) from.pipe(to, { end: false });
    else from.resume();
  });
}
