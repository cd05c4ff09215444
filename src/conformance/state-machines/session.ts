import { tableOf } from '../../base/own.ts';
import type { Difference } from './compare.ts';
import { apiOptionalKeys, differences } from './compare.ts';
import type { FamilyProtocol } from './protocol.ts';
import type { Header, Mismatch, RecordedCase, Step } from './recording.ts';

type Members = Readonly<Record<string, unknown>>;

type Changes = Readonly<Record<string, (history: RecordedCase) => Members>>;

/** Members of `expect` that a recording holds as changes by key, with what they begin as. */
const changing: Readonly<Partial<Record<string, Changes>>> = tableOf({
  pod_workers: {
    state: () => ({}),
    query: ({ uids }) => table(uids as readonly string[], '0100000'),
    mirrorTerminating: ({ fullnames }) => table(fullnames as readonly string[], false),
  },
  pleg: { cache: () => ({}) },
  status_manager: { cache: () => ({}), resize: () => ({}) },
});

/** Members of `expect` that are absent while they are as they were. */
const lasting: Readonly<Partial<Record<string, readonly string[]>>> = tableOf({
  status_manager: ['apiVersions'],
});

const table = (keys: readonly string[], value: unknown): Members =>
  Object.fromEntries(keys.map((key) => [key, value]));

/** Replays one line of a recording over the protocol. */
export async function replayOver(
  protocol: FamilyProtocol,
  family: string,
  header: Header,
  line: RecordedCase,
): Promise<Mismatch | undefined> {
  if (header['kind'] === 'vectors') return replayVector(protocol, family, header, line);
  const { steps, stillWaiting, ...history } = line as RecordedCase & {
    readonly steps: readonly RecordedStep[];
  };
  await protocol.begin({ family, header, history });
  let expected = Object.fromEntries(
    Object.entries(changing[family] ?? {}).map(([name, first]) => [name, first(history)]),
  ) as Members;
  for (const [step, { expect, ...rest }] of steps.entries()) {
    const { apiAfter, ...observable } = expect as Members & { readonly apiAfter?: unknown };
    const actual = await protocol.step({ ...rest, ...(apiAfter !== undefined && { apiAfter }) });
    expected = carried(family, expected, observable);
    const found = judged(family, expected, actual);
    if (found.length > 0) {
      await protocol.end();
      return { step, operation: rest.op, differences: found };
    }
  }
  const left = await protocol.end();
  if (stillWaiting === undefined) return undefined;
  const found = differences({ stillWaiting }, left);
  return found.length === 0 ? undefined : { operation: 'the end of the history', differences: found };
}

interface RecordedStep extends Step {
  readonly expect: unknown;
}

async function replayVector(
  protocol: FamilyProtocol,
  family: string,
  header: Header,
  line: RecordedCase,
): Promise<Mismatch | undefined> {
  const fn = line['fn'] as string | undefined;
  const out = await protocol.call({ family, header, ...(fn !== undefined && { fn }), in: line['in'] });
  const found = judged(family, line['out'], out);
  return found.length === 0 ? undefined : { operation: line['in'], differences: found };
}

/** What is expected after a step: changes are applied to what was expected before. */
function carried(family: string, before: Members, expect: Members): Members {
  const next: Record<string, unknown> = { ...expect };
  for (const name of Object.keys(changing[family] ?? {})) {
    const entries = { ...(before[name] as Members), ...(expect[name] as Members | undefined) };
    next[name] = Object.fromEntries(Object.entries(entries).filter(([, entry]) => entry !== null));
  }
  for (const name of lasting[family] ?? []) next[name] = expect[name] ?? before[name];
  return next;
}

const optionalKeys = (family: string): { readonly optionalKeys?: ReadonlySet<string> } =>
  /^(?:pod_workers|config_mux|status_|static_pod|prober_timeline)/.test(family)
    ? { optionalKeys: apiOptionalKeys }
    : {};

function judged(family: string, expected: unknown, actual: unknown): readonly Difference[] {
  const found = differences(expected, actual, optionalKeys(family));
  return found.filter((difference) => !isTolerated(family, difference, actual));
}

/** Places where another implementation may answer something else than the recording says (FORMAT). */
function isTolerated(family: string, difference: Difference, actual: unknown): boolean {
  const { path, expected, actual: got } = difference;
  if (typeof expected === 'string' && expected.startsWith('<unstable')) return typeof got === 'string';
  return (isHash(expected) && isHash(got)) || isFreeInFamily(family, path, { difference, actual });
}

function isFreeInFamily(
  family: string,
  path: string,
  { difference, actual }: { readonly difference: Difference; readonly actual: unknown },
): boolean {
  const { expected, actual: got } = difference;
  switch (family) {
    case 'pod_workers': {
      const [, event] = /^\.events\[(\d+)\]\.(?:class|minMs|maxMs|delayMs)$/.exec(path) ?? [];
      return event !== undefined && isDelayTolerated(difference, actual, Number(event));
    }
    case 'pod_manager':
      return path.startsWith('.podToMirror') && Array.isArray(expected) && expected.includes(got);
    case 'status_manager':
      return path.startsWith('.cache') && path.endsWith('.lastTransitionTime');
    default:
      return false;
  }
}

const isHash = (value: unknown): boolean => typeof value === 'string' && /^[0-9a-f]{32}$/.test(value);

/** The class of an `enqueue` is a hint; a delay may lie anywhere within the recorded bounds. */
function isDelayTolerated({ path, expected }: Difference, actual: unknown, event: number): boolean {
  if (path.endsWith('.class')) return true;
  const events = (actual as { readonly events?: readonly { readonly delayMs?: number }[] }).events ?? [];
  const delayMs = events[event]?.delayMs;
  if (delayMs === undefined) return false;
  if (path.endsWith('.delayMs')) return true;
  return path.endsWith('.minMs') ? delayMs >= (expected as number) : delayMs <= (expected as number);
}
