import { containersToDelete } from '../../../src/containers/kuberuntime/gc/container-gc-decide.ts';
import { check, type Replay } from '../harness.ts';
import { podStatusFrom } from '../../../src/conformance/state-machines/support/runtime-status.ts';

export const replay: Replay = ({ in: given, out }) => {
  const { filter, keep } = given as { filter: string; keep: number };
  const status = podStatusFrom({ id: '', name: '', namespace: '', ...(given as object) });
  return check(
    out,
    containersToDelete(filter, status, keep).map(({ id }) => id),
    { operation: given },
  );
};
