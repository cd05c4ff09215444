import { check, type Replay } from '../recording.ts';

interface Step {
  readonly atMs: number;
  readonly op: { readonly op: 'enqueue' | 'getWork'; readonly uid: string; readonly delayMs: number };
  readonly expect: { readonly work?: readonly string[] };
}

export const replay: Replay = (line, _header, machines) => {
  let now = 0;
  const queue = machines.workQueue({ now: () => now });
  for (const [step, { atMs, op, expect }] of (line['steps'] as Step[]).entries()) {
    now = atMs;
    let work: string[] = [];
    if (op.op === 'enqueue') queue.enqueue(op.uid, op.delayMs);
    else work = queue.getWork().sort();
    const mismatch = check(expect, { work }, { step, operation: op });
    if (mismatch) return mismatch;
  }
  return undefined;
};
