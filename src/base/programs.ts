import { type ChildProcessWithoutNullStreams, execFile } from 'node:child_process';
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

/** The programs of this machine, found through `PATH`. */
export const hostPrograms: Programs = {
  output: (program, args) =>
    new Promise((resolve, reject) => {
      execFile(program, args, { timeout: patienceMs, killSignal: 'SIGKILL' }, (fault, stdout, stderr) => {
        if (fault) reject(new AgentError('unavailable', `${program}: ${stderr.trim() || messageOf(fault)}`));
        else resolve(stdout);
      });
    }),
  start: (program, args, onLine) => {
    try {
      return started(spawnProgram(program, args, { stdio: 'pipe' }), program, onLine);
    } catch (reason) {
      const nothing = (): void => undefined;
      return { ended: Promise.resolve(messageOf(reason)), closeInput: nothing, stop: nothing };
    }
  },
};

function started(
  child: ChildProcessWithoutNullStreams,
  program: string,
  onLine: (line: string) => void,
): RunningProgram {
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said = `${said}${text}`.slice(-maxErrorLength);
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
      resolve(said.trim() || `${program} ended with ${String(signal ?? code)}`);
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
