import { isNotFound } from '../../api/client.ts';
import { controllerManagedBy } from '../../controller/builder.ts';
import { enqueueRequestsFromMapFunc } from '../../controller/handler/handler.ts';
import { kinds } from '../../controller/kinds.ts';
import type { ReconcileContext, Result } from '../../controller/reconcile.ts';
import type { Client, Kind, KubeObject, Request } from '../../controller/types.ts';
import type { ControllerContext } from '../context.ts';
import { selectorOf } from '../workload/claim.ts';
import { controllerOf, nameOf, namespaceOf, sameStatus } from '../workload/objects.ts';
import type { Pod } from '../workload/types.ts';
import { type Budget, budgetStatus } from './disruption.ts';

/** Starts the controller that keeps the status of PodDisruptionBudgets, by which evictions are granted. */
export function addDisruption(context: ControllerContext): void {
  const { manager, clock } = context;
  const { client } = manager;
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
    .complete((key, call) => reconcile(client, key, { ...call, now: clock.now() }));
}

async function reconcile(
  client: Client,
  key: Request,
  { signal, now }: ReconcileContext & { readonly now: number },
): Promise<Result | undefined> {
  let budget: Budget;
  try {
    budget = await client.get(kinds.PodDisruptionBudget, key, { signal });
  } catch (reason) {
    if (isNotFound(reason)) return undefined;
    throw reason;
  }
  const all = await client.list(kinds.Pod, { namespace: key.namespace, signal });
  const pods = all.filter(selectorOf(budget.spec?.selector));
  const expected = await expectedPods(client, pods, signal);
  const { status, after } = budgetStatus(budget, pods, { expected, now });
  if (!sameStatus(budget.status, status))
    await client.status.update(kinds.PodDisruptionBudget, { ...budget, status }, { signal });
  return after === undefined ? undefined : { requeueAfter: after };
}

interface Scaled extends KubeObject {
  spec?: { replicas?: number };
}
const scaledKinds: ReadonlyMap<string, Kind<Scaled>> = new Map<string, Kind<Scaled>>([
  ['ReplicaSet', kinds.ReplicaSet],
  ['ReplicationController', kinds.ReplicationController],
  ['StatefulSet', kinds.StatefulSet],
]);

/** Returns how many pods the controllers of these pods want. A pod without one counts for itself. */
async function expectedPods(client: Client, pods: readonly Pod[], signal: AbortSignal): Promise<number> {
  const sizes = new Map<string, number>();
  for (const pod of pods) {
    const owner = controllerOf(pod);
    const key = owner?.uid ?? nameOf(pod);
    if (sizes.has(key)) continue;
    const kind = owner && scaledKinds.get(owner.kind);
    const found =
      kind && (await sizeOf(client, kind, { namespace: namespaceOf(pod), name: owner.name }, signal));
    sizes.set(key, found ?? 1);
  }
  return [...sizes.values()].reduce((sum, size) => sum + size, 0);
}

async function sizeOf(
  client: Client,
  kind: Kind<Scaled>,
  key: Request,
  signal: AbortSignal,
): Promise<number | undefined> {
  try {
    return (await client.get(kind, key, { signal })).spec?.replicas ?? 1;
  } catch (reason) {
    if (isNotFound(reason)) return 0;
    throw reason;
  }
}
