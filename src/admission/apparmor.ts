import { appArmorAnnotation } from '../kube/names.ts';
import { allContainersOf } from '../kube/references.ts';
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

/**
 * What is wrong with a pod's AppArmor profiles on a host; absent: nothing, or it asks for none.
 *
 * Follows kubelet `apparmor.Validator`.
 *
 * @param enforced whether the host's kernel enforces profiles
 */
export function appArmorFault(pod: Pod, enforced: boolean): string | undefined {
  if (!isRequired(pod)) return undefined;
  if (!enforced) return 'AppArmor is not enabled on the host';
  const isNameless = annotatedProfiles(pod).some((profile) => /^localhost\/\s*$/.test(profile));
  return isNameless ? 'invalid empty AppArmor profile name: "localhost/"' : undefined;
}

function isRequired(pod: Pod): boolean {
  const contexts = [pod.spec?.securityContext, ...allContainersOf(pod).map((one) => one.securityContext)];
  const isConfined = contexts.some(
    (context) => (context?.appArmorProfile?.type ?? 'Unconfined') !== 'Unconfined',
  );
  return isConfined || annotatedProfiles(pod).some((profile) => profile !== 'unconfined');
}

const annotatedProfiles = ({ metadata }: Pod): readonly string[] =>
  Object.entries(metadata?.annotations ?? {}).flatMap(([key, profile]) =>
    key.startsWith(appArmorAnnotation) ? [profile] : [],
  );
