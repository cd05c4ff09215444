import { hasCause, isNotFound } from '../../api/client.ts';
import { messageOf } from '../../base/errors.ts';
import { controllerManagedBy } from '../../controller/builder.ts';
import { enqueueRequestForObject, handlerFuncs } from '../../controller/handler/handler.ts';
import { ignoreNotFound } from '../../controller/client/errors.ts';
import { kinds } from '../../controller/kinds.ts';
import type { Client, Request } from '../../controller/types.ts';
import type { EventRecorder } from '../../kube/events.ts';
import type { ControllerContext } from '../context.ts';
import { nameOf, namespaceOf } from '../workload/objects.ts';
import type { Service } from '../workload/types.ts';
import { serviceOf } from './endpoint-slice-controller.ts';
import { endpointsOf } from './endpoints.ts';
import {
  endpointChanges,
  type Endpoints,
  enqueueServicesOfPod,
  selects,
  selectsPods,
  TriggerTimes,
} from './service-pods.ts';

const leaderAnnotation = 'control-plane.alpha.kubernetes.io/leader';

/** Starts the controller that shows the pods of services in Endpoints objects. */
export function addEndpoints(context: ControllerContext): void {
  const { manager } = context;
  const { client } = manager;
  const events = context.recorder('endpoint-controller');
  const triggers = new TriggerTimes();
  controllerManagedBy(manager)
    .named('endpoints-controller')
    .for(kinds.Service)
    .watches(kinds.Pod, enqueueServicesOfPod(client), { predicates: [endpointChanges] })
    .watches(
      kinds.Endpoints,
      handlerFuncs<Endpoints>({
        // those that were left while no controller ran; locks of leaders have no service
        create: (event, queue) => {
          const isLock = event.object.metadata?.annotations?.[leaderAnnotation] !== undefined;
          if (event.isInInitialList && !isLock) return enqueueRequestForObject.create(event, queue);
          return undefined;
        },
        delete: (event, queue) => enqueueRequestForObject.delete(event, queue),
      }),
    )
    .withOptions({ maxConcurrentReconciles: 5 })
    .complete(async (key, { signal }) => {
      const service = await serviceOf(client, key, signal);
      if (!service) {
        triggers.forget(key);
        await remove(client, key, signal);
      } else if (selectsPods(service)) await sync(client, service, { triggers, events, signal });
    });
}

async function remove(client: Client, key: Request, signal: AbortSignal): Promise<void> {
  try {
    await client.delete(kinds.Endpoints, key, { signal });
  } catch (reason) {
    if (!isNotFound(reason)) throw reason;
  }
}

interface Sync {
  readonly triggers: TriggerTimes;
  readonly events: EventRecorder;
  readonly signal: AbortSignal;
}

async function sync(client: Client, service: Service, { triggers, events, signal }: Sync): Promise<void> {
  const key = { namespace: namespaceOf(service), name: nameOf(service) };
  const listed = await client.list(kinds.Pod, { namespace: key.namespace, signal });
  const pods = listed.filter((pod) => selects(service, pod));
  const present = await endpointsAt(client, key, signal);
  const written = endpointsOf(service, pods, { present, trigger: triggers.next(service, pods) });
  if (!written) return;
  try {
    if (present) await client.update(kinds.Endpoints, written, { signal });
    else await client.create(kinds.Endpoints, written, { signal });
  } catch (reason) {
    if (hasCause(reason, 'NamespaceTerminating')) return;
    const object = { ...written, kind: 'Endpoints', apiVersion: 'v1' };
    const where = `${key.namespace}/${key.name}: ${messageOf(reason)}`;
    if (present)
      events.event(object, 'Warning', 'FailedToUpdateEndpoint', `Failed to update endpoint ${where}`);
    else
      events.event(
        object,
        'Warning',
        'FailedToCreateEndpoint',
        `Failed to create endpoint for service ${where}`,
      );
    throw reason;
  }
}

/** Reads the Endpoints of a service; undefined when there are none. */
export async function endpointsAt(
  client: Client,
  key: Request,
  signal: AbortSignal,
): Promise<Endpoints | undefined> {
  return client.get(kinds.Endpoints, key, { signal }).catch(ignoreNotFound);
}
