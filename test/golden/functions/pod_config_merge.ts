import { mergeSnapshot, type SourceMemory } from '../../../src/config/pod-storage.ts';
import type { SourceSnapshot } from '../../../src/config/pod-update.ts';
import { nameOf } from '../../../src/kube/names.ts';
import type { Pod } from '../../../src/kube/types.ts';
import { check, type Replay } from '../harness.ts';

interface Step {
  readonly source: SourceSnapshot['source'];
  readonly pods: readonly Pod[] | null;
}

/** A sequence of full lists; the batches of each by operation and pod names. */
export const replay: Replay = (line) => {
  const memories = new Map<string, SourceMemory>();
  const expected = line['out'] as unknown[];
  const { steps } = line['in'] as { steps: Step[] };
  for (const [step, { source, pods }] of steps.entries()) {
    const merged = mergeSnapshot(memories.get(source), { source, pods: pods ?? [] }, 0);
    memories.set(source, merged.memory);
    const actual = merged.updates.map((update) => {
      const names = update.pods.map(nameOf);
      return { op: update.op, source: update.source, pods: update.op === 'REMOVE' ? names.sort() : names };
    });
    const mismatch = check(expected[step], actual, { step, operation: { source, pods } });
    if (mismatch) return mismatch;
  }
  return undefined;
};
