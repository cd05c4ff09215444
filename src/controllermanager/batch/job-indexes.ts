import type { Job, Pod } from '../workload/types.ts';

export const indexAnnotation = 'batch.kubernetes.io/job-completion-index';

/** Returns the completion index of a pod; -1: it has none. */
export const indexOf = ({ metadata }: Pod): number => {
  const text = metadata?.annotations?.[indexAnnotation] ?? '';
  return /^\d+$/.test(text) ? Number(text) : -1;
};

/** Returns the indexes that have completed: those of the status, and those of pods that have succeeded since. */
export function completedIndexes({ spec, status }: Job, pods: readonly Pod[]): ReadonlySet<number> {
  if (spec?.completionMode !== 'Indexed') return new Set();
  const completions = spec.completions ?? 0;
  const done = pods.filter((pod) => pod.status?.phase === 'Succeeded').map(indexOf);
  const all = [...parseIndexes(status?.completedIndexes ?? ''), ...done];
  return new Set(all.filter((index) => index >= 0 && index < completions));
}

/** Parses `1,3-5,7`. */
export function parseIndexes(text: string): readonly number[] {
  if (text === '') return [];
  return text.split(',').flatMap((part) => {
    const [from = 0, to = from] = part.split('-').map(Number);
    return Array.from({ length: to - from + 1 }, (_, at) => from + at);
  });
}

/** Formats indexes as `1,3-5,7`; two in a row as `1,2`. */
export function indexesText(indexes: ReadonlySet<number>): string {
  const runs: [number, number][] = [];
  for (const index of [...indexes].sort((one, other) => one - other)) {
    const last = runs.at(-1);
    if (last?.[1] === index - 1) last[1] = index;
    else runs.push([index, index]);
  }
  return runs
    .map(([from, to]) => (from === to ? String(from) : `${from}${to - from === 1 ? ',' : '-'}${to}`))
    .join(',');
}
