import { messageOf } from '../../base/errors.ts';
import { type ControllerDeps, follow, systemContext } from './controllers.ts';
import {
  type JsonObject,
  nameOf,
  namespaceOf,
  objectAt,
  objectsAt,
  stringAt,
  valueAt,
} from '../../apimachinery/json.ts';
import { builtIn } from '../../apimachinery/kinds.ts';
import { keyOf, type Store } from '../storage/store.ts';

const isReady = (node: JsonObject): boolean =>
  objectsAt(objectAt(node, 'status'), 'conditions').some(
    (c) => c['type'] === 'Ready' && c['status'] === 'True',
  ) && valueAt(node, 'spec', 'unschedulable') !== true;

const isWaiting = (pod: JsonObject): boolean =>
  stringAt(objectAt(pod, 'spec'), 'nodeName') === '' &&
  objectsAt(objectAt(pod, 'spec'), 'schedulingGates').length === 0 &&
  valueAt(pod, 'spec', 'schedulerName') === 'default-scheduler' &&
  valueAt(pod, 'metadata', 'deletionTimestamp') === undefined &&
  valueAt(pod, 'status', 'phase') === 'Pending';

/**
 * Binds unassigned pods to the ready node with the fewest pods. It is not a full scheduler: it considers readiness and the node selector,
 * and leaves the rest to the node's admission. It removes the not-ready taint of a new node once the node is ready.
 */
export function minimalScheduler(
  deps: ControllerDeps,
  bind: (namespace: string, name: string, node: string) => void,
): () => void {
  const { store } = deps.world;
  const waiting = new Set<string>();
  const reported = new Set<string>();
  const counts = new Map<string, number>();
  const fits = (pod: JsonObject, node: JsonObject): boolean =>
    Object.entries(objectAt(objectAt(pod, 'spec'), 'nodeSelector')).every(
      ([key, value]) => valueAt(node, 'metadata', 'labels', key) === value,
    );
  const place = (pod: JsonObject): void => {
    const key = keyOf(namespaceOf(pod), nameOf(pod));
    const nodes = [...store.list('nodes')]
      .map((entry) => entry.object)
      .filter((node) => isReady(node) && fits(pod, node));
    const [best] = nodes.sort((a, b) => (counts.get(nameOf(a)) ?? 0) - (counts.get(nameOf(b)) ?? 0));
    if (!best) {
      waiting.add(key);
      if (!reported.has(key)) tell(deps, pod, failure(store));
      reported.add(key);
      return;
    }
    waiting.delete(key);
    reported.delete(key);
    counts.set(nameOf(best), (counts.get(nameOf(best)) ?? 0) + 1);
    const message = `Successfully assigned ${key} to ${nameOf(best)}`;
    bind(namespaceOf(pod), nameOf(pod), nameOf(best));
    tell(deps, pod, { type: 'Normal', reason: 'Scheduled', message });
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
    untaint(store, node);
    if (waiting.size > 0 && isReady(node)) retry();
  });
  return () => {
    stopPods();
    stopNodes();
  };
}

interface Said {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
}

function failure(store: Store): Said {
  const nodes = [...store.list('nodes')].map((entry) => entry.object);
  const unready = nodes.filter((node) => !isReady(node)).length;
  const parts = [
    ...(unready > 0 ? [`${unready} node(s) were not ready or unschedulable`] : []),
    ...(nodes.length > unready ? [`${nodes.length - unready} node(s) didn't match Pod's node selector`] : []),
  ];
  const why = parts.length > 0 ? parts.join(', ') : 'no node has registered';
  const message = `0/${nodes.length} nodes are available: ${why}.`;
  return { type: 'Warning', reason: 'FailedScheduling', message };
}

/** Writes an event about a pod as the scheduler. */
function tell(deps: ControllerDeps, pod: JsonObject, said: Said): void {
  const { namespace, name, uid } = objectAt(pod, 'metadata');
  const at = new Date(deps.clock.now()).toISOString();
  const stamp = (BigInt(deps.clock.now()) * 1_000_000n).toString(16);
  const component = 'default-scheduler';
  const event = {
    metadata: { name: `${nameOf(pod)}.${stamp}`, namespace },
    involvedObject: { kind: 'Pod', apiVersion: 'v1', namespace, name, uid },
    ...said,
    source: {},
    reportingComponent: component,
    reportingInstance: component,
    action: said.type === 'Normal' ? 'Binding' : 'Scheduling',
    eventTime: at.replace('Z', '000Z'),
    firstTimestamp: null,
    lastTimestamp: null,
  };
  const writer = { manager: component, operation: 'Update', apiVersion: 'v1' } as const;
  try {
    deps.resources
      .registry(builtIn('events'))
      .create(namespaceOf(pod), event, writer, systemContext(deps.world));
  } catch (reason) {
    deps.logger.warn('cannot write scheduler event', { err: messageOf(reason) });
  }
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
