import type { Pod, Node } from '../kube/types.ts';
import { allContainersOf, usedVolumes } from '../kube/references.ts';
import { appArmorAnnotation, isStaticPod } from '../kube/names.ts';
import { isCriticalPod } from '../kube/priority.ts';
import { qosClassOf, amountsOf, podRequestOf } from '../kube/resources/resources.ts';
import { tolerates } from '../kube/taints.ts';
import { valueOf, milliValueOf } from '../kube/resources/quantity.ts';

/** Result of an admission step (kubelet `PodAdmitResult`); reason and message are set only for rejections. */
export interface AdmitResult {
  readonly admit: boolean;
  readonly reason: string;
  readonly message: string;
}

/** The result that admits a pod. */
export const admitted: AdmitResult = { admit: true, reason: '', message: '' };

/** Returns a rejection with the reason and message for the pod's status. */
export const refused = (reason: string, message: string): AdmitResult => ({ admit: false, reason, message });

/**
 * Rejects a pod whose AppArmor profile cannot be enforced; checked only before it has started.
 *
 * Follows kubelet `appArmorAdmitHandler`.
 *
 * @param validate returns what is wrong with the pod's profiles on this host
 */
export function admitAppArmor(pod: Pod, validate: (pod: Pod) => string | undefined): AdmitResult {
  if (pod.status?.phase !== 'Pending') return admitted;
  const fault = validate(pod);
  return fault === undefined ? admitted : refused('AppArmor', `Cannot enforce AppArmor: ${fault}`);
}

/**
 * Returns what is wrong with a pod's AppArmor profiles on a host; `undefined` when nothing is, or it has none.
 *
 * Follows kubelet `apparmor.Validator`.
 *
 * @param enforced true when the host's kernel enforces profiles
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
 * Admits pods while the node is under pressure (R130): critical pods are admitted; under memory pressure alone only best-effort pods that
 * do not tolerate it are rejected; any other pressure rejects all others.
 *
 * Follows kubelet `eviction.managerImpl.Admit`.
 *
 * @param conditions current pressure conditions, in the order of the message
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

/** Inputs of the feasibility check of an in-place resize. */
interface ResizeInput {
  /** The desired pod. */
  readonly pod: Pod;
  /** Absent: not known yet. */
  readonly node: Node | undefined;
  /** Why the provider does not support the resize; absent: it does. */
  readonly providerFault: string | undefined;
}

const infeasible = (message: string): AdmitResult => refused('Infeasible', message);

/**
 * Decides whether a resize is feasible on this node if the pod were alone. Other steps decide whether it is possible now.
 *
 * Follows kubelet `podResizesAdmitHandler.Admit`.
 */
export function admitResize({ pod, node, providerFault }: ResizeInput): AdmitResult {
  if (isStaticPod(pod)) return infeasible('In-place resize of static-pods is not supported');
  if (providerFault !== undefined) return infeasible(providerFault);
  const allocatable = amountsOf(node?.status?.allocatable);
  // When both exceed the node, the message is about memory.
  for (const [name, unitOf] of [
    ['memory', valueOf],
    ['cpu', milliValueOf],
  ] as const) {
    const quantity = allocatable[name];
    const requested = unitOf(podRequestOf(pod, name));
    const capacity = quantity ? unitOf(quantity) : 0;
    if (node && requested > capacity)
      return infeasible(
        `Node didn't have enough capacity: ${name}, requested: ${requested}, capacity: ${capacity}`,
      );
  }
  return admitted;
}

/** Rejects volumes that need a CSI driver, by name: the agent supports none, and such a pod would wait forever. */
export function admitVolumes(pod: Pod): AdmitResult {
  const needs = usedVolumes(pod).flatMap(({ name, csi }) =>
    csi ? [`volume "${name}" needs the CSI driver "${csi.driver}"`] : [],
  );
  if (needs.length === 0) return admitted;
  return refused('UnsupportedVolume', `${needs.join(', ')}; CSI volumes are not supported on this node.`);
}

/** Operation to admit: a new pod, or a resize. Kubelet's `lifecycle.Operation`. */
export type AdmitOperation = 'add' | 'resize';
