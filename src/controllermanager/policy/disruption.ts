import { withCondition } from '../../apimachinery/conditions.ts';
import { seconds } from '../../apimachinery/times.ts';
import type { kinds } from '../../controller/kinds.ts';
import type { ObjectOf } from '../../controller/types.ts';
import { isDeleted, nameOf, scaledValue } from '../workload/objects.ts';
import { isReady } from '../workload/pods.ts';
import type { Condition, Pod } from '../workload/types.ts';

export type Budget = ObjectOf<typeof kinds.PodDisruptionBudget>;
export type BudgetStatus = NonNullable<Budget['status']>;

/** How long an eviction that was granted counts although its pod is not being deleted yet, ms. */
const grantedMs = 120_000;

/** True for a budget by whose share of the pods' controllers the limit is computed: `maxUnavailable`, or a percentage. */
export const needsSizes = ({ spec }: Budget): boolean =>
  spec?.maxUnavailable !== undefined || typeof spec?.minAvailable === 'string';

/** Returns how many pods must stay healthy, of how many that there should be. */
function limitsOf(
  { spec }: Budget,
  pods: number,
  expected: number,
): readonly [desired: number, expected: number] {
  if (spec?.maxUnavailable !== undefined)
    return [Math.max(0, expected - scaledValue(spec.maxUnavailable, expected, 'up')), expected];
  const { minAvailable } = spec ?? {};
  if (typeof minAvailable === 'number') return [minAvailable, pods];
  return minAvailable === undefined ? [0, 0] : [scaledValue(minAvailable, expected, 'up'), expected];
}

type StatusConditions = NonNullable<BudgetStatus['conditions']>;

function conditionsWith(
  { status }: Budget,
  condition: Pick<Condition, 'status' | 'reason' | 'message'> & { readonly observedGeneration: number },
  now: number,
): StatusConditions {
  const all = withCondition<Condition>(status?.conditions ?? [], {
    type: 'DisruptionAllowed',
    ...condition,
    lastTransitionTime: seconds(now),
  });
  return all as unknown as StatusConditions;
}

/** What a budget has come to. */
export interface BudgetPlan {
  readonly status: BudgetStatus;
  /** When an eviction that was granted no longer counts, in ms from now; absent: none is open. */
  readonly after?: number;
  /** Pods that should have been deleted after their eviction, and were not. */
  readonly notDeleted: readonly Pod[];
}

/**
 * Returns the status of a budget.
 *
 * @param expected how many pods the controllers of the pods call for
 */
export function budgetStatus(
  budget: Budget,
  pods: readonly Pod[],
  { expected, now }: { readonly expected: number; readonly now: number },
): BudgetPlan {
  const [desiredHealthy, expectedPods] = limitsOf(budget, pods.length, expected);
  const present = pods.filter((pod) => !isDeleted(pod));
  const disrupted = new Map(Object.entries(budget.status?.disruptedPods ?? {}));
  const dueAt = (pod: Pod): number => Date.parse(disrupted.get(nameOf(pod)) ?? '') + grantedMs;
  const evicted = present.filter((pod) => disrupted.has(nameOf(pod)));
  const open = evicted.filter((pod) => dueAt(pod) > now);
  const currentHealthy = present.filter((pod) => isReady(pod) && !open.includes(pod)).length;
  const allowed = expectedPods > 0 ? Math.max(0, currentHealthy - desiredHealthy) : 0;
  const observedGeneration = budget.metadata?.generation ?? 0;
  const condition = {
    status: allowed > 0 ? 'True' : 'False',
    reason: allowed > 0 ? 'SufficientPods' : 'InsufficientPods',
    message: '',
    observedGeneration,
  } as const;
  const entries = open.map((pod) => [nameOf(pod), disrupted.get(nameOf(pod)) ?? ''] as const);
  return {
    status: {
      observedGeneration,
      ...(open.length > 0 && { disruptedPods: Object.fromEntries(entries) }),
      disruptionsAllowed: allowed,
      currentHealthy,
      desiredHealthy,
      expectedPods,
      conditions: conditionsWith(budget, condition, now),
    },
    ...(open.length > 0 && { after: Math.max(1, Math.min(...open.map(dueAt)) - now) }),
    notDeleted: evicted.filter((pod) => !open.includes(pod)),
  };
}

/** Returns the status of a budget that cannot be computed: no eviction is granted, and the condition says why. */
export function failedStatus(budget: Budget, message: string, now: number): BudgetStatus {
  const { status } = budget;
  const condition = {
    status: 'False',
    reason: 'SyncFailed',
    message,
    observedGeneration: status?.observedGeneration ?? 0,
  } as const;
  return {
    currentHealthy: 0,
    desiredHealthy: 0,
    expectedPods: 0,
    ...status,
    disruptionsAllowed: 0,
    conditions: conditionsWith(budget, condition, now),
  };
}
