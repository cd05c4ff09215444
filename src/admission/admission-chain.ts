import { ownMember } from '../base/own.ts';
import {
  admitted,
  type AdmitResult,
  refused,
  admitAppArmor,
  admitUnderPressure,
  admitResize,
  admitVolumes,
  type AdmitOperation,
} from './admit-result.ts';
import { admitByPredicates, type FailureReason, resultOf } from './predicates.ts';
import { podsToPreempt, type Requirement } from './preemption.ts';
import type { SysctlAllowlist } from './sysctl.ts';
import { messageOf } from '../base/errors.ts';
import { hostPortsOf } from '../kube/host-ports.ts';
import { isStaticPod, uidOf } from '../kube/names.ts';
import { milliValueOf, valueOf } from '../kube/resources/quantity.ts';
import { amountsOf } from '../kube/resources/resources.ts';
import type { EventRecorder } from '../kube/events.ts';
import { isCriticalPod } from '../kube/priority.ts';
import type { Node, Pod } from '../kube/types.ts';
import type { PodProvider } from '../provider/provider.ts';
import { type PodLedger, requestsOf } from './pod-ledger.ts';

export interface AdmissionDeps {
  /** The node as last seen. */
  readonly getNode: () => Node | undefined;
  /** The node as the API server has it now (R133); absent: standalone. */
  readonly refetchNode?: () => Promise<Node | undefined>;
  /** Pressure conditions in force, e.g. `MemoryPressure`. */
  readonly pressure: () => readonly string[];
  readonly sysctls: SysctlAllowlist;
  /** What is wrong with the pod's AppArmor profiles on this host. */
  readonly appArmorFault: (pod: Pod) => string | undefined;
  /** The node is shutting down and takes no pods (R251). */
  readonly isShuttingDown: () => boolean;
  /** What is wrong with where the agent keeps its things; absent: nothing. */
  readonly storageFault?: () => string | undefined;
  /** Ends a pod so that a critical one can run (R135), which the first of these resources was `missing` for; resolves when it has stopped. */
  readonly preempt: (victim: Pod, missing: string) => Promise<void>;
  /** What all desired pods ask for, active or not. */
  readonly ledger: Pick<PodLedger, 'size' | 'used' | 'has' | 'complete'>;
  readonly provider: Pick<PodProvider, 'admit' | 'name' | 'resizes'>;
  readonly recorder: EventRecorder;
  /** Counts resizes that can never be done for a reason of the node's kind; absent: nobody does. */
  readonly infeasible?: (detail: string) => void;
  /** The pod as allocated: the very same where it has what it asks for. */
  readonly allocatedPod: (pod: Pod) => Pod;
  /** Does every pod have what it asks for? */
  readonly isSettled: () => boolean;
}

/** What is asked, and beside whom. */
export interface AdmissionCase {
  readonly operation: AdmitOperation;
  /** Active pods as allocated, the candidate left out (R52). */
  readonly otherPods: () => readonly Pod[];
}

/**
 * May this pod run here beside the others, or take another size? The first denial counts (R129).
 *
 * Follows kubelet's chain of `PodAdmitHandler`s.
 */
export async function admitPod(
  deps: AdmissionDeps,
  pod: Pod,
  { operation, otherPods }: AdmissionCase,
): Promise<AdmitResult> {
  const resizable = operation === 'resize' ? admitResizeOf(deps, pod) : admitted;
  if (!resizable.admit) return resizable;
  const underPressure = admitUnderPressure(pod, deps.pressure());
  if (!underPressure.admit) return underPressure;
  const sysctls = deps.sysctls.admit(pod);
  if (!sysctls.admit) return sysctls;
  const volumes = admitVolumes(pod);
  if (!volumes.admit) return volumes;
  const fits = await admitByFit(deps, pod, otherPods);
  if (!fits.admit) return fits;
  const appArmor = admitAppArmor(pod, deps.appArmorFault);
  if (!appArmor.admit) return appArmor;
  if (deps.isShuttingDown()) return refused('NodeShutdown', 'Pod was rejected as the node is shutting down.');
  const storage = deps.storageFault?.();
  if (storage !== undefined) return refused('NodeStorageLost', `${storage}.`);
  return operation === 'resize' ? admitted : admitByProvider(deps, pod, otherPods);
}

