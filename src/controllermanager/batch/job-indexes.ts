import type { Pod } from '../workload/types.ts';

export const indexAnnotation = 'batch.kubernetes.io/job-completion-index';

/** Returns the completion index of a pod; -1: it has none. */
export const indexOf = ({ metadata }: Pod): number => {
  const text = metadata?.annotations?.[indexAnnotation] ?? '';
  return /^\d+$/.test(text) ? Number(text) : -1;
};

interface Run {
  readonly first: number;
  readonly last: number;
}

/** A set of completion indexes, kept as runs: it is small where a Job has completed most of a million indexes. */
export class IndexSet {
  /** Ascending, with a gap between each two. */
  readonly #runs: readonly Run[];

  private constructor(runs: readonly Run[]) {
    this.#runs = runs;
  }

  static of(indexes: Iterable<number>): IndexSet {
    return IndexSet.#joined([...indexes].map((index) => ({ first: index, last: index })));
  }

  /** Parses `1,3-5,7`; indexes from `completions` on and what is no index are left out. */
  static parse(text: string, completions: number): IndexSet {
    const runs = text.split(',').flatMap((part) => {
      const match = /^(\d+)(?:-(\d+))?$/.exec(part);
      if (!match) return [];
      const first = Number(match[1]);
      return { first, last: Math.min(Number(match[2] ?? first), completions - 1) };
    });
    return IndexSet.#joined(runs.filter(({ first, last }) => first <= last));
  }

  static #joined(runs: readonly Run[]): IndexSet {
    const joined: Run[] = [];
    for (const run of runs.toSorted((one, other) => one.first - other.first)) {
      const before = joined.at(-1);
      if (!before || run.first > before.last + 1) joined.push(run);
      else joined[joined.length - 1] = { first: before.first, last: Math.max(before.last, run.last) };
    }
    return new IndexSet(joined);
  }

  get size(): number {
    return this.#runs.reduce((sum, { first, last }) => sum + last - first + 1, 0);
  }

  has(index: number): boolean {
    return this.#runs.some(({ first, last }) => first <= index && index <= last);
  }

  union(other: IndexSet): IndexSet {
    return IndexSet.#joined([...this.#runs, ...other.#runs]);
  }

  /** Returns how many indexes both sets have. */
  common(other: IndexSet): number {
    const shared = (one: Run, two: Run): number =>
      Math.max(0, Math.min(one.last, two.last) - Math.max(one.first, two.first) + 1);
    return this.#runs.reduce(
      (sum, run) => sum + other.#runs.reduce((part, its) => part + shared(run, its), 0),
      0,
    );
  }

  /** Returns the first indexes below `completions` that the set does not have, at most `count`. */
  missing(count: number, completions: number): readonly number[] {
    const result: number[] = [];
    let index = 0;
    for (const { first, last } of [...this.#runs, { first: completions, last: completions }]) {
      for (; index < Math.min(first, completions) && result.length < count; index++) result.push(index);
      index = Math.max(index, last + 1);
    }
    return result;
  }

  /** Formats the set as `1,3-5,7`; two in a row as `1,2`. */
  toString(): string {
    return this.#runs
      .map(({ first, last }) =>
        first === last ? String(first) : `${first}${last - first === 1 ? ',' : '-'}${last}`,
      )
      .join(',');
  }
}
