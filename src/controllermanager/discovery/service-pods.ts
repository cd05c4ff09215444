import { sameJson } from '../../apimachinery/json.ts';
import { canonicalIp, ipFamily } from '../../kube/ip.ts';
import type { Client, KubeObject, ObjectOf, Request } from '../../controller/types.ts';
import { enqueueRequestsFromMapFunc, type EventHandler } from '../../controller/handler/handler.ts';
import type { UpdateEvent } from '../../controller/handler/event.ts';
import { kinds } from '../../controller/kinds.ts';
import { predicateFuncs, type Predicate } from '../../controller/predicate/predicate.ts';
import { createdMs, isDeleted, nameOf, namespaceOf } from '../workload/objects.ts';
import { isReady } from '../workload/pods.ts';
import type { Pod, Service } from '../workload/types.ts';

export type Slice = ObjectOf<typeof kinds.EndpointSlice>;
export type SliceEndpoint = NonNullable<Slice['endpoints']>[number];
export type SlicePort = NonNullable<Slice['ports']>[number];
export type Endpoints = ObjectOf<typeof kinds.Endpoints>;
export type ServicePort = NonNullable<NonNullable<Service['spec']>['ports']>[number];
export type Family = 'IPv4' | 'IPv6';

/** Returns the endpoints of a slice. */
export const endpointsIn = ({ endpoints }: Slice): readonly SliceEndpoint[] => endpoints ?? [];

export const headlessLabel = 'service.kubernetes.io/headless';
export const triggerAnnotation = 'endpoints.kubernetes.io/last-change-trigger-time';

const hasEnded = ({ status }: Pod): boolean => status?.phase === 'Succeeded' || status?.phase === 'Failed';
export const addressesOf = ({ status }: Pod): readonly string[] =>
  (status?.podIPs ?? []).flatMap(({ ip }) => (ip === '' ? [] : [canonicalIp(ip)]));

/** Returns the pod's addresses of a family. */
export const addressesOfFamily = (pod: Pod, family: Family): string[] =>
  addressesOf(pod).filter((ip) => ipFamily(ip) === family);

/** True for a pod that is an endpoint: it has an address, and has not ended. */
export const isEndpoint = (pod: Pod): boolean =>
  !hasEnded(pod) && ((pod.status?.podIP ?? '') !== '' || addressesOf(pod).length > 0);

/** True once a service has an address of the cluster; headless services have none. */
export const hasClusterIp = ({ spec }: Service): boolean =>
  spec?.clusterIP !== undefined && spec.clusterIP !== '' && spec.clusterIP !== 'None';

/** True for services whose endpoints are their pods. */
export const selectsPods = ({ spec }: Service): boolean =>
  spec?.type !== 'ExternalName' && spec?.selector !== undefined;

/** Reports whether a service selects a pod; without a selector it selects none. */
export const selects = ({ spec }: Service, pod: KubeObject): boolean =>
  spec?.selector !== undefined &&
  Object.entries(spec.selector).every(([key, value]) => pod.metadata?.labels?.[key] === value);

/** Returns the host name that the cluster's DNS gives a pod: that of pods whose subdomain is the service. */
export const hostnameOf = ({ spec }: Pod, service: Service): string | undefined =>
  (spec?.hostname ?? '') !== '' && spec?.subdomain === nameOf(service) ? spec.hostname : undefined;

/** Returns the port of a pod that a service's port leads to; undefined when the pod has no port of that name. */
export function targetPort(
  { spec }: Pod,
  { targetPort: target, protocol = 'TCP', port }: ServicePort,
): number | undefined {
  if (target === undefined) return port;
  if (typeof target === 'number') return target;
  const sidecars = (spec?.initContainers ?? []).filter(({ restartPolicy }) => restartPolicy === 'Always');
  return [...(spec?.containers ?? []), ...sidecars]
    .flatMap(({ ports = [] }) => ports)
    .find((one) => one.name === target && (one.protocol ?? 'TCP') === protocol)?.containerPort;
}

/** What the name and the addresses of an endpoint are made of. */
const traits = (pod: Pod): unknown => [
  pod.metadata?.labels ?? {},
  pod.spec?.hostname ?? '',
  pod.spec?.subdomain ?? '',
  isDeleted(pod),
  isReady(pod),
  hasEnded(pod),
  addressesOf(pod),
];

/** Lets the changes of pods pass that endpoints show. */
export const endpointChanges: Predicate<Pod> = predicateFuncs<Pod>({
  update: ({ objectOld, objectNew }: UpdateEvent<Pod>) => !sameJson(traits(objectOld), traits(objectNew)),
});

/** Returns a handler that asks for the services which select a pod. */
export const enqueueServicesOfPod = (client: Client): EventHandler<Pod> =>
  enqueueRequestsFromMapFunc<Pod>(async (pod): Promise<readonly Request[]> => {
    const services = await client.list(kinds.Service, { namespace: namespaceOf(pod) });
    return services
      .filter((service) => selects(service, pod))
      .map((service) => ({ namespace: namespaceOf(service), name: nameOf(service) }));
  });

interface TriggerState {
  readonly created: number;
  readonly pods: ReadonlyMap<string, number>;
}

/** TriggerTimes finds when the change happened that a write of endpoints follows, from which the latency of the network is measured. */
export class TriggerTimes {
  readonly #states = new Map<string, TriggerState>();

  /** Returns the earliest change since the last call for the service, as text; undefined: none has its time. */
  next(service: Service, pods: readonly Pod[]): string | undefined {
    const key = `${namespaceOf(service)}/${nameOf(service)}`;
    const before = this.#states.get(key);
    const times = new Map(
      pods.flatMap((pod) => {
        const at = pod.status?.conditions?.find(({ type }) => type === 'Ready')?.lastTransitionTime;
        return at === undefined ? [] : [[nameOf(pod), Date.parse(at)] as const];
      }),
    );
    const created = createdMs(service);
    this.#states.set(key, { created, pods: times });
    if (!before) return timeText(created);
    const changed = [...times].filter(([name, at]) => at > (before.pods.get(name) ?? 0)).map(([, at]) => at);
    if (created > before.created) changed.push(created);
    return changed.length > 0 ? timeText(Math.min(...changed)) : undefined;
  }

  forget({ namespace, name }: Request): void {
    this.#states.delete(`${namespace}/${name}`);
  }
}

const timeText = (at: number): string => new Date(at).toISOString().replace(/\.?0*Z$/, 'Z');
