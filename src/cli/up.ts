import type { Clock } from '../base/clock.ts';
import { exitCodeOf, exitCodes, failureLines } from './exit-codes.ts';
import { LineReporter, TableReporter, type Reporter } from './view/reporter.ts';
import type { RunOptions, Running, StartContext, UpOptions } from '../app/running.ts';
import type { JobControl, Terminal } from './view/terminal.ts';

/** The terminal that the command was started on. */
export interface Console extends Terminal {
  readonly isTTY?: boolean;
}

/** Dependencies of a command: the composition, and the process around it. */
export interface CommandDeps<Options> {
  /** Starts agent and provider, and for `up` the API server; implemented by `src/app`. */
  readonly start: (options: Options, context: StartContext) => Promise<Running>;
  readonly stdout: Console;
  /** Whether colours are enabled: `NO_COLOR` is not set. */
  readonly colour: boolean;
  readonly clock: Clock;
  /** Calls `listener` at each SIGINT, SIGTERM and SIGHUP; the returned function unsubscribes. */
  readonly onSignal: (listener: () => void) => () => void;
  /** Suspends and resumes the program as a shell job; absent: not supported. */
  readonly jobs?: JobControl;
  /** Whether stderr is the same terminal, so that log lines would break the table. */
  readonly sharesTerminal?: boolean;
  /** Loads a module by its URL. */
  readonly load?: StartContext['load'];
}

export type UpDeps = CommandDeps<UpOptions>;

/**
 * Runs `podtender up` until a signal or a failure, and returns the exit code. The first signal stops the pods within their grace periods
 * (or leaves them running, with `leaveRunning`); the second kills the remaining ones.
 */
export const up = (options: UpOptions, deps: UpDeps): Promise<number> =>
  conduct({ options, leaveRunning: options.leaveRunning, joins: false }, deps);

/** Runs `podtender run` until a signal or a failure, and returns the exit code. The pods keep running. */
export const run = (options: RunOptions, deps: CommandDeps<RunOptions>): Promise<number> =>
  conduct({ options, leaveRunning: true, joins: true }, deps);

interface Task<Options> {
  readonly options: Options;
  readonly leaveRunning: boolean;
  /** Whether the command joins an existing cluster. */
  readonly joins: boolean;
}

async function conduct<Options extends Pick<UpOptions, 'output'>>(
  task: Task<Options>,
  deps: CommandDeps<Options>,
): Promise<number> {
  const force = new AbortController();
  const giveUp = new AbortController();
  const signalled = Promise.withResolvers<'signal'>();
  let signals = 0;
  const off = deps.onSignal(() => {
    signals += 1;
    if (signals > 1) force.abort(new Error('forced'));
    signalled.resolve('signal');
    giveUp.abort(new Error('ended'));
  });
  const reporter = makeReporter(task.options, deps);
  try {
    const running = await started(task.options, deps, { reporter, signal: giveUp.signal });
    if (!running) return exitCodes.ok;
    const unwatch = watch(running, reporter, task.joins);
    const end = await Promise.race([signalled.promise, running.failed]);
    const ending = finish({ running, reporter, force: force.signal, task }, end);
    const code = await Promise.race([ending, overdue(force.signal, deps.clock, reporter)]);
    unwatch();
    return code;
  } finally {
    reporter.close();
    off();
  }
}

/** Returns what was started; undefined when a signal cancelled the start. */
async function started<Options>(
  options: Options,
  { start, load = (url) => import(url), sharesTerminal }: CommandDeps<Options>,
  { reporter, signal }: { readonly reporter: Reporter; readonly signal: AbortSignal },
): Promise<Running | undefined> {
  const log = sharesTerminal === true && reporter.log?.bind(reporter);
  try {
    return await start(options, {
      signal,
      load,
      progress: (message) => {
        reporter.notice({ type: 'progress', message });
      },
      ...(log && { logTo: { write: log } }),
    });
  } catch (reason) {
    if (signal.aborted) return undefined;
    throw reason;
  }
}

/** Returns the reporter: the live table on a terminal, plain lines elsewhere, unless the user chose one. */
export function makeReporter(
  { output }: Pick<UpOptions, 'output'>,
  { stdout, clock, colour, jobs }: Pick<UpDeps, 'stdout' | 'clock' | 'colour' | 'jobs'>,
): Reporter {
  const live = output === 'table' || (output === 'auto' && stdout.isTTY === true);
  if (live)
    return new TableReporter({
      terminal: stdout,
      clock,
      colour: colour && stdout.isTTY === true,
      ...(jobs && { jobs }),
    });
  return new LineReporter({ write: (text) => stdout.write(text), clock }, output === 'json');
}

function watch(running: Running, reporter: Reporter, joins: boolean): () => void {
  const { kubeconfigPath: kubeconfig } = running;
  reporter.notice({
    type: 'started',
    ...(kubeconfig !== undefined && { kubeconfig }),
    server: running.serverUrl,
    node: running.nodeName,
    ...(joins && { joined: true }),
  });
  const offPods = running.watchPods((change) => {
    reporter.pod(change);
  });
  const offEvents = running.watchEvents((event) => {
    reporter.event(event);
  });
  const offProblems = running.watchProblems((problem) => {
    reporter.notice({ type: 'problem', ...problem });
  });
  return () => {
    offProblems();
    offPods();
    offEvents();
  };
}

interface Ending {
  readonly running: Running;
  readonly reporter: Reporter;
  readonly force: AbortSignal;
  readonly task: Pick<Task<unknown>, 'leaveRunning'>;
}

/** How long the end takes at most after a second Ctrl-C, ms. */
const forcedMs = 10_000;

/** Resolves some time after `force` aborts, for the end that hangs: a provider's methods may never settle. */
function overdue(force: AbortSignal, clock: Clock, reporter: Reporter): Promise<number> {
  return new Promise((resolve) => {
    force.addEventListener('abort', () => {
      clock.timer(forcedMs, () => {
        reporter.close();
        const message = `not everything was stopped within ${forcedMs / 1000} s: the provider does not answer`;
        reporter.notice({ type: 'error', message });
        resolve(exitCodes.forced);
      });
    });
  });
}

async function finish({ running, reporter, force, task }: Ending, end: 'signal' | Error): Promise<number> {
  const { leaveRunning } = task;
  if (end instanceof Error) {
    // the containers stay: the next start of the agent finds them
    reporter.close();
    for (const message of failureLines(end)) reporter.notice({ type: 'error', message });
    // what ended the agent may come up again as it is closed
    await running.close().catch(() => undefined);
    return exitCodeOf(end);
  }
  if (!leaveRunning) {
    await running.stopPods((pods) => {
      reporter.progress(pods, force.aborted);
    }, force);
  }
  await running.close();
  reporter.close();
  reporter.notice({ type: 'stopped', leftRunning: leaveRunning });
  return force.aborted ? exitCodes.forced : exitCodes.ok;
}
