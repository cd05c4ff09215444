import { type ChildProcessWithoutNullStreams, execFile } from 'node:child_process';
import { AgentError, messageOf } from './errors.ts';
import { spawnProgram } from './spawn.ts';

/** A program that goes on. */
export interface RunningProgram {
  /** Resolves when it has ended, with why: the last that it said of errors, else its exit code or signal. */
  readonly ended: Promise<string>;
  /** Closes its input: one that reads until then ends. */
  closeInput(): void;
  /** Asks it to end (SIGTERM). */
  stop(): void;
}

/** Runs the machine's own programs. */
export interface Programs {
  /** Runs one to its end. @returns what it printed. @throws {AgentError} `unavailable` with what it said of errors */
  output(program: string, args: readonly string[]): Promise<string>;
  /** Starts one; each line that it prints is told. One that cannot be started has ended. */
  start(program: string, args: readonly string[], onLine: (line: string) => void): RunningProgram;
}

/** How long a program that answers at once may take, ms. */
const patienceMs = 10_000;

/** Enough of the end of what a program says of errors. */
const keptErrorLength = 500;

/** The programs of this machine, found by `PATH`. */
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
    said = `${said}${text}`.slice(-keptErrorLength);
  });
  child.stdin.on('error', () => undefined); // it ended first
  // few nodes start a program that goes on, and all would have the module in memory
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
