import { computePodActions } from '../../../src/containers/kuberuntime/actions/actions.ts';
import type { Pod, ResourceRequirements } from '../../../src/kube/types.ts';
import { check, type Replay } from '../harness.ts';
import { podStatusFrom } from '../../../src/conformance/state-machines/support/runtime-status.ts';
import type { ActionInputs } from '../../../src/containers/kuberuntime/actions/pod-actions.ts';

interface Input {
  readonly pod: Pod;
  readonly podStatus: Readonly<Record<string, unknown>>;
  readonly liveness: Readonly<Record<string, string>>;
  readonly startup: Readonly<Record<string, string>>;
  readonly actuated: Readonly<Record<string, ResourceRequirements>>;
  readonly actuatedPod?: ResourceRequirements | null;
  readonly restartAllContainers: boolean;
  readonly features?: Readonly<Record<string, boolean>> | null;
}

/** The decision of one sync. */
export const replay: Replay = ({ in: given, out }) => {
  const input = given as Input;
  const { containersToKill, ...rest } = computePodActions(
    input.pod,
    podStatusFrom(input.podStatus),
    inputsOf(input),
  );
  const actual = {
    ...rest,
    sandboxID: rest.sandboxId,
    sandboxId: undefined,
    containersToKill: [...containersToKill.values()].toSorted((a, b) => (a.id < b.id ? -1 : 1)),
  };
  return check(out, actual, { operation: input });
};

const results = (recorded: Readonly<Record<string, string>>): ActionInputs['liveness'] => ({
  get: (id) => {
    const result = recorded[id];
    return result === 'UNKNOWN' ? 'Unknown' : (result as 'Success' | 'Failure' | undefined);
  },
});

function inputsOf(input: Input): ActionInputs {
  return {
    liveness: results(input.liveness),
    startup: results(input.startup),
    actuated: {
      container: (_uid, name) => input.actuated[name],
      pod: () => input.actuatedPod ?? undefined,
    },
    restartAllContainers: input.restartAllContainers,
    features: input.features ?? {},
  };
}
