import type { ChildProcess, ChildProcessWithoutNullStreams } from 'node:child_process';
import type { Readable } from 'node:stream';
import { type Clock, systemClock } from './clock.ts';
import { AgentError, messageOf } from './errors.ts';
import { spawnProgram } from './spawn.ts';

/** A program that keeps running in the background. */
export interface RunningProgram {
  /** Resolves when the program has ended, with the reason: the end of its standard error, else its exit code or signal. */
  readonly ended: Promise<string>;
  /** Closes its standard input, which ends a program that reads until then. */
  closeInput(): void;
  /** Sends SIGTERM. */
  stop(): void;
}

/** Runs programs of this machine. */
export interface Programs {
  /** Runs a program to its end. @returns its standard output. @throws {AgentError} `unavailable` with its standard error */
  output(program: string, args: readonly string[]): Promise<string>;
  /** Starts a program and calls `onLine` for each line of its output. A program that cannot be started counts as ended. */
  start(program: string, args: readonly string[], onLine: (line: string) => void): RunningProgram;
}

/** The timeout of {@link Programs.output}, ms. */
const patienceMs = 10_000;

/** The length of the retained end of a program's standard error, characters. */
const maxErrorLength = 500;

/** The length of the retained output of one stream, characters. */
const maxOutputLength = 1024 * 1024;

/** The programs of this machine, found through `PATH`. */
export const hostPrograms: Programs = {
  output: async (program, args) => {
    const { exitCode, signal, stdout, stderr } = await runProgram(program, args, { timeoutMs: patienceMs });
    if (exitCode === 0) return stdout;
    throw new AgentError(
      'unavailable',
      `${program}: ${stderr.trim() || `it ended with ${signal ?? String(exitCode)}`}`,
    );
  },
  start: (program, args, onLine) => {
    try {
      return started(spawnProgram(program, args, { stdio: 'pipe' }), program, onLine);
    } catch (reason) {
      const nothing = (): void => undefined;
      return { ended: Promise.resolve(messageOf(reason)), closeInput: nothing, stop: nothing };
    }
  },
};

/** What came of a program. */
export interface ProgramEnd {
  /** Absent: it was ended by a signal. */
  readonly exitCode?: number;
  readonly signal?: NodeJS.Signals;
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * Runs a program to its end. At its deadline it is killed with all that it has started, and is waited for no more: one that hangs in the kernel, as
 * at a file server that does not answer, outlives even that. One that has itself ended counts by its exit code, whoever still holds its streams.
 *
 * @throws {AgentError} `unavailable` when it cannot be started
 */
export async function runProgram(
  program: string,
  args: readonly string[],
  { timeoutMs, clock = systemClock }: { readonly timeoutMs: number; readonly clock?: Pick<Clock, 'timer'> },
): Promise<ProgramEnd> {
  const child = spawnProgram(program, args, { stdio: 'pipe', detached: true });
  child.stdin.on('error', () => undefined).end(); // it ended first
  const [stdout, stderr] = [textOf(child.stdout), textOf(child.stderr)];
  const { promise, resolve, reject } = Promise.withResolvers<Omit<ProgramEnd, 'stdout' | 'stderr'>>();
  child.once('error', (reason) => {
    reject(new AgentError('unavailable', messageOf(reason), { cause: reason }));
  });
  child.once('close', () => {
    resolve(endOf(child));
  });
  const stop = clock.timer(timeoutMs, () => {
    resolve(endOf(child));
    killAll(child);
  });
  try {
    return { ...(await promise), stdout: stdout(), stderr: stderr() };
  } finally {
    stop();
  }
}

/** How a program has ended, or will. */
const endOf = ({ exitCode, signalCode }: ChildProcess): Pick<ProgramEnd, 'exitCode' | 'signal'> =>
  exitCode === null ? { signal: signalCode ?? 'SIGKILL' } : { exitCode };

/** Kills a program's group, and lets go of it. */
function killAll(child: ChildProcessWithoutNullStreams): void {
  try {
    if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
  } catch {
    // all of them have ended
  }
  child.stdout.destroy();
  child.stderr.destroy();
  child.unref();
}

function textOf(stream: Readable): () => string {
  let text = '';
  stream.setEncoding('utf8').on('data', (part: string) => {
    text = `${text}${part}`.slice(0, maxOutputLength);
  });
  return () => text;
}

function started(
  child: ChildProcessWithoutNullStreams,
  program: string,
  onLine: (line: string) => void,
): RunningProgram {
  let errorText = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errorText = `${errorText}${text}`.slice(-maxErrorLength);
  });
  child.stdin.on('error', () => undefined); // it ended first
  // loaded lazily: few nodes start a background program
  const { createInterface } = process.getBuiltinModule('node:readline');
  createInterface({ input: child.stdout }).on('line', onLine);
  const ended = new Promise<string>((resolve) => {
    child.once('error', (reason) => {
      resolve(messageOf(reason));
    });
    child.once('close', (code, signal) => {
      resolve(errorText.trim() || `${program} ended with ${String(signal ?? code)}`);
    });
  });
  return {
    ended,
    closeInput: () => {
      child.stdin.end();
    },
    stop: () => {
      child.kill();
    },
  };
}
