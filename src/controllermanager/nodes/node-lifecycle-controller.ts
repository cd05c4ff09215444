import { controllerManagedBy } from '../../controller/builder.ts';
import { ignoreNotFound } from '../../controller/client/errors.ts';
import { kinds } from '../../controller/kinds.ts';
import { predicateFuncs } from '../../controller/predicate/predicate.ts';
import type { Client } from '../../controller/types.ts';
import type { ControllerContext } from '../context.ts';
import type { Node, Pod } from '../workload/types.ts';
import { NodeMonitor } from './node-monitor.ts';
import { changeTaints, conditionTaints, missingLabels } from './node-taints.ts';
import { periodic } from './periodic.ts';

/** The time between two looks at all nodes (`--node-monitor-period`), ms. */
const monitorMs = 5000;

/** Starts the controller that watches over nodes: it marks silent ones, and taints nodes by their conditions. */
export function addNodeLifecycle(context: ControllerContext): void {
  const { manager, clock } = context;
  const { client, apiReader: reader, logger } = manager;
  const name = 'node-lifecycle-controller';
  const events = context.recorder('node-controller');
  const monitor = new NodeMonitor({ client, reader, clock, events, logger });
  manager.add(periodic((signal) => monitor.pass(signal), { name, periodMs: monitorMs, clock, logger }));
  controllerManagedBy(manager)
    .named(name)
    .for(kinds.Node)
    .withOptions({ maxConcurrentReconciles: 8 })
    .complete(async (key, { signal }) => {
      const node = await ifPresent(client.get(kinds.Node, key, { signal }));
      if (!node) return undefined;
      const change = conditionTaints(node);
      if (change.add.length > 0 || change.remove.length > 0)
        await changeTaints({ client, reader }, node, change, { now: clock.now(), signal });
      await label(client, node, signal);
      return undefined;
    });
  controllerManagedBy(manager)
    .named(`${name}-pods`)
    .for(kinds.Pod, {
      predicates: [
        predicateFuncs<Pod>({
          update: ({ objectOld, objectNew }) => objectOld.spec?.nodeName !== objectNew.spec?.nodeName,
          delete: () => false,
        }),
      ],
    })
    .complete(async (key, { signal }) => {
      const pod = await ifPresent(client.get(kinds.Pod, key, { signal }));
      if (pod) await monitor.placed(pod, signal);
      return undefined;
    });
}

async function ifPresent<T>(read: Promise<T>): Promise<T | undefined> {
  return read.catch(ignoreNotFound);
}

async function label(client: Client, node: Node, signal: AbortSignal): Promise<void> {
  const labels = missingLabels(node);
  if (Object.keys(labels).length === 0) return;
  const body = { metadata: { labels } };
  await client.patch(kinds.Node, node, { type: 'merge', data: () => body }, { signal });
}
