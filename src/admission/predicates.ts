import { ownMember } from '../base/own.ts';
import { hostPortsClash, hostPortsOf } from '../kube/host-ports.ts';
import { isStaticPod } from '../kube/names.ts';
import { matchesNodeAffinity } from '../kube/node-affinity.ts';
import { milliValueOf, type Quantity, valueOf } from '../kube/resources/quantity.ts';
import { type Amounts, amountsOf, podRequests } from '../kube/resources/resources.ts';
import { isExtendedResource, isScalarResource } from '../kube/resources/resource-names.ts';
import { untoleratedTaint } from '../kube/taints.ts';
import type { Container, Node, Pod } from '../kube/types.ts';
import { admitted, type AdmitResult, refused } from './admit-result.ts';

/** Why a pod does not fit. Amounts: cpu in millicores, others in units. */
export type FailureReason =
  | { readonly type: 'predicate'; readonly name: string; readonly description: string }
  | {
      readonly type: 'resource';
      readonly resource: string;
      readonly requested: number;
      readonly used: number;
      readonly capacity: number;
    };

/** Formats a failure for the pod's status. */
export const messageOfFailure = (failure: FailureReason): string =>
  failure.type === 'predicate'
    ? `Predicate ${failure.name} failed: ${failure.description}`
    : `Node didn't have enough resource: ${failure.resource}, requested: ${failure.requested}, used: ${failure.used}, capacity: ${failure.capacity}`;

const amountIn = (name: string, amount: Quantity | undefined): number =>
  amount === undefined ? 0 : name === 'cpu' ? milliValueOf(amount) : valueOf(amount);

const countedFirst = ['cpu', 'memory', 'ephemeral-storage'] as const;

/** Returns the resources of the node that the pod would exceed: number of pods, then cpu, memory, ephemeral storage, then others. */
export function insufficientResources(
  pod: Pod,
  node: Node,
  otherPods: readonly Pod[],
): readonly FailureReason[] {
  const allocatable = amountsOf(node.status?.allocatable);
  const found: FailureReason[] = [];
  const podsAllowed = amountIn('pods', allocatable['pods']);
  if (otherPods.length + 1 > podsAllowed)
    found.push({
      type: 'resource',
      resource: 'pods',
      requested: 1,
      used: otherPods.length,
      capacity: podsAllowed,
    });
  const requests = podRequests(withoutUnknownResources(pod, allocatable));
  const others = otherPods.map((other) => podRequests(other, { useStatusResources: true }));
  const scalars = Object.keys(requests).filter(isScalarResource);
  for (const name of [...countedFirst, ...scalars]) {
    const requested = amountIn(name, ownMember(requests, name));
    const used = others.reduce(
      (sum, requests: Amounts) => sum + amountIn(name, ownMember(requests, name)),
      0,
    );
    const capacity = amountIn(name, ownMember(allocatable, name));
    if (requested > 0 && requested > capacity - used)
      found.push({ type: 'resource', resource: name, requested, used, capacity });
  }
  return found;
}

/** Removes requests of extended resources that the node does not list (R134). Follows kubelet `removeMissingExtendedResources`. */
function withoutUnknownResources(pod: Pod, allocatable: Amounts): Pod {
  const { spec } = pod;
  const isUnknown = (name: string): boolean => isExtendedResource(name) && !Object.hasOwn(allocatable, name);
  const asks = ({ resources }: Container): boolean => Object.keys(resources?.requests ?? {}).some(isUnknown);
  if (!spec || ![...spec.containers, ...(spec.initContainers ?? [])].some(asks)) return pod;
  const withKnownResources = (container: Container): Container => ({
    ...container,
    resources: {
      ...container.resources,
      requests: Object.fromEntries(
        Object.entries(container.resources?.requests ?? {}).filter(([name]) => !isUnknown(name)),
      ),
    },
  });
  const { containers, initContainers } = spec;
  return {
    ...pod,
    spec: {
      ...spec,
      containers: containers.map(withKnownResources),
      ...(initContainers && { initContainers: initContainers.map(withKnownResources) }),
    },
  };
}

const predicate = (name: string, description: string): FailureReason => ({
  type: 'predicate',
  name,
  description,
});

const namesOtherNode = (pod: Pod, node: Node): boolean =>
  Boolean(pod.spec?.nodeName) && pod.spec?.nodeName !== node.metadata?.name;

function portsClash(pod: Pod, otherPods: readonly Pod[]): boolean {
  const requests = hostPortsOf(pod);
  if (requests.length === 0) return false;
  const usedPorts = Map.groupBy(otherPods.flatMap(hostPortsOf), ({ port }) => port);
  return requests.some((port) => usedPorts.get(port.port)?.some((other) => hostPortsClash(port, other)));
}

