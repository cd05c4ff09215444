import type { SimulateOptions } from '../app/simulate-options.ts';
import type { RunningSimulation } from '../app/simulate.ts';
import type { StartContext } from '../app/running.ts';
import { type Clock, every } from '../base/clock.ts';
import { exitCodeOf, exitCodes, failureLines } from './exit-codes.ts';
import { RewrittenLines, simulationLines, type SimulationMoment } from './view/simulation-lines.ts';

/** What the command is run with. */
export interface SimulateDeps {
  readonly start: (
    options: SimulateOptions,
    context: Pick<StartContext, 'logTo'>,
  ) => Promise<RunningSimulation>;
  readonly stdout: { readonly isTTY?: boolean; readonly columns?: number; write(text: string): unknown };
  readonly clock: Clock;
  /** Calls back at each SIGINT, SIGTERM and SIGHUP; the returned function ends that. */
  readonly onSignal: (listener: () => void) => () => void;
}

/** The time between two lines of progress, ms. */
const progressMs = 1000;

/** How long the end takes at most, ms: an API server that does not answer is left. */
const closeMs = 10_000;

/**
 * Runs `podtender simulate` until its time is over, a signal or a failure, and returns the exit code. With JSON, the last line is the
 * summary.
 */
export async function simulate(options: SimulateOptions, deps: SimulateDeps): Promise<number> {
  const { stdout, clock } = deps;
  const over = Promise.withResolvers<'over'>();
  const off = deps.onSignal(() => {
    over.resolve('over');
  });
  const isJson = options.output === 'json';
  const say = (line: string): void => void stdout.write(`${line}\n`);
  const running = await deps.start(options, {});
  say(startedLine(running, isJson));
  const report =
    isJson || stdout.isTTY !== true
      ? () => {
          say(progressLine(running, isJson));
        }
      : liveReport(running, deps);
  const progress = every(clock, progressMs, report);
  const timer =
    options.forMs === undefined
      ? undefined
      : clock.timer(options.forMs, () => {
          over.resolve('over');
        });
  // keeps the process alive: the other timers do not
  const alive = new AbortController();
  const forever = clock.sleep(2 ** 30, alive.signal).catch(() => undefined);
  const end = await Promise.race([over.promise, running.failed]);
  progress();
  timer?.();
  const last = summaryLine(running, isJson);
  await Promise.race([running.close(), clock.sleep(closeMs, alive.signal).catch(() => undefined)]);
  alive.abort(new Error('ended'));
  await forever;
  off();
  if (end instanceof Error)
    for (const line of failureLines(end))
      say(isJson ? JSON.stringify({ type: 'error', message: line }) : line);
  say(last);
  return end instanceof Error ? exitCodeOf(end) : exitCodes.ok;
}

/** Returns the function that shows the bars of the simulation on a terminal, over those of the call before. */
function liveReport(running: RunningSimulation, { stdout, clock }: SimulateDeps): () => void {
  const startedAt = clock.now();
  const moment = (): SimulationMoment => ({
    ms: clock.now() - startedAt,
    counts: running.counts(),
    usage: running.usage(),
  });
  const screen = new RewrittenLines(stdout);
  let before = moment();
  return () => {
    const now = moment();
    screen.show(simulationLines(now, before, stdout.columns ?? 80));
    before = now;
  };
}

function startedLine(
  { kubeconfigPath: kubeconfig, serverUrl: server }: RunningSimulation,
  isJson: boolean,
): string {
  if (isJson)
    return JSON.stringify({ type: 'started', ...(kubeconfig !== undefined && { kubeconfig }), server });
  return kubeconfig === undefined
    ? `simulating nodes of ${server}`
    : `API server: ${server}\nexport KUBECONFIG=${kubeconfig}`;
}

function numbersOf(running: RunningSimulation): Readonly<Record<string, number>> {
  const { cpuSeconds, rssMiB } = running.usage();
  return {
    ...running.counts(),
    cpuSeconds: Math.round(cpuSeconds * 100) / 100,
    rssMiB: Math.round(rssMiB * 10) / 10,
  };
}

function progressLine(running: RunningSimulation, isJson: boolean): string {
  const numbers = numbersOf(running);
  return isJson ? JSON.stringify({ type: 'progress', ...numbers }) : textOf(numbers);
}

function summaryLine(running: RunningSimulation, isJson: boolean): string {
  const numbers = numbersOf(running);
  return isJson ? JSON.stringify({ type: 'summary', ...numbers }) : textOf(numbers);
}

const textOf = (numbers: Readonly<Record<string, number>>): string =>
  `${numbers['nodesReady']} of ${numbers['nodes']} nodes Ready, ${numbers['podsReady']} of ${numbers['pods']} pods Ready, ` +
  `${numbers['cpuSeconds']} s CPU, ${numbers['rssMiB']} MiB`;
