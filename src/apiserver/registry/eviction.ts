import { conditionOf } from '../../apimachinery/conditions.ts';
import { type LabelSelector, labelSelectorMatches } from '../../kube/label-selector.ts';
import { withCondition } from '../../apimachinery/conditions.ts';
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

/** Granted evictions that the disruption controller has not seen yet: more are refused. */
const mostDisrupted = 2000;

/** Returns the reason why a budget allows no disruption. */
function exhausted(budget: JsonObject): string {
  const status = objectAt(budget, 'status');
  const condition = conditionOf(budget, 'DisruptionAllowed');
  const message = condition?.['status'] === 'False' ? stringAt(condition, 'message') : '';
  const reason = stringAt(condition, 'reason');
  const [current, desired] = [Number(status['currentHealthy'] ?? 0), Number(status['desiredHealthy'] ?? 0)];
  const name = nameOf(budget);
  const refusal = `The disruption budget ${name} does not allow evicting pods currently`;
  // with a failed sync the counts mean nothing
  if (message !== '' && reason === 'SyncFailed') return `${refusal} because it failed sync: ${message}`;
  if (current <= desired)
    return `The disruption budget ${name} needs ${desired} healthy pods and has ${current} currently`;
  return message === '' ? refusal : `${refusal} (${reason}): ${message}`;
}

const forbidden = (name: string, why: string): StatusError =>
  new StatusError(403, 'Forbidden', `poddisruptionbudget.policy "${name}" is forbidden: ${why}`, {
    details: { name, group: 'policy', kind: 'poddisruptionbudget' },
  });

/** Returns the conditions of a budget whose last disruption is used. */
function exhaustedConditions(status: JsonObject, now: number): readonly JsonObject[] {
  return withCondition(objectsAt(status, 'conditions'), {
    type: 'DisruptionAllowed',
    status: 'False',
    observedGeneration: status['observedGeneration'],
    lastTransitionTime: seconds(now),
    reason: 'InsufficientPods',
    message: '',
  });
}

/** Uses one disruption of a budget. @throws {StatusError} 429 when there is none */
function spend(budget: JsonObject, pod: JsonObject, context: WriteContext): void {
  const status = objectAt(budget, 'status');
  const name = nameOf(budget);
  const allowed = Number(status['disruptionsAllowed'] ?? 0);
  if (Number(status['observedGeneration'] ?? 0) < Number(valueAt(budget, 'metadata', 'generation') ?? 0))
    throw tooMany(`The disruption budget ${name} is still being processed by the server.`, 10);
  if (allowed < 0) throw forbidden(name, 'pdb disruptions allowed is negative');
  const disruptedPods = objectAt(status, 'disruptedPods');
  if (Object.keys(disruptedPods).length > mostDisrupted)
    throw forbidden(name, 'DisruptedPods map too big - too many evictions not confirmed by PDB controller');
  if (allowed === 0) throw tooMany(exhausted(budget));
  if (context.dryRun) return;
  const podName = nameOf(pod);
  const spent = {
    ...budget,
    status: {
      ...status,
      disruptionsAllowed: allowed - 1,
      disruptedPods: { ...disruptedPods, [podName]: seconds(context.now) },
      ...(allowed === 1 && { conditions: exhaustedConditions(status, context.now) }),
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

/** Checks that the pod is the one that a client has evicted. @throws {StatusError} 409 */
function checkPreconditions(pod: JsonObject, { uid, resourceVersion }: DeleteOptions): void {
  const metadata = objectAt(pod, 'metadata');
  const refuse = (what: string, expected: string, actual: string, end: string): never => {
    const why = `the ${what} in the precondition (${expected}) does not match the ${what} in record (${actual}). The object might have been ${end}`;
    throw conflict({ kind: 'Pod', name: nameOf(pod) }, why);
  };
  const [actualUid, version] = [stringAt(metadata, 'uid'), stringAt(metadata, 'resourceVersion')];
  if (uid !== undefined && uid !== actualUid) refuse('UID', uid, actualUid, 'deleted and then recreated');
  if (resourceVersion !== undefined && resourceVersion !== version)
    refuse('ResourceVersion', resourceVersion, version, 'modified');
}

/** Evicts a pod within the disruption budgets (A12). @throws {StatusError} 409, 429, 500 */
export function evict(
  at: { readonly namespace: string; readonly name: string; readonly options: DeleteOptions },
  pods: Registry,
  context: WriteContext,
): void {
  const { object: pod } = pods.entry(at.namespace, at.name);
  if (!ignoresBudgets(pod)) {
    const [budget, ...others] = budgetsOf(context.world.store, pod);
    if (others.length > 0)
      throw new StatusError(
        500,
        '',
        'This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.',
      );
    if (budget && !unreadyMayGo(pod, budget)) spend(budget, pod, context);
  }
  checkPreconditions(pod, at.options);
  const phase = valueAt(pod, 'status', 'phase');
  const isEnded =
    phase === 'Succeeded' ||
    phase === 'Failed' ||
    valueAt(pod, 'metadata', 'deletionTimestamp') !== undefined;
  if (!context.dryRun && !isEnded) pods.put(disrupted(pod, context.now), pod);
  // the condition has made another version of the pod
  const { resourceVersion: _version, ...options } = at.options;
  pods.delete(at.namespace, at.name, options, context);
}

/** Returns the pod with a condition that names the eviction. */
function disrupted(pod: JsonObject, now: number): JsonObject {
  const status = objectAt(pod, 'status');
  const conditions = withCondition(objectsAt(status, 'conditions'), {
    type: 'DisruptionTarget',
    status: 'True',
    lastProbeTime: null,
    lastTransitionTime: seconds(now),
    reason: 'EvictionByEvictionAPI',
    message: 'Eviction API: evicting',
  });
  return { ...pod, status: { ...status, conditions } };
}