/** True when the pod does not tolerate a NoExecute taint. NoSchedule is left to the scheduler: the pod is bound already. */
const isTainted = (pod: Pod, node: Node): boolean =>
  !isStaticPod(pod) &&
  untoleratedTaint(node.spec?.taints ?? [], pod.spec?.tolerations ?? [], ['NoExecute']) !== undefined;

/**
 * Returns every reason why the pod does not fit on the node next to the others, in reporting order (R131, R132).
 *
 * Follows kubelet `generalFilter`.
 */
export function generalFilter(pod: Pod, node: Node, otherPods: readonly Pod[]): readonly FailureReason[] {
  const found = [...insufficientResources(pod, node, otherPods)];
  if (!matchesNodeAffinity(pod, node))
    found.push(predicate('NodeAffinity', "node(s) didn't match Pod's node affinity/selector"));
  if (namesOtherNode(pod, node))
    found.push(predicate('NodeName', "node(s) didn't match the requested node name"));
  if (portsClash(pod, otherPods))
    found.push(predicate('NodePorts', "node(s) didn't have free ports for the requested pod ports"));
  if (isTainted(pod, node))
    found.push(predicate('TaintToleration', "node(s) had taints that the pod didn't tolerate"));
  return found;
}

/** Returns a rejection that does not depend on free resources, so that preemption would not help. */
function platformFault(pod: Pod, node: Node, os: string): AdmitResult | undefined {
  const label = pod.metadata?.labels?.['kubernetes.io/os'];
  if (label !== undefined && label !== os)
    return refused(
      'PodOSSelectorNodeLabelDoesNotMatch',
      "Failed to admit pod as the `kubernetes.io/os` label doesn't match node label",
    );
  if (pod.spec?.os && pod.spec.os.name !== os)
    return refused('PodOSNotSupported', "Failed to admit pod as the OS field doesn't match node OS");
  return groupsFault(pod, node);
}

function groupsFault(pod: Pod, node: Node): AdmitResult | undefined {
  const policy = pod.spec?.securityContext?.supplementalGroupsPolicy;
  if (policy !== 'Strict' || node.status?.features?.supplementalGroupsPolicy === true) return undefined;
  return refused(
    'SupplementalGroupsPolicyNotSupported',
    `SupplementalGroupsPolicy=${policy} is not supported in this node`,
  );
}

/** Returns the node with the label of its actual operating system, when it has labels. */
function withOs(node: Node, os: string): Node {
  const labels = node.metadata?.labels ?? {};
  if (Object.keys(labels).length === 0 || labels['kubernetes.io/os'] === os) return node;
  return { ...node, metadata: { ...node.metadata, labels: { ...labels, 'kubernetes.io/os': os } } };
}

export interface PredicateInput {
  readonly pod: Pod;
  /** Absent: not known yet. */
  readonly node: Node | undefined;
  /** Active pods without the candidate (R52). */
  readonly otherPods: readonly Pod[];
  /** The node's operating system, such as `linux`. */
  readonly os: string;
  /** Error of device plug-ins about the pod. */
  readonly pluginError?: string;
}

/** Returns a rejection with the first failure; admits without failures. */
export function resultOf(failures: readonly FailureReason[]): AdmitResult {
  const first = failures[0];
  if (!first) return admitted;
  return refused(first.type === 'predicate' ? first.name : `OutOf${first.resource}`, messageOfFailure(first));
}

/**
 * Decides whether a pod may run on this node next to the others (R131…R134). Also returns the failures that preemption could resolve
 * (R135).
 *
 * Follows kubelet `predicateAdmitHandler.Admit`.
 */
export function admitByPredicates(input: PredicateInput): {
  readonly result: AdmitResult;
  readonly failures: readonly FailureReason[];
} {
  const { pod, node, otherPods, os, pluginError } = input;
  const final = (result: AdmitResult): { result: AdmitResult; failures: readonly FailureReason[] } => ({
    result,
    failures: [],
  });
  if (!node) return final(refused('InvalidNodeInfo', 'Kubelet cannot get node info.'));
  const fault = platformFault(pod, node, os);
  if (fault) return final(fault);
  if (pluginError !== undefined)
    return final(
      refused(
        'UnexpectedAdmissionError',
        `Update plugin resources failed due to ${pluginError}, which is unexpected.`,
      ),
    );
  const failures = generalFilter(pod, withOs(node, os), otherPods);
  return { result: resultOf(failures), failures };
}
