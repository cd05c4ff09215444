import { plainText, type PodLife, sameState, type State } from './states.ts';

/** What a scenario's play or recording shows. */
export interface Shown {
  readonly lives: readonly PodLife[];
  /** `type reason fieldPath message`, each once. */
  readonly events: ReadonlySet<string>;
  /** `verb resource/subresource`, each once. */
  readonly requests: ReadonlySet<string>;
}

/** `type reason fieldPath message` of an Event, with what differs between any two runs made equal. */
export const eventText = (event: {
  readonly type?: string;
  readonly reason?: string;
  readonly message?: string;
  readonly fieldPath?: string;
}): string =>
  `${event.type ?? ''} ${event.reason ?? ''} [${event.fieldPath ?? ''}] ${plainText(event.message ?? '')}`;

/**
 * Every line in which a play differs from a recording; empty: it passed. What the other recordings of the scenario do not agree on
 * depends on timing and is no difference: a state, Event or request that one of them has may be there, one that one of them lacks may lack.
 */
export function differencesOf(expected: Shown, actual: Shown, others: readonly Shown[]): readonly string[] {
  return [
    ...livesDiffer(expected, actual, others),
    ...setsDiffer(
      'event',
      expected.events,
      actual.events,
      others.map(({ events }) => events),
    ),
    ...setsDiffer(
      'request',
      expected.requests,
      actual.requests,
      others.map(({ requests }) => requests),
    ),
  ];
}

type Texts = ReadonlySet<string>;

function setsDiffer(what: string, expected: Texts, actual: Texts, others: readonly Texts[]): string[] {
  const missing = [...expected].filter(
    (each) => !actual.has(each) && others.every((other) => other.has(each)),
  );
  const extra = [...actual].filter((each) => !expected.has(each) && !others.some((other) => other.has(each)));
  return [
    ...missing.map((each) => `${what} missing: ${each}`),
    ...extra.map((each) => `${what} too many: ${each}`),
  ];
}

const statesOf = ({ lives }: Shown, name: string): readonly State[] =>
  lives.find((life) => life.name === name)?.states ?? [];

function livesDiffer(expected: Shown, actual: Shown, others: readonly Shown[]): string[] {
  const names = new Set([...expected.lives, ...actual.lives].map(({ name }) => name));
  return [...names].flatMap((name) => {
    const takes = others.map((other) => statesOf(other, name));
    return statesDiffer(statesOf(expected, name), statesOf(actual, name), takes).map(
      (line) => `pod ${name}: ${line}`,
    );
  });
}

/**
 * Two sequences of states are the same when they have the same states in the same order, but for those that only show how changes were
 * merged into one write: a state whose every leaf equals that of the common state before or after it. How often an image's pull is tried
 * anew until something happens is a matter of jitter: one try more, in states that were there before, is no difference.
 */
export function statesDiffer(
  expected: readonly State[],
  actual: readonly State[],
  others: readonly (readonly State[])[] = [],
): string[] {
  const pairs = alignment(expected, actual);
  const lines: string[] = [];
  let [left, right] = [0, 0];
  for (const [nextLeft, nextRight] of [...pairs, [expected.length, actual.length] as const]) {
    const before = expected[left - 1];
    const after = expected[nextLeft];
    const has = (state: State) => (take: readonly State[]) => take.some((each) => sameState(each, state));
    const told = (states: readonly State[], sign: '+' | '-', from: number): void => {
      states.forEach((state, i) => {
        const unsteady =
          sign === '+'
            ? others.some(has(state)) || triesAgain(state, actual[from + i - 2], expected)
            : !others.every(has(state));
        if (!unsteady && !liesBetween(state, before, after))
          lines.push(`${sign} ${changeText(states[i - 1] ?? before, state)}`);
      });
    };
    told(expected.slice(left, nextLeft), '-', left);
    told(actual.slice(right, nextRight), '+', right);
    [left, right] = [nextLeft + 1, nextRight + 1];
  }
  return lines;
}

/** Does a pod that waits for an image come back to a state that it and the recording were in before? */
const triesAgain = (state: State, before: State | undefined, expected: readonly State[]): boolean =>
  before !== undefined &&
  sameState(state, before) &&
  expected.some((each) => sameState(each, state)) &&
  Object.entries(state).some(
    ([path, value]) =>
      path.endsWith('.state.waiting.reason') && /^(ErrImagePull|ImagePullBackOff)$/.test(value),
  );

/** The longest common subsequence, as pairs of places. */
function alignment(a: readonly State[], b: readonly State[]): readonly (readonly [number, number])[] {
  const lengths = Array.from({ length: a.length + 1 }, () => new Array<number>(b.length + 1).fill(0));
  const at = (i: number, j: number): number => lengths[i]?.[j] ?? 0;
  const same = (i: number, j: number): boolean => sameState(a[i] ?? {}, b[j] ?? {});
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--)
      lengths[i]![j] = same(i, j) ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
  const pairs: (readonly [number, number])[] = [];
  for (let i = 0, j = 0; i < a.length && j < b.length;) {
    if (same(i, j)) pairs.push([i++, j++]);
    else if (at(i + 1, j) >= at(i, j + 1)) i++;
    else j++;
  }
  return pairs;
}

function liesBetween(state: State, before: State | undefined, after: State | undefined): boolean {
  if (!before || !after) return false;
  const keys = new Set([...Object.keys(state), ...Object.keys(before), ...Object.keys(after)]);
  return [...keys].every((key) => state[key] === before[key] || state[key] === after[key]);
}

/** What changed from one state to the next, by leaf. */
function changeText(before: State | undefined, state: State): string {
  if (state['deleted'] !== undefined) return 'deleted';
  const keys = [...new Set([...Object.keys(before ?? {}), ...Object.keys(state)])];
  const changed = keys.filter((key) => before?.[key] !== state[key]).sort();
  const shown = changed.map((key) => `${key}=${state[key] ?? '(gone)'}`);
  return shown.join('  ') || '(no change)';
}
