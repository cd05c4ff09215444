import { sameJson } from '../../apimachinery/json.ts';
import { controllerManagedBy } from '../../controller/builder.ts';
import { enqueueRequestsFromMapFunc } from '../../controller/handler/handler.ts';
import { kinds } from '../../controller/kinds.ts';
import { predicateFuncs } from '../../controller/predicate/predicate.ts';
import type { ControllerContext } from '../context.ts';
import { nameOf, namespaceOf } from '../workload/objects.ts';
import type { Node, Pod } from '../workload/types.ts';
import { TaintEvictions } from './taint-evictions.ts';

/** Starts the controller that deletes pods by the NoExecute taints of their nodes. */
export function addTaintEviction(context: ControllerContext): void {
  const { manager, clock } = context;
  const { client, apiReader: reader } = manager;
  const name = 'taint-eviction-controller';
  const evictions = new TaintEvictions({ client, reader, clock, events: context.recorder(name) });
  const evicting = ({ spec }: Node): readonly unknown[] =>
    (spec?.taints ?? []).filter(({ effect }) => effect === 'NoExecute');
  controllerManagedBy(manager)
    .named(name)
    .for(kinds.Pod, {
      predicates: [
        predicateFuncs<Pod>({
          update: ({ objectOld: { spec: before }, objectNew: { spec } }) =>
            before?.nodeName !== spec?.nodeName ||
            !sameJson(before?.tolerations ?? [], spec?.tolerations ?? []),
        }),
      ],
    })
    .watches(
      kinds.Node,
      enqueueRequestsFromMapFunc(async (node) => {
        const pods = await client.list(kinds.Pod);
        return pods
          .filter(({ spec }) => spec?.nodeName === nameOf(node))
          .map((pod) => ({ namespace: namespaceOf(pod), name: nameOf(pod) }));
      }),
      {
        predicates: [
          predicateFuncs<Node>({
            create: ({ object }) => evicting(object).length > 0,
            update: ({ objectOld, objectNew }) => !sameJson(evicting(objectOld), evicting(objectNew)),
            delete: () => false,
          }),
        ],
      },
    )
    .withOptions({ maxConcurrentReconciles: 8 })
    .complete((key, { signal }) => evictions.reconcile(key, signal));
}
