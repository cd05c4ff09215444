import { podSandboxChanged } from '../../../src/provider/sandbox-changed.ts';
import { check, type Replay } from '../harness.ts';
import { podStatusFrom } from '../../../src/conformance/state-machines/support/runtime-status.ts';

export const replay: Replay = ({ in: given, out }) => {
  const input = given as { hostNetwork: boolean; sandboxStatuses: unknown };
  const status = podStatusFrom({ id: '', name: '', namespace: '', sandboxStatuses: input.sandboxStatuses });
  const { sandboxId: sandboxID, ...rest } = podSandboxChanged(
    { spec: { hostNetwork: input.hostNetwork, containers: [] } },
    status,
  );
  return check(out, { ...rest, sandboxID }, { operation: input });
};
