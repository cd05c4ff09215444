import { seconds } from '../../apimachinery/times.ts';
import { isActive, isReady } from '../workload/pods.ts';
import { nameOf, scaledValue, withCondition } from '../workload/objects.ts';
import type { Pod } from '../workload/types.ts';
import type { kinds } from '../../controller/kinds.ts';
import type { ObjectOf } from '../../controller/types.ts';

export type Budget = ObjectOf<typeof kinds.PodDisruptionBudget>;
type Status = NonNullable<Budget['status']>;

/** How long an eviction that was granted counts although its pod is not being deleted yet, ms. */
const grantedMs = 120_000;

/** Returns how many pods must stay healthy, of how many that are wanted. */
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

/**
 * Returns the status of a budget.
 *
 * @param wanted how many pods the controllers of the pods want
 */
export function budgetStatus(
  budget: Budget,
  pods: readonly Pod[],
  { expected, now }: { readonly expected: number; readonly now: number },
): { readonly status: Status; readonly after?: number } {
  const active = pods.filter(({ status }) => status?.phase !== 'Succeeded' && status?.phase !== 'Failed');
  const [desiredHealthy, expectedPods] = limitsOf(budget, active.length, expected);
  const granted = Object.entries(budget.status?.disruptedPods ?? {}).filter(
    ([name, at]) =>
      Date.parse(at) + grantedMs > now && active.some((pod) => nameOf(pod) === name && isActive(pod)),
  );
  const names = new Set(granted.map(([name]) => name));
  const healthy = active.filter((pod) => isActive(pod) && isReady(pod) && !names.has(nameOf(pod))).length;
  const allowed = expectedPods > 0 ? Math.max(0, healthy - desiredHealthy) : 0;
  const reason = allowed > 0 ? 'SufficientPods' : 'InsufficientPods';
  const observedGeneration = budget.metadata?.generation ?? 0;
  const condition = {
    type: 'DisruptionAllowed',
    status: allowed > 0 ? 'True' : 'False',
    reason,
    message: '',
    observedGeneration,
  };
  const conditions = withCondition(budget.status?.conditions, condition, seconds(now));
  const waits = granted.map(([, at]) => Date.parse(at) + grantedMs - now);
  return {
    status: {
      observedGeneration,
      ...(granted.length > 0 && { disruptedPods: Object.fromEntries(granted) }),
      disruptionsAllowed: allowed,
      currentHealthy: healthy,
      desiredHealthy,
      expectedPods,
      conditions: conditions as unknown as NonNullable<Status['conditions']>,
    },
    ...(waits.length > 0 && { after: Math.max(1, Math.min(...waits)) }),
  };
}
