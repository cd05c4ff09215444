import { isConflict } from '../../api/client.ts';
import { labelSelectorText } from '../../apimachinery/selectors.ts';
import { messageOf } from '../../base/errors.ts';
import { controllerManagedBy } from '../../controller/builder.ts';
import { ignoreNotFound } from '../../controller/client/errors.ts';
import { enqueueRequestsFromMapFunc } from '../../controller/handler/handler.ts';
import { kinds } from '../../controller/kinds.ts';
import type { Result } from '../../controller/reconcile.ts';
import type { Request } from '../../controller/types.ts';
import type { EventRecorder } from '../../kube/events.ts';
import type { ControllerContext } from '../context.ts';
import { selectorOf } from '../workload/claim.ts';
import { nameOf, namespaceOf, sameStatus } from '../workload/objects.ts';
import type { Pod } from '../workload/types.ts';
import { type Budget, type BudgetStatus, budgetStatus, failedStatus, needsSizes } from './disruption.ts';
import { expectedPods, type ScaleReaders } from './expected-pods.ts';

/** Starts the controller that keeps the status of PodDisruptionBudgets, by which evictions are granted. */
export function addDisruption(context: ControllerContext): void {
  const { manager, clock } = context;
  const { client, apiReader: reader } = manager;
  const deps = { client, reader, events: context.recorder('controllermanager') };
  controllerManagedBy(manager)
    .named('disruption-controller')
    .for(kinds.PodDisruptionBudget)
    .watches(
      kinds.Pod,
      enqueueRequestsFromMapFunc(async (pod) => {
        const budgets = await client.list(kinds.PodDisruptionBudget, { namespace: namespaceOf(pod) });
        return budgets
          .filter(({ spec }) => selectorOf(spec?.selector)(pod))
          .map((budget) => ({ namespace: namespaceOf(budget), name: nameOf(budget) }));
      }),
    )
    .complete((key, call) => reconcile(deps, key, { signal: call.signal, now: clock.now() }));
}

interface Deps extends ScaleReaders {
  readonly events: EventRecorder;
}

interface Step {
  readonly signal: AbortSignal;
  readonly now: number;
}

async function reconcile(deps: Deps, key: Request, step: Step): Promise<Result | undefined> {
  const { client } = deps;
  const { signal, now } = step;
  const budget = await client.get(kinds.PodDisruptionBudget, key, { signal }).catch(ignoreNotFound);
  if (!budget) return undefined;
  try {
    const after = await sync(deps, budget, step);
    return after === undefined ? undefined : { requeueAfter: after };
  } catch (reason) {
    if (signal.aborted || isConflict(reason)) throw reason;
    await write(deps, budget, failedStatus(budget, messageOf(reason), now), signal);
    return undefined;
  }
}

/** Brings the status of a budget up to date. @returns after how many ms it is due again */
async function sync(deps: Deps, budget: Budget, { signal, now }: Step): Promise<number | undefined> {
  const { client, events } = deps;
  const namespace = namespaceOf(budget);
  const all = await client.list(kinds.Pod, { namespace, signal });
  const pods = all.filter(selectorOf(budget.spec?.selector));
  if (pods.length === 0) events.event(budget, 'Normal', 'NoPods', 'No matching pods found');
  const expected = needsSizes(budget) ? await sizesOf(deps, budget, pods, signal) : 0;
  const { status, after, notDeleted } = budgetStatus(budget, pods, { expected, now });
  for (const pod of notDeleted) {
    const message = `Pod was expected by PDB ${namespace}/${nameOf(budget)} to be deleted but it wasn't`;
    events.event({ apiVersion: 'v1', kind: 'Pod', ...pod }, 'Warning', 'NotDeleted', message);
  }
  await write(deps, budget, status, signal);
  return after;
}

async function write(
  { client }: Deps,
  budget: Budget,
  status: BudgetStatus,
  signal: AbortSignal,
): Promise<void> {
  if (!sameStatus(budget.status, status))
    await client.status.update(kinds.PodDisruptionBudget, { ...budget, status }, { signal });
}

/** Returns how many pods the controllers of these pods call for, and reports pods without one. */
async function sizesOf(
  deps: Deps,
  budget: Budget,
  pods: readonly Pod[],
  signal: AbortSignal,
): Promise<number> {
  const { events } = deps;
  try {
    const { count, unmanaged } = await expectedPods(deps, pods, signal);
    if (unmanaged.length > 0)
      events.event(
        budget,
        'Warning',
        'UnmanagedPods',
        `Pods selected by this PodDisruptionBudget (selector: ${labelSelectorText(budget.spec?.selector ?? {})}) were found to be unmanaged. As a result, the status of the PDB cannot be calculated correctly, which may result in undefined behavior. To account for these pods please set ".spec.minAvailable" field of the PDB to an integer value.`,
      );
    return count;
  } catch (reason) {
    const message = `Failed to calculate the number of expected pods: ${messageOf(reason)}`;
    if (!signal.aborted) events.event(budget, 'Warning', 'CalculateExpectedPodCountFailed', message);
    throw reason;
  }
}
