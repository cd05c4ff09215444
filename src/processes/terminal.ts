import { execFile } from 'node:child_process';
import { readlinkSync } from 'node:fs';
import type { Clock } from '../base/clock.ts';
import type { TerminalIo } from '../provider/powers.ts';
import { type ExecPlan, execStreams } from './exec.ts';
import { quote } from './shell-word.ts';
import type { TerminalTools } from './supervisor-script.ts';

type Sizes = NonNullable<TerminalIo['resize']>;

/** What a terminal needs of the machine and of the one who asks for it. */
export interface TerminalCall {
  readonly tools: TerminalTools;
  readonly io: TerminalIo;
  readonly clock: Clock;
}

/** Clients tell their size at once; one that has none does not hold up the command, ms. */
const firstSizeMs = 100;
/** How long `stty` may take, ms. */
const patienceMs = 10_000;

/**
 * Runs a command on a terminal of its own, in the size that the client has and will have. util-linux's `script` holds the terminal: its
 * descriptor is in no process that starts others.
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
  const known = await within(firstSizeMs, clock, first);
  const size = known?.done === false ? known.value : undefined;
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

/** Gives the terminal of a process each size that comes, until `signal` aborts. */
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
    // set from outside it is the same: the kernel tells those in the foreground by SIGWINCH
    await run(stty, ['-F', terminal, 'cols', String(width), 'rows', String(height)]);
  }
}

/** What an iterator gives from a step on that was asked for already. */
async function* fromStep<T>(first: Promise<IteratorResult<T>>, rest: AsyncIterator<T>): AsyncGenerator<T> {
  for (let step = await first; step.done !== true; step = await rest.next()) yield step.value;
}

/** Where the terminal is that a process reads from. */
function terminalOf(pid: number): string | undefined {
  try {
    const path = readlinkSync(`/proc/${pid}/fd/0`);
    return path.startsWith('/dev/pts/') ? path : undefined;
  } catch {
    return undefined;
  }
}

/** A terminal that has gone meanwhile needs no size: what fails is nothing. */
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
