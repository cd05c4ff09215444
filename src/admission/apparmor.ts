import type { Pod } from '../kube/types.ts';
import { admitted, type AdmitResult, refused } from './admit-result.ts';

/**
 * Refuses a pod whose AppArmor profile cannot be enforced here; only before it has started.
 *
 * Follows kubelet `appArmorAdmitHandler`.
 *
 * @param validate what is wrong with the pod's profiles on this host; absent: nothing
 */
export function admitAppArmor(pod: Pod, validate: (pod: Pod) => string | undefined): AdmitResult {
  if (pod.status?.phase !== 'Pending') return admitted;
  const fault = validate(pod);
  return fault === undefined ? admitted : refused('AppArmor', `Cannot enforce AppArmor: ${fault}`);
}