function admitResizeOf(
  { getNode, provider, allocatedPod, infeasible }: AdmissionDeps,
  pod: Pod,
): AdmitResult {
  const providerFault = provider.resizes
    ? provider.resizes.fault(pod, allocatedPod(pod))
    : `In-place resize is not supported by the provider ${provider.name}.`;
  if (providerFault !== undefined && !isStaticPod(pod))
    infeasible?.(provider.resizes ? 'swap_limitation' : 'unsupported_platform');
  return admitResize({ pod, node: getNode(), providerFault });
}

/** A provider's own word comes last; what it admits but will not keep is told in Events. */
function admitByProvider(
  { provider, recorder }: AdmissionDeps,
  pod: Pod,
  otherPods: () => readonly Pod[],
): AdmitResult {
  const said = provider.admit?.(pod, otherPods());
  if (!said) return admitted;
  if (!said.admit)
    return refused(said.reason ?? 'UnexpectedAdmissionError', said.message ?? 'the provider refused the pod');
  for (const warning of said.warnings ?? []) recorder.event(pod, 'Warning', 'NotHonoured', warning);
  return admitted;
}

/** R131…R135. */
async function admitByFit(
  deps: AdmissionDeps,
  pod: Pod,
  activePods: () => readonly Pod[],
): Promise<AdmitResult> {
  if (fitsBesideAll(deps, pod)) return admitted;
  const otherPods = activePods();
  const fit = (node: Node | undefined): ReturnType<typeof admitByPredicates> =>
    admitByPredicates({ pod, node, otherPods, os: 'linux' });
  let { result, failures } = fit(deps.getNode());
  const [only] = failures;
  // R133: labels may have changed since the node was last seen
  if (
    failures.length === 1 &&
    only?.type === 'predicate' &&
    only.name === 'NodeAffinity' &&
    deps.refetchNode
  ) {
    ({ result, failures } = fit(await deps.refetchNode().catch(() => deps.getNode())));
  }
  if (failures.length === 0 || !isCriticalPod(pod)) return result;
  return makeRoom(deps, pod, otherPods, failures);
}

/** Does the pod fit even if every desired pod took up room? Then it fits beside the active ones, and no list of them is needed. */
function fitsBesideAll({ getNode, ledger, isSettled }: AdmissionDeps, pod: Pod): boolean {
  const node = getNode();
  if (!node || !ledger.complete || !isSettled() || hostPortsOf(pod).length > 0) return false;
  const uid = uidOf(pod);
  const allocatable = amountsOf(node.status?.allocatable);
  const capacity = (name: string): number => {
    const amount = ownMember(allocatable, name);
    return amount === undefined ? 0 : name === 'cpu' ? milliValueOf(amount) : valueOf(amount);
  };
  if (ledger.size + (ledger.has(uid) ? 0 : 1) > capacity('pods')) return false;
  for (const [name, requested] of requestsOf(pod))
    if (requested > 0 && requested > capacity(name) - ledger.used(name, uid)) return false;
  return admitByPredicates({ pod, node, otherPods: [], os: 'linux' }).result.admit;
}

/** R135: only room can be made; what else stands against the pod is the answer. */
async function makeRoom(
  deps: AdmissionDeps,
  pod: Pod,
  otherPods: readonly Pod[],
  failures: readonly FailureReason[],
): Promise<AdmitResult> {
  const others = failures.filter(({ type }) => type === 'predicate');
  if (others.length > 0) return resultOf(others);
  const missing = failures.flatMap((failure): Requirement[] =>
    failure.type === 'resource'
      ? [{ resource: failure.resource, quantity: failure.requested - (failure.capacity - failure.used) }]
      : [],
  );
  let victims: readonly Pod[];
  try {
    victims = podsToPreempt(pod, otherPods, missing);
  } catch (reason) {
    return refused(
      'UnexpectedAdmissionError',
      `Unexpected error while attempting to recover from admission failure: preemption: error finding a set of pods to preempt: ${messageOf(reason)}`,
    );
  }
  for (const victim of victims) await deps.preempt(victim, missing[0]?.resource ?? '');
  return admitted;
}
