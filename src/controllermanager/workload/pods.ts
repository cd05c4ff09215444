import { nameOf, uidOf } from './objects.ts';
import type { Pod } from './types.ts';

/** True for a pod that counts as a replica: it has not ended and is not being deleted. */
export const isActive = ({ metadata, status }: Pod): boolean =>
  status?.phase !== 'Succeeded' && status?.phase !== 'Failed' && metadata?.deletionTimestamp === undefined;

/** True for a pod that is being deleted and has not ended. */
export const isTerminating = ({ metadata, status }: Pod): boolean =>
  status?.phase !== 'Succeeded' && status?.phase !== 'Failed' && metadata?.deletionTimestamp !== undefined;

const readyCondition = ({
  status,
}: Pod): NonNullable<NonNullable<Pod['status']>['conditions']>[number] | undefined =>
  status?.conditions?.find(({ type }) => type === 'Ready');

export const isReady = (pod: Pod): boolean => readyCondition(pod)?.status === 'True';

/** When the pod has become ready, ms; undefined when it is not, or did not say when. */
export function readySince(pod: Pod): number | undefined {
  const condition = readyCondition(pod);
  if (condition?.status !== 'True' || condition.lastTransitionTime === undefined) return undefined;
  return Date.parse(condition.lastTransitionTime);
}

/** True once the pod has been ready for `minReadySeconds`. */
export function isAvailable(pod: Pod, minReadySeconds: number, now: number): boolean {
  if (!isReady(pod)) return false;
  if (minReadySeconds === 0) return true;
  const since = readySince(pod);
  return since !== undefined && since + minReadySeconds * 1000 <= now;
}

/** Returns after how many ms the next ready pod becomes available; undefined: no pod waits for that. */
export function nextAvailability(
  pods: readonly Pod[],
  minReadySeconds: number,
  now: number,
): number | undefined {
  const waits = pods
    .filter((pod) => isReady(pod) && !isAvailable(pod, minReadySeconds, now))
    .map((pod) => (readySince(pod) ?? now) + minReadySeconds * 1000 - now);
  return waits.length > 0 ? Math.max(1, Math.min(...waits)) : undefined;
}

const phaseRank = new Map([
  ['Pending', 0],
  ['Unknown', 1],
  ['Running', 2],
]);

const deletionCost = ({ metadata }: Pod): number => {
  const text = metadata?.annotations?.['controller.kubernetes.io/pod-deletion-cost'] ?? '0';
  return /^(0|-?[1-9]\d*|\+[1-9]\d*)$/.test(text) ? Number(text) : 0;
};

const restarts = ({ status }: Pod): number =>
  Math.max(
    0,
    ...[...(status?.containerStatuses ?? []), ...(status?.initContainerStatuses ?? [])].map(
      ({ restartCount }) => restartCount,
    ),
  );

/** Compares ages on a logarithmic scale, the younger first: pods of about the same age are equal, then their UIDs decide. */
function byAge(one: [number | undefined, Pod], other: [number | undefined, Pod], now: number): number {
  const [[a, first], [b, second]] = [one, other];
  if (a === b) return 0;
  if (a === undefined || b === undefined) return a === undefined ? -1 : 1;
  const scale = (at: number): number => (now > at ? Math.trunc(Math.log2((now - at) * 1e6)) : -1);
  return scale(a) - scale(b) || (uidOf(first) < uidOf(second) ? -1 : 1);
}

const createdAt = ({ metadata }: Pod): number | undefined =>
  metadata?.creationTimestamp === undefined ? undefined : Date.parse(metadata.creationTimestamp);

/**
 * Returns the pods in the order in which a scale-down deletes them (`ActivePodsWithRanks`): unassigned, pending, not ready, cheap, crowded,
 * young ones first.
 *
 * @param related all pods of the same owner: of nodes with more of them pods are deleted first
 */
export function inDeletionOrder(pods: readonly Pod[], related: readonly Pod[], now: number): readonly Pod[] {
  const onNode = new Map<string, number>();
  for (const { spec } of related.filter(isActive)) {
    const node = spec?.nodeName ?? '';
    if (node !== '') onNode.set(node, (onNode.get(node) ?? 0) + 1);
  }
  const crowd = ({ spec }: Pod): number => onNode.get(spec?.nodeName ?? '') ?? 0;
  const rank = (pod: Pod): readonly number[] => [
    (pod.spec?.nodeName ?? '') === '' ? 0 : 1,
    phaseRank.get(pod.status?.phase ?? 'Pending') ?? 0,
    isReady(pod) ? 1 : 0,
    deletionCost(pod),
    -crowd(pod),
  ];
  return [...pods].sort((one, other) => {
    const [a, b] = [rank(one), rank(other)];
    const at = a.findIndex((value, index) => value !== b[index]);
    if (at >= 0) return (a[at] ?? 0) - (b[at] ?? 0);
    return (
      byAge([readySince(one), one], [readySince(other), other], now) ||
      restarts(other) - restarts(one) ||
      byAge([createdAt(one), one], [createdAt(other), other], now) ||
      (nameOf(one) < nameOf(other) ? -1 : 1)
    );
  });
}
