import { writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import type { Clock } from '../base/clock.ts';
import { AgentError, messageOf } from '../base/errors.ts';
import { clauseLines, junit, missingLines, type ReportScreen, summaryLine } from '../conformance/report.ts';
import { type ClauseResult, runProviderClauses } from '../conformance/runner.ts';
import type { MakeWorld } from '../conformance/world.ts';
import { exitCodes } from './exit-codes.ts';

/** Command line options of `podtender conformance`. */
export interface ConformanceOptions {
  readonly provider: string;
  /** Only laws whose name, area or rule contains this text. */
  readonly focus?: string;
  /** The file of the JUnit report. */
  readonly junit?: string;
  readonly output: 'text' | 'json';
  readonly realTime: boolean;
  /** The runtime that the provider `cri` checks, and the image of its containers; for `oci` the image is the path of an archive. */
  readonly runtime: { readonly endpoint?: string; readonly image?: string };
}

/** What the command is run with. */
export interface ConformanceDeps {
  /** Prints a line. */
  readonly say: (line: string) => unknown;
  readonly clock: Pick<Clock, 'now'>;
  /** Default: lines are neither wrapped nor coloured. */
  readonly screen?: ReportScreen;
}

/**
 * conformance runs the laws for providers and prints each as it is done; the last line reads `N passed, N failed`.
 *
 * @returns 0 when all that apply are kept, else 1
 * @throws {AgentError} `invalid_argument` no law matches the focus, or the report cannot be written
 */
export async function conformance(
  options: Omit<ConformanceOptions, 'runtime'>,
  make: MakeWorld,
  { say, clock, screen = {} }: ConformanceDeps,
): Promise<number> {
  const { provider, focus, output, realTime } = options;
  const isJson = output === 'json';
  if (realTime && !isJson) say('the suite waits for real time: it may take minutes');
  let area = '';
  const onResult = (result: ClauseResult): void => {
    if (isJson) {
      say(JSON.stringify({ type: 'law', ...result }));
      return;
    }
    if (result.area !== area) say(result.area);
    area = result.area;
    for (const line of clauseLines(result, screen)) say(line);
  };
  const startedAt = new Date(clock.now()).toISOString().slice(0, 19);
  const results = await runProviderClauses(make, { ...(focus !== undefined && { focus }), onResult });
  if (results.length === 0)
    throw new AgentError(
      'invalid_argument',
      `--focus ${focus ?? ''}: no law has this in its name, area or rule`,
    );
  if (options.junit !== undefined)
    write(options.junit, junit(results, { provider, startedAt, hostname: hostname() }));
  if (!isJson) for (const line of missingLines(results, screen)) say(line);
  say(summaryLine(results));
  return results.some(({ outcome }) => outcome === 'failed') ? exitCodes.failed : exitCodes.ok;
}

function write(file: string, text: string): void {
  try {
    writeFileSync(file, text);
  } catch (cause) {
    throw new AgentError('invalid_argument', `--junit ${file}: ${messageOf(cause)}`, { cause });
  }
}
