import { fileURLToPath } from 'node:url';
import { AgentError } from '../../base/errors.ts';
import { families, type Family } from './families.ts';
import { podtenderStateMachines, type StateMachineSubject } from './machines.ts';
import {
  attempt,
  caseName,
  type Header,
  linesOf,
  type Mismatch,
  type RecordedCase,
  recordingsIn,
  type Replay,
} from './recording.ts';
import { replayOver } from './session.ts';

/** What is replayed, and from where. */
export interface ReplayOptions {
  /** Families by name. Default: all. */
  readonly families?: readonly string[];
  /** The folder of the recordings. Default: those that the package brings along. */
  readonly recordings?: string | URL;
  /** How many differences are kept for each family; all are counted. Default: 20. */
  readonly keep?: number;
  /** Ends a family at its first failure. Default: false. */
  readonly bail?: boolean;
  /** How many cases of each family are replayed. Default: all. */
  readonly limit?: number;
  /** Called with each family when it is done. */
  readonly onFamily?: (report: FamilyReport) => void;
}

/** One place where a subject parted from the recording. */
export interface ReplayDiff {
  readonly family: string;
  /** The history by its seed or name. */
  readonly history: string;
  /** The step, from 0; absent: a vector, or a failure outside of any step. */
  readonly step?: number;
  readonly operation?: unknown;
  /** Where in what can be observed, such as `.state.1.gracePeriod`. */
  readonly path: string;
  readonly expected: unknown;
  readonly actual: unknown;
  /** The rules of docs/pod-lifecycle.md that the family is about. */
  readonly rule: string;
}

/** How one family went. */
export interface FamilyReport {
  readonly family: string;
  readonly rule: string;
  readonly passed: number;
  readonly failed: number;
  readonly diffs: readonly ReplayDiff[];
  /** Why the family was not replayed: the machine that the subject lacks. */
  readonly notReplayed?: string;
}

/** How a replay went. */
export interface ReplayReport {
  readonly passed: number;
  readonly failed: number;
  readonly families: readonly FamilyReport[];
}

/** The recordings that the package brings along. */
export const shippedRecordings: string = fileURLToPath(
  new URL('../../../conformance/recordings/', import.meta.url),
);

/**
 * Replays recordings of the Go kubelet on a subject and reports where it parted from them. A failed step ends its history.
 *
 * @throws {AgentError} `invalid_argument` there is no such family, or no recording of it
 *
 * @example
 * const report = await replayStateMachines({ podWorkers: (deps) => new MyPodWorkers(deps) }, { families: ['pod_workers'] });
 */
export async function replayStateMachines(
  subject: StateMachineSubject,
  options: ReplayOptions = {},
): Promise<ReplayReport> {
  const from = options.recordings ?? shippedRecordings;
  const dir = from instanceof URL ? fileURLToPath(from) : from;
  const recordings = await recordingsIn(dir);
  const reports: FamilyReport[] = [];
  for (const name of options.families ?? Object.keys(families)) {
    const files = recordings.get(name);
    const family = families[name];
    if (!family)
      throw new AgentError(
        'invalid_argument',
        `there is no family ${name}; the families are ${Object.keys(families).join(', ')}`,
      );
    if (!files) throw new AgentError('invalid_argument', `${dir} has no recording of the family ${name}`);
    const report = await replayFamily({ name, family, files }, subject, options);
    options.onFamily?.(report);
    reports.push(report);
  }
  const sum = (count: (report: FamilyReport) => number): number =>
    reports.reduce((total, report) => total + count(report), 0);
  return { passed: sum(({ passed }) => passed), failed: sum(({ failed }) => failed), families: reports };
}

interface Recorded {
  readonly name: string;
  readonly family: Family;
  readonly files: readonly string[];
}

async function replayFamily(
  { name, family, files }: Recorded,
  subject: StateMachineSubject,
  { keep = 20, limit = Infinity, bail = false }: ReplayOptions,
): Promise<FamilyReport> {
  const replay = await replayOf(name, family, subject);
  const base = { family: name, rule: family.rule };
  if (typeof replay === 'string') return { ...base, passed: 0, failed: 0, diffs: [], notReplayed: replay };
  const machines = { ...podtenderStateMachines, ...subject };
  const diffs: ReplayDiff[] = [];
  let [passed, failed] = [0, 0];
  for await (const { line, header } of casesOf(files)) {
    if (passed + failed >= limit || (bail && failed > 0)) break;
    const mismatch = await attempt(() => replay(line, header, machines));
    if (!mismatch) passed++;
    else {
      failed++;
      diffs.push(...diffsOf(base, caseName(line), mismatch).slice(0, keep - diffs.length));
    }
  }
  return { ...base, passed, failed, diffs };
}

/** The cases of a family, each with the header of its file. */
async function* casesOf(
  files: readonly string[],
): AsyncGenerator<{ readonly line: RecordedCase; readonly header: Header }> {
  for (const file of files) {
    let header: Header | undefined;
    for await (const line of linesOf(file))
      if (header) yield { line, header };
      else header = line;
  }
}

/** How the family is replayed on the subject, or what the subject lacks for that. */
async function replayOf(
  name: string,
  { machine, load }: Family,
  subject: StateMachineSubject,
): Promise<Replay | string> {
  const { protocol } = subject;
  if (protocol?.families.includes(name)) return (line, header) => replayOver(protocol, name, header, line);
  const has = machine === undefined ? subject.functions === 'podtender' : subject[machine] !== undefined;
  if (has) return (await load()).replay;
  return machine === undefined
    ? `the subject's protocol does not name ${name}`
    : `the subject has no ${machine}, and its protocol does not name ${name}`;
}

const diffsOf = (
  base: Pick<ReplayDiff, 'family' | 'rule'>,
  history: string,
  { step, operation, differences }: Mismatch,
): readonly ReplayDiff[] =>
  differences.map(({ path, expected, actual }) => ({
    ...base,
    history,
    ...(step !== undefined && { step }),
    ...(operation !== undefined && { operation }),
    path,
    expected,
    actual,
  }));

const clip = (value: unknown): string => {
  const text = value === undefined ? '(absent)' : JSON.stringify(value);
  return text.length > 400 ? `${text.slice(0, 400)}…` : text;
};

/**
 * A difference as people read it, in several lines.
 *
 * @example
 * for (const diff of report.diffs) console.log(formatDiff(diff));
 */
export function formatDiff({
  family,
  history,
  step,
  operation,
  path,
  expected,
  actual,
  rule,
}: ReplayDiff): string {
  return [
    `${family} · ${history}${step === undefined ? '' : ` · step ${step}`} · ${rule}`,
    ...(operation === undefined ? [] : [`  operation ${clip(operation)}`]),
    `  at ${path || '(root)'}`,
    `    - expected ${clip(expected)}`,
    `    + actual   ${clip(actual)}`,
  ].join('\n');
}
