import {
  type KillReason,
  stopTimeout,
  terminationGracePeriod,
} from '../../../src/containers/kuberuntime/grace-period.ts';
import type { Pod } from '../../../src/kube/types.ts';
import { check, type Replay } from '../harness.ts';

export const replay: Replay = ({ in: given, out }) => {
  const { pod, override, reason } = given as { pod: Pod; override: number | null; reason: KillReason };
  const [container] = pod.spec?.containers ?? [];
  const base = terminationGracePeriod(pod, container ?? {}, reason);
  return check(out, { base, error: null, stopTimeout: stopTimeout(override ?? base) }, { operation: given });
};
