import type { Clock } from '../base/clock.ts';
import { messageOf } from '../base/errors.ts';
import { exitCodes } from './exit-codes.ts';
import { LineReporter, TableReporter, type Reporter } from './view/reporter.ts';
import type { Running, UpOptions } from '../app/running.ts';
import type { Terminal } from './view/terminal.ts';

/** The terminal that the command was started on. */
export interface Console extends Terminal {
  readonly isTTY?: boolean;
}

/** What `up` is run with: the composition, and the process around it. */
export interface UpDeps {
  /** Starts server, agent and provider; `src/app/compose.ts`. */
  readonly start: (options: UpOptions) => Promise<Running>;
  readonly stdout: Console;
  /** `NO_COLOR` is not set. */
  readonly colour: boolean;
  readonly clock: Clock;
  /** Calls back at each SIGINT, SIGTERM and SIGHUP; the returned function ends that. */
  readonly onSignal: (listener: () => void) => () => void;
}

/**
 * Runs until a signal or a failure, and returns the exit code. The first signal stops the pods within their grace periods (or
 * leaves them, with `leaveRunning`), the second kills what is left.
 */
export async function up(options: UpOptions, deps: UpDeps): Promise<number> {
  const force = new AbortController();
  const asked = Promise.withResolvers<'signal'>();
  let signals = 0;
  const off = deps.onSignal(() => {
    signals += 1;
    if (signals === 1) asked.resolve('signal');
    else force.abort(new Error('forced'));
  });
  try {
    const running = await deps.start(options);
    const reporter = makeReporter(options, deps);
    const unwatch = watch(running, reporter);
    const end = await Promise.race([asked.promise, running.failed]);
    const code = await finish({ running, reporter, force: force.signal, options }, end);
    unwatch();
    return code;
  } finally {
    off();
  }
}

/** Picks how to tell: the live table on a terminal, plain lines elsewhere, unless the user said. */
export function makeReporter(
  { output }: Pick<UpOptions, 'output'>,
  { stdout, clock, colour }: Pick<UpDeps, 'stdout' | 'clock' | 'colour'>,
): Reporter {
  const live = output === 'table' || (output === 'auto' && stdout.isTTY === true);
  if (live) return new TableReporter(stdout, clock, colour && stdout.isTTY === true);
  return new LineReporter({ write: (text) => stdout.write(text), clock }, output === 'json');
}

function watch(running: Running, reporter: Reporter): () => void {
  reporter.notice({
    type: 'started',
    kubeconfig: running.kubeconfigPath,
    server: running.serverUrl,
    node: running.nodeName,
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
  readonly options: UpOptions;
}

async function finish({ running, reporter, force, options }: Ending, end: 'signal' | Error): Promise<number> {
  if (end instanceof Error) {
    // the containers stay: whoever starts the agent again finds them
    reporter.close();
    reporter.notice({ type: 'error', message: messageOf(end) });
    await running.close();
    return exitCodes.failed;
  }
  if (!options.leaveRunning) {
    await running.stopPods((pods) => {
      reporter.progress(pods, force.aborted);
    }, force);
  }
  await running.close();
  reporter.close();
  reporter.notice({ type: 'stopped', leftRunning: options.leaveRunning });
  return force.aborted ? exitCodes.forced : exitCodes.ok;
}
