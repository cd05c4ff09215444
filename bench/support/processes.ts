import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { createInterface, type Interface } from 'node:readline';

const root = join(import.meta.dirname, '../..');

/** Returns the path of a built module, as users import it. @throws before `npm run build` */
export function built(module: string): string {
  const path = join(root, 'dist', module);
  if (!existsSync(path)) throw new Error(`${path} does not exist: run "npm run build" first`);
  return path;
}

/** The CPU time of a process, including ended threads, ms with a resolution of 10 ms (Linux). */
export function wholeCpuMsOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // the process name before the numbers may contain any character
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

/** The CPU time of all current threads of a process, ms; ended threads are not included (Linux). */
export function cpuMsOf(pid: number): number {
  let ns = 0;
  for (const task of readdirSync(`/proc/${pid}/task`)) {
    try {
      ns += Number(readFileSync(`/proc/${pid}/task/${task}/schedstat`, 'utf8').split(' ')[0]);
    } catch {
      // the thread has just ended
    }
  }
  return ns / 1e6;
}

/** The resident memory of a process, MiB (Linux). */
export function rssMiBOf(pid: number): number {
  const [, kib = '0'] = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kib) / 1024;
}

/** Starts the command as users do: bin/podtender.mjs, from dist when it is built. */
export function podtender(args: readonly string[], nodeFlags: readonly string[] = []): ChildProcess {
  return spawn(process.execPath, [...nodeFlags, join(root, 'bin/podtender.mjs'), ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
}

/** Returns the arguments of `podtender up` on any free port, which prints JSON lines. */
export const upWords = (nodeName: string, dataDir: string): readonly string[] => [
  'up',
  '--port',
  '0',
  '--output',
  'json',
  '--node-name',
  nodeName,
  '--data-dir',
  dataDir,
];

/** Starts of {@link LineProcess}. */
export interface LineProcessOptions {
  /** Flags of Node.js before the script. */
  readonly nodeFlags?: readonly string[];
  /** Runs `file` itself instead of by Node.js. */
  readonly isProgram?: boolean;
  readonly env?: NodeJS.ProcessEnv;
}

/** LineProcess runs a script of this folder, or a program, in a separate process that answers each line with a line. */
export class LineProcess {
  readonly child: ChildProcess;
  readonly #lines: Interface;
  readonly #waiting: ((line: string) => void)[] = [];
  readonly #come: string[] = [];

  constructor(
    file: string,
    args: readonly string[],
    { nodeFlags = [], isProgram = false, env = process.env }: LineProcessOptions = {},
  ) {
    const path = resolve(import.meta.dirname, file);
    const [program, words] = isProgram ? [path, args] : [process.execPath, [...nodeFlags, path, ...args]];
    this.child = spawn(program, words, { stdio: ['pipe', 'pipe', 'inherit'], env });
    if (!this.child.stdout) throw new Error('the process has no output');
    this.#lines = createInterface({ input: this.child.stdout });
    this.#lines.on('line', (line) => {
      const next = this.#waiting.shift();
      if (next) next(line);
      else this.#come.push(line);
    });
  }

  async read<T>(): Promise<T> {
    const line =
      this.#come.shift() ??
      (await new Promise<string>((resolve) => {
        this.#waiting.push(resolve);
      }));
    return JSON.parse(line) as T;
  }

  ask<T>(): Promise<T> {
    this.child.stdin?.write('\n');
    return this.read<T>();
  }

  stop(): void {
    this.#lines.close();
    this.child.kill();
  }
}

/** Runs `work` for 0 … count - 1, `width` at a time. */
export async function inParallel(
  count: number,
  width: number,
  work: (index: number) => Promise<void>,
): Promise<void> {
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < count) await work(next++);
  };
  await Promise.all(Array.from({ length: Math.min(width, count) }, worker));
}

export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

export const round = (value: number, digits = 1): number => Number(value.toFixed(digits));
