import { execFile } from 'node:child_process';
import { readlinkSync } from 'node:fs';
import type { Clock } from '../base/clock.ts';
import type { TerminalIo } from '../provider/powers.ts';
import { type ExecPlan, execStreams } from './exec.ts';
import { quote } from './shell-word.ts';
import type { TerminalTools } from './supervisor-script.ts';

type Sizes = NonNullable<TerminalIo['resize']>;

/** Dependencies of a terminal and the client that uses it. */
export interface TerminalCall {
  readonly tools: TerminalTools;
  readonly io: TerminalIo;
  readonly clock: Clock;
}

/** Time to wait for the client's initial size, ms; clients send it at once, and one without a size must not delay the command. */
const firstSizeMs = 100;
/** Time limit of `stty`, ms. */
const patienceMs = 10_000;

/**
 * Runs a command on its own terminal with the client's current and later sizes. util-linux's `script` holds the terminal, whose
 * descriptor is not inherited by other processes.
 *
 * @returns the exit code
 */
export async function execTerminal(
  plan: ExecPlan,
  { tools, io, clock }: TerminalCall,
  signal: AbortSignal,
): Promise<number> {
  const sizes = io.resize?.[Symbol.asyncIterator]();
  const first = sizes?.next();
  const initial = await within(firstSizeMs, clock, first);
  const size = initial?.done === false ? initial.value : undefined;
  const setUp = size ? `${quote(tools.stty)} cols ${size.width} rows ${size.height}; ` : '';
  const env = new Map(plan.env);
  if (!env.has('TERM')) env.set('TERM', 'xterm');
  const { stdin, stdout } = io;
  const over = new AbortController();
  const leader = (pid: number): void => {
    if (sizes && first) void resizeTerminal(tools, pid, fromStep(first, sizes), over.signal);
  };
  try {
    return await execStreams(
      { ...plan, env },
      {
        ...(stdin && { stdin }),
        ...(stdout && { stdout }),
        terminal: { script: tools.script, setUp, leader },
      },
      signal,
    );
  } finally {
    over.abort();
  }
}

/** Sets the terminal of a process to each size from the iterator, until `signal` aborts. */
export async function resizeTerminal(
  { stty }: TerminalTools,
  pid: number,
  sizes: Sizes,
  signal: AbortSignal,
): Promise<void> {
  const terminal = terminalOf(pid);
  if (terminal === undefined) return;
  for await (const { width, height } of sizes) {
    if (signal.aborted) return;
    // Setting the size from outside works as well: the kernel sends SIGWINCH to the foreground group.
    await run(stty, ['-F', terminal, 'cols', String(width), 'rows', String(height)]);
  }
}

/** Continues an iterator from a step that was already requested. */
async function* fromStep<T>(first: Promise<IteratorResult<T>>, rest: AsyncIterator<T>): AsyncGenerator<T> {
  for (let step = await first; step.done !== true; step = await rest.next()) yield step.value;
}

/** Returns the path of the terminal on a process's stdin. */
function terminalOf(pid: number): string | undefined {
  try {
    const path = readlinkSync(`/proc/${pid}/fd/0`);
    return path.startsWith('/dev/pts/') ? path : undefined;
  } catch {
    return undefined;
  }
}

/** Runs a program and ignores its failure: the terminal may be gone meanwhile. */
const run = (file: string, args: readonly string[]): Promise<void> =>
  new Promise((resolve) => {
    execFile(file, args, { timeout: patienceMs, killSignal: 'SIGKILL' }, () => {
      resolve();
    });
  });

async function within<T>(ms: number, clock: Clock, value: Promise<T> | undefined): Promise<T | undefined> {
  if (!value) return undefined;
  const patience = new AbortController();
  const late = clock.sleep(ms, patience.signal).then(
    () => undefined,
    () => undefined,
  );
  try {
    return await Promise.race([value, late]);
  } finally {
    patience.abort();
  }
}
