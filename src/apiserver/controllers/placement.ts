import { listAt, nameOf, objectAt, objectsAt } from '../../apimachinery/json.ts';
import type { JsonObject } from '../../apimachinery/json.ts';
import { matchesNodeAffinity } from '../../kube/node-affinity.ts';
import { type Taint, untoleratedTaint } from '../../kube/taints.ts';
import type { Node, Pod } from '../../kube/types.ts';

/** Reports whether a node is ready. */
export const isReady = (node: JsonObject): boolean =>
  objectsAt(objectAt(node, 'status'), 'conditions').some(
    (condition) => condition['type'] === 'Ready' && condition['status'] === 'True',
  );

/** The taint of a node that is not ready. It counts from the moment the node is not ready, also before a controller adds it. */
const notReady: Taint = { key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' };
const unschedulable: Taint = { key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' };

/** Returns why a pod cannot run on a node, in the scheduler's words; undefined: it can. */
export function misfit(pod: JsonObject, node: JsonObject): string | undefined {
  const spec = (pod as Pod).spec;
  const { taints = [], unschedulable: isCordoned = false } = (node as Node).spec ?? {};
  const tolerations = spec?.tolerations ?? [];
  const isRefused = (all: readonly Taint[], effects: readonly string[]): boolean =>
    untoleratedTaint(all, tolerations, effects) !== undefined;
  if (isCordoned && isRefused([unschedulable], ['NoSchedule'])) return 'node(s) were unschedulable';
  const all = isReady(node) ? taints : [...taints, notReady];
  if (isRefused(all, ['NoSchedule', 'NoExecute'])) return 'node(s) had untolerated taint(s)';
  if (!matchesNodeAffinity(pod, node)) return "node(s) didn't match Pod's node affinity/selector";
  return undefined;
}

/** Returns the one node that the pod's affinity permits by name, as that of a DaemonSet's pod does; undefined: any. */
export function pinnedNode(pod: JsonObject): string | undefined {
  const affinity = objectAt(objectAt(objectAt(pod, 'spec'), 'affinity'), 'nodeAffinity');
  const required = objectAt(affinity, 'requiredDuringSchedulingIgnoredDuringExecution');
  const [term, ...more] = objectsAt(required, 'nodeSelectorTerms');
  if (!term || more.length > 0) return undefined;
  const field = objectsAt(term, 'matchFields').find(({ key }) => key === 'metadata.name');
  const name = field?.['operator'] === 'In' ? listAt(field, 'values')[0] : undefined;
  return typeof name === 'string' ? name : undefined;
}

/** Returns the message about a pod that fits on none of the nodes. */
export function noFit(pod: JsonObject, nodes: readonly JsonObject[]): string {
  if (nodes.length === 0) return 'no nodes available to schedule pods';
  const counts = new Map<string, number>();
  for (const node of nodes) {
    const reason = misfit(pod, node) ?? '';
    counts.set(reason, (counts.get(reason) ?? 0) + 1);
  }
  const reasons = [...counts].map(([reason, count]) => `${count} ${reason}`).sort();
  return `0/${nodes.length} nodes are available: ${reasons.join(', ')}.`;
}

/** Returns the node with the fewest pods that the pod fits on. */
export function bestNode(
  pod: JsonObject,
  nodes: readonly JsonObject[],
  podsOn: (node: string) => number,
): string | undefined {
  let best: string | undefined;
  for (const node of nodes) {
    const name = nameOf(node);
    if ((best === undefined || podsOn(name) < podsOn(best)) && misfit(pod, node) === undefined) best = name;
  }
  return best;
}
