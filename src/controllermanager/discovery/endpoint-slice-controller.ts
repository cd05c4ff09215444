import { messageOf } from '../../base/errors.ts';
import { controllerManagedBy } from '../../controller/builder.ts';
import { enqueueRequestsFromMapFunc } from '../../controller/handler/handler.ts';
import { ignoreNotFound } from '../../controller/client/errors.ts';
import { kinds } from '../../controller/kinds.ts';
import type { Client, Request } from '../../controller/types.ts';
import type { ControllerContext } from '../context.ts';
import { isDeleted, nameOf, namespaceOf } from '../workload/objects.ts';
import type { Node, Service } from '../workload/types.ts';
import { managerLabel, planServiceSlices, serviceLabel, sliceManager } from './endpoint-slices.ts';
import { endpointChanges, enqueueServicesOfPod, selects, selectsPods, TriggerTimes } from './service-pods.ts';
import { writeSlices } from './write-slices.ts';

/** Starts the controller that shows the pods of services in EndpointSlices. */
export function addEndpointSlices(context: ControllerContext): void {
  const { manager } = context;
  const { client } = manager;
  const events = context.recorder('endpoint-slice-controller');
  const triggers = new TriggerTimes();
  controllerManagedBy(manager)
    .named('endpointslice-controller')
    .for(kinds.Service)
    .watches(kinds.Pod, enqueueServicesOfPod(client), { predicates: [endpointChanges] })
    .watches(
      kinds.EndpointSlice,
      enqueueRequestsFromMapFunc(({ metadata }) => {
        const name = metadata?.labels?.[serviceLabel] ?? '';
        const isOurs = metadata?.labels?.[managerLabel] === sliceManager && name !== '';
        return isOurs ? [{ namespace: metadata.namespace ?? '', name }] : [];
      }),
    )
    .withOptions({ maxConcurrentReconciles: 5 })
    .complete(async (key, { signal }) => {
      const service = await serviceOf(client, key, signal);
      if (!service) {
        triggers.forget(key);
        return;
      }
      if (!selectsPods(service)) return;
      try {
        await sync(client, service, { triggers, signal });
      } catch (reason) {
        if (signal.aborted) throw reason;
        const where = `Service ${key.namespace}/${key.name}`;
        const message = `Error updating Endpoint Slices for ${where}: ${messageOf(reason)}`;
        events.event(service, 'Warning', 'FailedToUpdateEndpointSlices', message);
        throw reason;
      }
    });
}

/** Reads a service; undefined when there is none. */
export async function serviceOf(
  client: Client,
  key: Request,
  signal: AbortSignal,
): Promise<Service | undefined> {
  return client.get(kinds.Service, key, { signal }).catch(ignoreNotFound);
}

async function sync(
  client: Client,
  service: Service,
  { triggers, signal }: { readonly triggers: TriggerTimes; readonly signal: AbortSignal },
): Promise<void> {
  const namespace = namespaceOf(service);
  const listed = await client.list(kinds.Pod, { namespace, signal });
  const pods = listed.filter((pod) => selects(service, pod));
  const labels = { [serviceLabel]: nameOf(service), [managerLabel]: sliceManager };
  const slices = await client.list(kinds.EndpointSlice, { namespace, labels, signal });
  const nodes = new Map<string, Node>();
  for (const node of await client.list(kinds.Node, { signal })) nodes.set(nameOf(node), node);
  const trigger = triggers.next(service, pods);
  const plan = planServiceSlices({
    service,
    pods,
    slices: slices.filter((slice) => !isDeleted(slice)),
    nodeOf: (name) => nodes.get(name),
  });
  await writeSlices(plan, { client, signal, trigger, mayCreate: !isDeleted(service) });
  const [skipped] = plan.skipped;
  if (!skipped) return;
  const where = `Service ${namespace}/${nameOf(service)}: Node ${skipped.spec?.nodeName ?? ''} Not Found`;
  throw new Error(`skipping Pod ${nameOf(skipped)} for ${where}`);
}
