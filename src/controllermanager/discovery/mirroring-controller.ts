import { controllerManagedBy } from '../../controller/builder.ts';
import { enqueueRequestForObject, enqueueRequestsFromMapFunc } from '../../controller/handler/handler.ts';
import { kinds } from '../../controller/kinds.ts';
import type { ControllerContext } from '../context.ts';
import { isDeleted } from '../workload/objects.ts';
import { serviceOf } from './endpoint-slice-controller.ts';
import { managerLabel, serviceLabel } from './endpoint-slices.ts';
import { endpointsAt } from './endpoints-controller.ts';
import { isMirrored, mirrorManager, mostMirrored, planMirror } from './mirror-slices.ts';
import { deleteSlices, writeSlices } from './write-slices.ts';

/** Starts the controller that shows Endpoints objects of services without a selector in EndpointSlices. */
export function addEndpointSliceMirroring(context: ControllerContext): void {
  const { client } = context.manager;
  const events = context.recorder('endpoint-slice-mirroring-controller');
  controllerManagedBy(context.manager)
    .named('endpointslice-mirroring-controller')
    .for(kinds.Endpoints)
    .watches(kinds.Service, enqueueRequestForObject())
    .watches(
      kinds.EndpointSlice,
      enqueueRequestsFromMapFunc(({ metadata }) => {
        const name = metadata?.labels?.[serviceLabel] ?? '';
        const isOurs = metadata?.labels?.[managerLabel] === mirrorManager && name !== '';
        return isOurs ? [{ namespace: metadata.namespace ?? '', name }] : [];
      }),
    )
    .withOptions({ maxConcurrentReconciles: 5 })
    .complete(async (key, { signal }) => {
      const labels = { [serviceLabel]: key.name, [managerLabel]: mirrorManager };
      const listed = await client.list(kinds.EndpointSlice, { namespace: key.namespace, labels, signal });
      const slices = listed.filter((slice) => !isDeleted(slice));
      const endpoints = await endpointsAt(client, key, signal);
      const service = await serviceOf(client, key, signal);
      if (!endpoints || !service || service.spec?.selector !== undefined || !isMirrored(endpoints)) {
        await deleteSlices(slices, { client, signal });
        return;
      }
      const plan = planMirror(endpoints, slices);
      if (plan.invalid > 0) {
        const message = `Skipped ${plan.invalid} invalid IP addresses when mirroring to EndpointSlices`;
        events.event(endpoints, 'Warning', 'InvalidIPAddress', message);
      }
      if (plan.skipped > 0) {
        const most = `A max of ${mostMirrored} addresses can be mirrored to EndpointSlices per Endpoints subset`;
        const count = `${plan.skipped + plan.invalid} addresses were skipped`;
        events.event(endpoints, 'Warning', 'TooManyAddressesToMirror', `${most}. ${count}`);
      }
      await writeSlices(plan, {
        client,
        signal,
        // an annotation of the slices would differ from those of the Endpoints
        trigger: undefined,
        mayCreate: !isDeleted(endpoints),
      });
    });
}
