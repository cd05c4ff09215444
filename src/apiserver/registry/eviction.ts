import { type LabelSelector, labelSelectorMatches } from '../../kube/label-selector.ts';
import { type JsonObject, nameOf, objectAt, objectsAt, stringAt, valueAt } from '../../apimachinery/json.ts';
import type { DeleteOptions } from './deletion.ts';
import { builtIn } from '../../apimachinery/kinds.ts';
import { manageUpdate } from '../../apimachinery/managed-fields/managed-fields.ts';
import type { Registry } from './registry.ts';
import { conflict, StatusError } from '../../apimachinery/status-error.ts';
import type { Store } from '../storage/store.ts';
import type { WriteContext } from '../request/write-context.ts';
import { seconds } from '../../apimachinery/times.ts';

const budgets = 'policy/poddisruptionbudgets';
/** The API server itself updates the status of a budget. */
const own = {
  manager: 'kube-apiserver',
  operation: 'Update',
  apiVersion: 'policy/v1',
  subresource: 'status',
} as const;

const tooMany = (cause: string, retryAfterSeconds?: number): StatusError =>
  new StatusError(
    429,
    'TooManyRequests',
    "Cannot evict pod as it would violate the pod's disruption budget.",
    {
      details: {
        causes: [{ reason: 'DisruptionBudget', message: cause }],
        ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
      },
      ...(retryAfterSeconds !== undefined && { headers: { 'Retry-After': String(retryAfterSeconds) } }),
    },
  );

const isReady = (pod: JsonObject): boolean =>
  objectsAt(objectAt(pod, 'status'), 'conditions').some(
    (c) => c['type'] === 'Ready' && c['status'] === 'True',
  );

/** Reports whether a pod may be evicted without a budget: not started, ended, or already being deleted. */
function ignoresBudgets(pod: JsonObject): boolean {
  const phase = valueAt(pod, 'status', 'phase');
  return (
    phase === 'Succeeded' ||
    phase === 'Failed' ||
    phase === 'Pending' ||
    valueAt(pod, 'metadata', 'deletionTimestamp') !== undefined
  );
}

/** Reports whether an unready pod may be evicted regardless of the budget. */
function unreadyMayGo(pod: JsonObject, budget: JsonObject): boolean {
  if (isReady(pod)) return false;
  if (valueAt(budget, 'spec', 'unhealthyPodEvictionPolicy') === 'AlwaysAllow') return true;
  const status = objectAt(budget, 'status');
  return (
    Number(status['currentHealthy'] ?? 0) >= Number(status['desiredHealthy'] ?? 0) &&
    Number(status['desiredHealthy'] ?? 0) > 0
  );
}

/** Uses one disruption of a budget. @throws {StatusError} 429 when there is none */
function spend(budget: JsonObject, pod: JsonObject, context: WriteContext): void {
  const status = objectAt(budget, 'status');
  const name = nameOf(budget);
  const allowed = Number(status['disruptionsAllowed'] ?? 0);
  if (Number(status['observedGeneration'] ?? 0) < Number(valueAt(budget, 'metadata', 'generation') ?? 0))
    throw tooMany(`The disruption budget ${name} is still being processed by the server.`, 10);
  if (allowed < 0)
    throw new StatusError(
      403,
      'Forbidden',
      `poddisruptionbudgets.policy "${name}" is forbidden: pdb disruptions allowed is negative`,
      {
        details: { name, group: 'policy', kind: 'poddisruptionbudgets' },
      },
    );
  if (allowed === 0)
    throw tooMany(
      `The disruption budget ${name} needs ${Number(status['desiredHealthy'] ?? 0)} healthy pods and has ${Number(status['currentHealthy'] ?? 0)} currently`,
    );
  if (context.dryRun) return;
  const podName = nameOf(pod);
  const spent = {
    ...budget,
    status: {
      ...status,
      disruptionsAllowed: allowed - 1,
      disruptedPods: { ...objectAt(status, 'disruptedPods'), [podName]: seconds(context.now) },
    },
  };
  const { type } = builtIn('poddisruptionbudgets', 'policy');
  context.world.store.put(
    budgets,
    manageUpdate(budget, spent, type, { writer: own, now: context.now, reset: [['f:spec'], ['f:metadata']] }),
  );
}

function budgetsOf(store: Store, pod: JsonObject): JsonObject[] {
  const metadata = objectAt(pod, 'metadata');
  const labels = objectAt(metadata, 'labels') as Readonly<Record<string, string>>;
  return [...store.list(budgets, `${stringAt(metadata, 'namespace')}/`)]
    .map((entry) => entry.object)
    .filter((budget) =>
      labelSelectorMatches(objectAt(budget, 'spec')['selector'] as LabelSelector | undefined, labels),
    );
}

/** Evicts a pod within the disruption budgets (A12). @throws {StatusError} 429, 500 */
export function evict(
  at: { readonly namespace: string; readonly name: string; readonly options: DeleteOptions },
  pods: Registry,
  context: WriteContext,
): void {
  const { object: pod } = pods.entry(at.namespace, at.name);
  const remove = (): void => {
    pods.delete(at.namespace, at.name, at.options, context);
  };
  if (
    at.options.resourceVersion !== undefined &&
    at.options.resourceVersion !== valueAt(pod, 'metadata', 'resourceVersion')
  )
    throw conflict(
      { kind: 'pods', name: at.name },
      `the ResourceVersion in the precondition (${at.options.resourceVersion}) does not match the ResourceVersion in record (${String(valueAt(pod, 'metadata', 'resourceVersion'))}). The object might have been modified`,
    );
  const mark = (): void => {
    const phase = valueAt(pod, 'status', 'phase');
    const ended =
      phase === 'Succeeded' ||
      phase === 'Failed' ||
      valueAt(pod, 'metadata', 'deletionTimestamp') !== undefined;
    if (!context.dryRun && !ended) pods.put(disrupted(pod, context.now), pod);
  };
  if (ignoresBudgets(pod)) {
    mark();
    remove();
    return;
  }
  const found = budgetsOf(context.world.store, pod);
  if (found.length > 1)
    throw new StatusError(
      500,
      '',
      'This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.',
    );
  const [budget] = found;
  if (budget && !unreadyMayGo(pod, budget)) spend(budget, pod, context);
  mark();
  remove();
}

/** Returns the pod with a condition that names the eviction. */
function disrupted(pod: JsonObject, now: number): JsonObject {
  const status = objectAt(pod, 'status');
  const condition = {
    type: 'DisruptionTarget',
    status: 'True',
    lastProbeTime: null,
    lastTransitionTime: seconds(now),
    reason: 'EvictionByEvictionAPI',
    message: 'Eviction API: evicting',
  };
  const others = objectsAt(status, 'conditions').filter((one) => one['type'] !== condition.type);
  return { ...pod, status: { ...status, conditions: [...others, condition] } };
}
