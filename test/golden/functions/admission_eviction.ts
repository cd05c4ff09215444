import { admitUnderPressure } from '../../../src/admission/admit-result.ts';
import type { Pod } from '../../../src/kube/types.ts';
import { check, type Replay } from '../harness.ts';

export const replay: Replay = ({ in: input, out }) => {
  const { pod, nodeConditions } = input as { pod: Pod; nodeConditions: readonly string[] | null };
  return check(out, admitUnderPressure(pod, nodeConditions ?? []), { operation: input });
};
