import { type ControllerDeps, follow } from './controllers.ts';
import {
  type JsonObject,
  nameOf,
  namespaceOf,
  objectAt,
  objectsAt,
  stringAt,
  valueAt,
} from '../../apimachinery/json.ts';
import { bestNode, isReady, noFit, pinnedNode } from './placement.ts';
import { reportEvent, reportUnschedulable } from './scheduling-reports.ts';
import { keyOf, type Store } from '../storage/store.ts';

const nodesKind = { group: '', resource: 'nodes' };

const isWaiting = (pod: JsonObject): boolean =>
  stringAt(objectAt(pod, 'spec'), 'nodeName') === '' &&
  objectsAt(objectAt(pod, 'spec'), 'schedulingGates').length === 0 &&
  valueAt(pod, 'spec', 'schedulerName') === 'default-scheduler' &&
  valueAt(pod, 'metadata', 'deletionTimestamp') === undefined &&
  valueAt(pod, 'status', 'phase') === 'Pending';

/** Counts the assigned pods of each node. */
class PodCounts {
  readonly #counts = new Map<string, number>();
  readonly #nodes = new Map<string, string>();
  /** Ends the counting. */
  readonly stop: () => void;

  constructor(store: Store) {
    const nodeOf = (pod: JsonObject): string => stringAt(objectAt(pod, 'spec'), 'nodeName');
    for (const { key, object } of store.list('pods')) this.set(key, nodeOf(object));
    this.stop = store.onChange((storage, changes) => {
      if (storage !== 'pods') return;
      for (const { type, entry } of changes)
        this.set(entry.key, type === 'DELETED' ? '' : nodeOf(entry.object));
    });
  }

  of(node: string): number {
    return this.#counts.get(node) ?? 0;
  }

  /** @param node `''` for none */
  set(key: string, node: string): void {
    const before = this.#nodes.get(key) ?? '';
    if (before === node) return;
    if (before !== '') this.#counts.set(before, this.of(before) - 1);
    if (node === '') this.#nodes.delete(key);
    else {
      this.#nodes.set(key, node);
      this.#counts.set(node, this.of(node) + 1);
    }
  }
}

/**
 * Binds unassigned pods to the node with the fewest pods among those whose taints they tolerate and whose labels they select. It is not a
 * full scheduler: resources, ports and other pods have no influence, and are left to the node's admission. Where no node lifecycle controller
 * runs, it removes the not-ready taint of a new node once the node is ready.
 */
export function minimalScheduler(
  deps: ControllerDeps,
  bind: (namespace: string, name: string, node: string) => void,
): () => void {
  const { store } = deps.world;
  const waiting = new Set<string>();
  const reported = new Set<string>();
  const counts = new PodCounts(store);
  const nodesFor = (pod: JsonObject): readonly JsonObject[] => {
    const pinned = pinnedNode(pod);
    if (pinned === undefined) return [...store.list('nodes')].map(({ object }) => object);
    const entry = store.get('nodes', pinned);
    return entry ? [entry.object] : [];
  };
  const place = (pod: JsonObject): void => {
    const key = keyOf(namespaceOf(pod), nameOf(pod));
    const best = bestNode(pod, nodesFor(pod), (node) => counts.of(node));
    if (best === undefined) {
      waiting.add(key);
      const nodes = [...store.list('nodes')].map(({ object }) => object);
      const message = noFit(pod, nodes);
      reportUnschedulable(deps, pod, message);
      if (!reported.has(key))
        reportEvent(deps, pod, { type: 'Warning', reason: 'FailedScheduling', message });
      reported.add(key);
      return;
    }
    waiting.delete(key);
    reported.delete(key);
    const message = `Successfully assigned ${key} to ${best}`;
    bind(namespaceOf(pod), nameOf(pod), best);
    counts.set(key, best);
    reportEvent(deps, pod, { type: 'Normal', reason: 'Scheduled', message });
  };
  const retry = (): void => {
    for (const key of [...waiting]) {
      const entry = store.get('pods', key);
      if (entry && isWaiting(entry.object)) place(entry.object);
      else {
        waiting.delete(key);
        reported.delete(key);
      }
    }
  };
  const stopPods = follow(store, 'pods', (pod) => {
    const current = store.get('pods', keyOf(namespaceOf(pod), nameOf(pod)));
    if (current && isWaiting(current.object)) place(current.object);
  });
  const stopNodes = follow(store, 'nodes', (node) => {
    if (deps.world.acting?.actsOn(nodesKind) !== true) untaint(store, node);
    if (waiting.size > 0) retry();
  });
  return () => {
    stopPods();
    stopNodes();
    counts.stop();
  };
}

function untaint(store: Store, node: JsonObject): void {
  const entry = store.get('nodes', nameOf(node));
  if (!entry || !isReady(entry.object)) return;
  const spec = objectAt(entry.object, 'spec');
  const taints = objectsAt(spec, 'taints');
  const rest = taints.filter((taint) => taint['key'] !== 'node.kubernetes.io/not-ready');
  if (rest.length === taints.length) return;
  const { taints: _t, ...bare } = spec;
  store.put('nodes', { ...entry.object, spec: rest.length > 0 ? { ...bare, taints: rest } : bare });
}
