import { isPreemptable, podsToPreempt, type Requirement } from '../../../src/admission/preemption.ts';
import { messageOf } from '../../../src/base/errors.ts';
import { nameOf } from '../../../src/kube/names.ts';
import { isCriticalPod } from '../../../src/kube/priority.ts';
import type { Pod } from '../../../src/kube/types.ts';
import { check, type Replay } from '../harness.ts';

interface Input {
  readonly preemptor: Pod;
  readonly pods: readonly Pod[] | null;
  readonly requirements: readonly Requirement[] | null;
}

export const replay: Replay = ({ in: input, out }) => {
  const { preemptor, pods, requirements } = input as Input;
  const all = pods ?? [];
  let preempt: readonly string[] = [];
  let error: string | null = null;
  try {
    preempt = podsToPreempt(preemptor, all, requirements ?? []).map(nameOf);
  } catch (reason) {
    error = messageOf(reason);
  }
  const preemptable = all.filter((pod) => isPreemptable(preemptor, pod)).map(nameOf);
  return check(
    out,
    { error, preempt, preemptable, preemptorCritical: isCriticalPod(preemptor) },
    { operation: input },
  );
};
