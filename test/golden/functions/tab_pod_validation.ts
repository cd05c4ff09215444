import type { Pod } from '../../../src/kube/types.ts';
import { formatFieldError } from '../../../src/kube/validation/field-error.ts';
import type { PodValidationOptions } from '../../../src/kube/validation/options.ts';
import { validatePod } from '../../../src/kube/validation/pod.ts';
import { check, type Replay } from '../harness.ts';

/** The recorded Go dump `{Name:true …}` of options, as far as they are ours. */
function optionsOf(dump: string): PodValidationOptions {
  const set = (name: string): boolean => dump.includes(`${name}:true`);
  return {
    podLevelResources: set('PodLevelResourcesEnabled'),
    taintComparison: set('AllowTaintTolerationComparisonOperators'),
    userNamespacesHostNetwork: set('AllowUserNamespacesHostNetworkSupport'),
  };
}

export const replay: Replay = ({ in: given, out }) => {
  const { pod, options } = given as { pod: Pod; options: string };
  const errors = validatePod(pod, optionsOf(options)).map(formatFieldError);
  return check((out as { errors: unknown }).errors, errors);
};
