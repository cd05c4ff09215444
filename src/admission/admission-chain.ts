import { lazyList } from '../base/lazy-list.ts';
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
  /** Returns the last known Node. */
  readonly getNode: () => Node | undefined;
  /** Fetches the current Node from the API server (R133); absent: standalone mode. */
  readonly refetchNode?: () => Promise<Node | undefined>;
  /** Returns the current pressure conditions, such as `MemoryPressure`. */
  readonly pressure: () => readonly string[];
  readonly sysctls: SysctlAllowlist;
  /** Returns what is wrong with the pod's AppArmor profiles on this host. */
  readonly appArmorFault: (pod: Pod) => string | undefined;
  /** True while the node shuts down and accepts no pods (R251). */
  readonly isShuttingDown: () => boolean;
  /** Returns an error of the agent's own storage; `undefined` when there is none. */
  readonly storageFault?: () => string | undefined;
  /** Evicts a pod to make room for a critical pod (R135); `missing` is the first missing resource. Resolves when the pod has stopped. */
  readonly preempt: (victim: Pod, missing: string) => Promise<void>;
  /** Requests of all desired pods, active or not. */
  readonly ledger: Pick<PodLedger, 'size' | 'used' | 'has' | 'complete'>;
  readonly provider: Pick<PodProvider, 'admit' | 'name' | 'resizes'>;
  readonly recorder: EventRecorder;
  /** Counts infeasible resizes by detail; absent: not counted. */
  readonly infeasible?: (detail: string) => void;
  /** Returns the pod with its allocated resources; the same object when they equal its spec. */
  readonly allocatedPod: (pod: Pod) => Pod;
  /** True when every pod has the resources in its spec. */
  readonly isSettled: () => boolean;
}

/** The pod to admit, the operation, and the other pods. */
export interface AdmissionCase {
  readonly operation: AdmitOperation;
  /** Active pods with allocated resources, without the candidate (R52). */
  readonly otherPods: () => readonly Pod[];
}

/**
 * Decides whether a pod may run, or resize, next to the other pods. The first rejection counts (R129).
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

/** Asks the provider last; warnings about settings that it accepts but does not enforce become Events. */
function admitByProvider(
  { provider, recorder }: AdmissionDeps,
  pod: Pod,
  otherPods: () => readonly Pod[],
): AdmitResult {
  const answer = provider.admit?.(pod, lazyList(otherPods));
  if (!answer) return admitted;
  if (!answer.admit)
    return refused(
      answer.reason ?? 'UnexpectedAdmissionError',
      answer.message ?? 'the provider refused the pod',
    );
  for (const warning of answer.warnings ?? []) recorder.event(pod, 'Warning', 'NotHonoured', warning);
  return admitted;
}

/** Checks whether the pod fits the node, making room for critical pods (R131…R135). */
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
  // The Node's labels may have changed since it was last observed (R133).
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

/** True when the pod fits even next to all desired pods; then it fits next to the active ones, without listing them. */
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

/** Preempts pods for a critical pod; only missing resources can be freed, any other failure is returned (R135). */
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
