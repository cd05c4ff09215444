import { byCreation, isDeleted, nameOf } from '../workload/objects.ts';
import type { Node, Pod } from '../workload/types.ts';
import { readyOf } from './node-health.ts';

/** Terminated pods that stay (`--terminated-pod-gc-threshold`). */
const terminatedThreshold = 12_500;

const nodeNameOf = ({ spec }: Pod): string => spec?.nodeName ?? '';

const isTerminated = ({ status }: Pod): boolean =>
  status?.phase !== 'Pending' && status?.phase !== 'Running' && status?.phase !== 'Unknown';

/** True for a pod that its kubelet evicted. */
const isEvicted = ({ status }: Pod): boolean => status?.phase === 'Failed' && status.reason === 'Evicted';

/** Returns the terminated pods beyond the threshold: evicted ones first, then the oldest. */
export function excessTerminated(
  pods: readonly Pod[],
  threshold: number = terminatedThreshold,
): readonly Pod[] {
  const terminated = pods.filter(isTerminated);
  const excess = terminated.length - threshold;
  if (excess <= 0) return [];
  return terminated
    .toSorted((one, other) => Number(isEvicted(other)) - Number(isEvicted(one)) || byCreation(one, other))
    .slice(0, excess);
}

/** Returns the terminating pods of nodes that are not ready and that an administrator has declared out of service. */
export function outOfService(pods: readonly Pod[], nodes: readonly Node[]): readonly Pod[] {
  const names = new Set(
    nodes
      .filter(
        (node) =>
          readyOf(node)?.status !== 'True' &&
          (node.spec?.taints ?? []).some(({ key }) => key === 'node.kubernetes.io/out-of-service'),
      )
      .map(nameOf),
  );
  return pods.filter((pod) => isDeleted(pod) && names.has(nodeNameOf(pod)));
}

/** Returns the terminating pods that no node has: no kubelet ends them. */
export const unscheduledTerminating = (pods: readonly Pod[]): readonly Pod[] =>
  pods.filter((pod) => isDeleted(pod) && nodeNameOf(pod) === '');

/** How long a node is missing before its pods are orphans, ms. */
const quarantineMs = 40_000;

/** Quarantine holds the names of nodes that pods name and that are missing. */
export class Quarantine {
  readonly #dueAt = new Map<string, number>();

  /** Returns the nodes that have been missing for long enough. */
  missing(pods: readonly Pod[], nodes: readonly Node[], now: number): readonly string[] {
    const present = new Set(nodes.map(nameOf));
    for (const pod of pods) {
      const name = nodeNameOf(pod);
      if (name !== '' && !present.has(name) && !this.#dueAt.has(name))
        this.#dueAt.set(name, now + quarantineMs);
    }
    const due = [...this.#dueAt].filter(([, at]) => at <= now).map(([name]) => name);
    for (const name of due) this.#dueAt.delete(name);
    return due.filter((name) => !present.has(name));
  }
}
