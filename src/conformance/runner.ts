import { messageOf } from '../base/errors.ts';
import { agentRestart } from './clauses/agent-restart.ts';
import { connections } from './clauses/connections.ts';
import { faults } from './clauses/faults.ts';
import { hooks } from './clauses/hooks.ts';
import { init } from './clauses/init.ts';
import { lifecycle } from './clauses/lifecycle.ts';
import { networkProbes } from './clauses/network-probes.ts';
import { node } from './clauses/node.ts';
import { podStatus } from './clauses/pod-status.ts';
import { probes } from './clauses/probes.ts';
import { restarts } from './clauses/restarts.ts';
import { status } from './clauses/status.ts';
import { streams } from './clauses/streams.ts';
import { termination } from './clauses/termination.ts';
import type { PodProvider } from '../provider/provider.ts';
import { volumes } from './clauses/volumes.ts';
import { type Clause, InapplicableClause, Trial } from './subject.ts';
import type { MakeWorld, ProviderWorld } from './world.ts';

const clauses: readonly Clause[] = [
  ...lifecycle,
  ...termination,
  ...restarts,
  ...status,
  ...init,
  ...probes,
  ...networkProbes,
  ...hooks,
  ...volumes,
  ...streams,
  ...connections,
  ...node,
  ...agentRestart,
  ...faults,
  ...podStatus,
];

/** The clauses for providers, by area. */
export const providerClauses: readonly Clause[] = [
  ...Map.groupBy(clauses, ({ area }) => area).values(),
].flat();

/** How one clause went. */
export interface ClauseResult extends Pick<Clause, 'name' | 'area' | 'rule' | 'law'> {
  readonly outcome: 'passed' | 'failed' | 'not applicable';
  /** What was seen, of one that failed; what the provider lacks, of one that does not apply. */
  readonly detail?: string;
  /** How long it took, ms of real time. */
  readonly ms: number;
}

/** Which clauses are run. */
export interface ClauseOptions {
  /** Only clauses whose name, area or rule contains this text. */
  readonly focus?: string;
  readonly onResult?: (result: ClauseResult) => void;
}

const selected = ({ name, area, rule }: Clause, focus: string): boolean =>
  [name, area, rule].some((text) => text.toLowerCase().includes(focus.toLowerCase()));

/**
 * Runs one clause in a world of its own.
 *
 * @example
 * const result = await runClause(clause, () => world(new Rooms()));
 */
export async function runClause(clause: Clause, make: MakeWorld): Promise<ClauseResult> {
  const { name, area, rule, law } = clause;
  const startedAt = performance.now();
  const verdict = await verdictOn(clause, make);
  return { ...{ name, area, rule, law }, ...verdict, ms: Math.round(performance.now() - startedAt) };
}

async function verdictOn(clause: Clause, make: MakeWorld): Promise<Pick<ClauseResult, 'outcome' | 'detail'>> {
  const result = await make();
  const world: ProviderWorld = 'provider' in result ? result : { provider: result };
  const trial = new Trial(world);
  try {
    const lacks = clause.needs?.(world);
    if (lacks !== undefined) return { outcome: 'not applicable', detail: lacks };
    await clause.check(trial);
    await trial.end();
    return { outcome: 'passed' };
  } catch (reason) {
    const outcome = reason instanceof InapplicableClause ? 'not applicable' : 'failed';
    return { outcome, detail: messageOf(reason) };
  } finally {
    await trial.stop().catch(() => undefined);
    await world.close?.(trial.uids);
  }
}

/**
 * Runs the clauses on a provider, one after another, each in a fresh world.
 *
 * @example
 * const results = await runProviderClauses(makeWorld, { focus: 'termination', onResult: ({ name, outcome }) => console.log(name, outcome) });
 */
export async function runProviderClauses(
  make: MakeWorld,
  { focus = '', onResult }: ClauseOptions = {},
): Promise<readonly ClauseResult[]> {
  const results: ClauseResult[] = [];
  for (const clause of providerClauses.filter((one) => selected(one, focus))) {
    const result = await runClause(clause, make);
    onResult?.(result);
    results.push(result);
  }
  return results;
}

/** The functions of a test runner; those of node:test, vitest and mocha fit. */
export interface TestRunner {
  readonly describe: (name: string, body: () => void) => unknown;
  readonly it: (name: string, body: () => Promise<void>) => unknown;
}

/**
 * Registers the clauses with a test runner: an area is a `describe`, a clause an `it`. A clause that does not apply passes. A provider that is
 * passed itself is shared by all clauses and keeps real time, for which the suite waits.
 *
 * @example
 * conformance(() => ({ provider: new MyProvider() }), { describe, it });
 */
export function conformance(subject: MakeWorld | PodProvider, { describe, it }: TestRunner): void {
  const make = typeof subject === 'function' ? subject : () => subject;
  for (const area of new Set(providerClauses.map((clause) => clause.area)))
    describe(area, () => {
      for (const clause of providerClauses.filter((one) => one.area === area))
        it(`${clause.name}: ${clause.law} (${clause.rule})`, async () => {
          const { outcome, detail = '' } = await runClause(clause, make);
          if (outcome === 'failed') throw new Error(`${clause.name} (${clause.rule}): ${detail}`);
        });
    });
}
