import {
  admitByPredicates,
  type FailureReason,
  generalFilter,
  messageOfFailure,
} from '../../../src/admission/predicates.ts';
import type { Node, Pod } from '../../../src/kube/types.ts';
import { check, type Replay } from '../harness.ts';

interface Input {
  readonly pod: Pod;
  readonly node: Node;
  readonly nodeUnknown: boolean;
  readonly pluginError: boolean;
  readonly otherPods: readonly Pod[] | null;
}

const text = (failure: FailureReason): string =>
  failure.type === 'predicate' ? `${failure.name}: ${messageOfFailure(failure)}` : messageOfFailure(failure);

export const replay: Replay = ({ in: input, out }) => {
  const { pod, node, nodeUnknown, pluginError, otherPods } = input as Input;
  const { result } = admitByPredicates({
    pod,
    node: nodeUnknown ? undefined : node,
    otherPods: otherPods ?? [],
    os: 'linux',
    ...(pluginError && { pluginError: 'plugin trouble' }),
  });
  const allReasons = generalFilter(pod, node, otherPods ?? []).map(text);
  return check(
    out,
    { allReasons, result },
    { operation: { ...(input as Input), otherPods: otherPods?.length } },
  );
};
