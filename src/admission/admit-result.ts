import type { Pod, Node } from '../kube/types.ts';
import { allContainersOf, usedVolumes } from '../kube/references.ts';
import { appArmorAnnotation, isStaticPod } from '../kube/names.ts';
import { isCriticalPod } from '../kube/priority.ts';
import { qosClassOf, amountsOf, podRequestOf } from '../kube/resources/resources.ts';
import { tolerates } from '../kube/taints.ts';
import { valueOf, milliValueOf } from '../kube/resources/quantity.ts';

/** What an admission step says of a pod (kubelet `PodAdmitResult`); reason and message only when it is refused. */
export interface AdmitResult {
  readonly admit: boolean;
  readonly reason: string;
  readonly message: string;
}

/** The one who has no objection. */
export const admitted: AdmitResult = { admit: true, reason: '', message: '' };

/** Refuses with the reason and message that end in the pod's status. */
export const refused = (reason: string, message: string): AdmitResult => ({ admit: false, reason, message });

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

const memoryPressureTaint = { key: 'node.kubernetes.io/memory-pressure', effect: 'NoSchedule' };

/**
 * Admission while the node is under pressure (R130): critical pods pass; with memory pressure alone only best-effort pods that do not
 * tolerate it are refused; any other pressure refuses all.
 *
 * Follows kubelet `eviction.managerImpl.Admit`.
 *
 * @param conditions the pressures in force, in the order that the message shows
 */
export function admitUnderPressure(pod: Pod, conditions: readonly string[]): AdmitResult {
  if (conditions.length === 0 || isCriticalPod(pod)) return admitted;
  if (conditions.length === 1 && conditions[0] === 'MemoryPressure') {
    if (qosClassOf(pod) !== 'BestEffort') return admitted;
    if (pod.spec?.tolerations?.some((toleration) => tolerates(toleration, memoryPressureTaint)))
      return admitted;
  }
  return refused('Evicted', `The node had condition: [${conditions.join(' ')}]. `);
}

/** What is asked of an in-place resize before anything else. */
interface ResizeInput {
  /** As desired. */
  readonly pod: Pod;
  /** Absent: not known yet. */
  readonly node: Node | undefined;
  /** Why the provider could never do it; absent: it can. */
  readonly providerFault: string | undefined;
}

const infeasible = (message: string): AdmitResult => refused('Infeasible', message);

/**
 * Could this resize ever be done here, were the pod alone on the node? What could be done later is for the other steps to say.
 *
 * Follows kubelet `podResizesAdmitHandler.Admit`.
 */
export function admitResize({ pod, node, providerFault }: ResizeInput): AdmitResult {
  if (isStaticPod(pod)) return infeasible('In-place resize of static-pods is not supported');
  if (providerFault !== undefined) return infeasible(providerFault);
  const allocatable = amountsOf(node?.status?.allocatable);
  // with both beyond the node, memory is told
  for (const [name, unitOf] of [
    ['memory', valueOf],
    ['cpu', milliValueOf],
  ] as const) {
    const held = allocatable[name];
    const requested = unitOf(podRequestOf(pod, name));
    const capacity = held ? unitOf(held) : 0;
    if (node && requested > capacity)
      return infeasible(
        `Node didn't have enough capacity: ${name}, requested: ${requested}, capacity: ${capacity}`,
      );
  }
  return admitted;
}

/** Volumes that need a CSI driver are refused by name: this agent speaks to none, and such a pod would wait for ever. */
export function admitVolumes(pod: Pod): AdmitResult {
  const needs = usedVolumes(pod).flatMap(({ name, csi }) =>
    csi ? [`volume "${name}" needs the CSI driver "${csi.driver}"`] : [],
  );
  if (needs.length === 0) return admitted;
  return refused('UnsupportedVolume', `${needs.join(', ')}; CSI volumes are not supported on this node.`);
}

/** What is asked of admission: may a pod come, or may one that is here change its size. Kubelet's `lifecycle.Operation`. */
export type AdmitOperation = 'add' | 'resize';
