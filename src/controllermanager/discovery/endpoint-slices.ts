import { sameJson } from '../../apimachinery/json.ts';
import { ipFamily } from '../../kube/ip.ts';
import { kinds } from '../../controller/kinds.ts';
import { controllerReference, isDeleted, nameOf, namespaceOf, prefixOf, uidOf } from '../workload/objects.ts';
import { isReady } from '../workload/pods.ts';
import type { Node, Pod, Service } from '../workload/types.ts';
import {
  addressesOfFamily,
  endpointsIn,
  type Family,
  hasClusterIp,
  headlessLabel,
  hostnameOf,
  isEndpoint,
  type Slice,
  type SliceEndpoint,
  type SlicePort,
  targetPort,
} from './service-pods.ts';
import { packSlices, type PortGroup, portKey, recycled, type SlicePlan } from './slice-plan.ts';

export const serviceLabel = 'kubernetes.io/service-name';
export const managerLabel = 'endpointslice.kubernetes.io/managed-by';
export const sliceManager = 'endpointslice-controller.k8s.io';

/** The most endpoints of a slice (`--max-endpoints-per-slice`). */
const mostEndpoints = 100;
const zoneLabel = 'topology.kubernetes.io/zone';

/** What the slices of a service are made of. */
export interface SliceView {
  readonly service: Service;
  /** The pods that the service selects. */
  readonly pods: readonly Pod[];
  /** The slices of the service that this controller manages. */
  readonly slices: readonly Slice[];
  readonly nodeOf: (name: string) => Node | undefined;
}

/** A plan, and pods that wait for their node. */
export interface ServiceSlices extends SlicePlan {
  /** Pods that are left out because their node does not exist. */
  readonly skipped: readonly Pod[];
}

/** Returns the address families of a service's slices. */
export function familiesOf({ spec }: Service): readonly Family[] {
  const families = (spec?.ipFamilies ?? []).filter((one): one is Family => one === 'IPv4' || one === 'IPv6');
  if (families.length > 0) return families;
  const { clusterIP = '' } = spec ?? {};
  if (clusterIP === '' || clusterIP === 'None') return ['IPv4', 'IPv6'];
  return [ipFamily(clusterIP) ?? 'IPv4'];
}

/** Returns the labels of a service's slices: those of the service, and what names service and manager. */
export function sliceLabels(service: Service): Record<string, string> {
  const own = Object.entries(service.metadata?.labels ?? {}).filter(
    ([key]) => key !== serviceLabel && key !== managerLabel && key !== headlessLabel,
  );
  return {
    ...Object.fromEntries(own),
    ...(!hasClusterIp(service) && { [headlessLabel]: '' }),
    [serviceLabel]: nameOf(service),
    [managerLabel]: sliceManager,
  };
}

/** The labels are compared without those that name service and manager: a change of these alone is not corrected. */
function labelsFor(service: Service, slice: Slice): Record<string, string> | undefined {
  const expected = sliceLabels(service);
  const compared = (labels: Readonly<Record<string, string>>): object => ({
    ...labels,
    [headlessLabel]: '',
    [serviceLabel]: '',
    [managerLabel]: '',
  });
  return sameJson(compared(slice.metadata?.labels ?? {}), compared(expected)) ? undefined : expected;
}

/** Returns the ports of a pod that a service's ports lead to. */
const portsOf = ({ spec }: Service, pod: Pod): SlicePort[] =>
  (spec?.ports ?? []).flatMap((port) => {
    const number = targetPort(pod, port);
    if (number === undefined) return [];
    const { name = '', protocol = 'TCP', appProtocol } = port;
    return [{ name, port: number, protocol, ...(appProtocol !== undefined && { appProtocol }) }];
  });

function endpointOf(
  pod: Pod,
  service: Service,
  { family, node }: { readonly family: Family; readonly node: Node | undefined },
): SliceEndpoint {
  const [serving, terminating] = [isReady(pod), isDeleted(pod)];
  const isPublished = service.spec?.publishNotReadyAddresses ?? false;
  const zone = node?.metadata?.labels?.[zoneLabel];
  const hostname = hostnameOf(pod, service);
  const nodeName = pod.spec?.nodeName;
  return {
    addresses: addressesOfFamily(pod, family),
    conditions: { ready: isPublished || (serving && !terminating), serving, terminating },
    ...(hostname !== undefined && { hostname }),
    ...(nodeName && { nodeName }),
    targetRef: { kind: 'Pod', namespace: namespaceOf(pod), name: nameOf(pod), uid: uidOf(pod) },
    ...(zone && { zone }),
  };
}

/** Returns which slices to write so that they show the service's pods. */
export function planServiceSlices(view: SliceView): ServiceSlices {
  const { service, slices, nodeOf } = view;
  const pods = view.pods.filter(isEndpoint);
  const isPublished = (pod: Pod): boolean =>
    (service.spec?.publishNotReadyAddresses ?? false) || nodeOf(pod.spec?.nodeName ?? '') !== undefined;
  const families = familiesOf(service);
  const plans = families.map((family) => planFamily({ ...view, pods: pods.filter(isPublished) }, family));
  const strangers = slices.filter(({ addressType }) => !families.some((family) => family === addressType));
  return {
    create: plans.flatMap(({ create }) => create),
    update: plans.flatMap(({ update }) => update),
    remove: [...plans.flatMap(({ remove }) => remove), ...strangers],
    skipped: pods.filter((pod) => !isPublished(pod)),
  };
}

const isOwned = ({ metadata }: Slice, service: Service): boolean =>
  metadata?.ownerReferences?.some(
    ({ uid, kind, apiVersion }) => uid === uidOf(service) && kind === 'Service' && apiVersion === 'v1',
  ) ?? false;

function planFamily({ service, pods, slices, nodeOf }: SliceView, family: Family): SlicePlan {
  const all = slices.filter(({ addressType }) => addressType === family);
  const own = all.filter((slice) => isOwned(slice, service));
  const groups = groupByPorts(service, pods, (pod) =>
    endpointOf(pod, service, { family, node: nodeOf(pod.spec?.nodeName ?? '') }),
  );
  const emptySlice = (ports: readonly SlicePort[]): Slice => ({
    metadata: {
      namespace: namespaceOf(service),
      generateName: prefixOf(service),
      labels: sliceLabels(service),
      ownerReferences: [controllerReference(service, kinds.Service)],
    },
    addressType: family,
    ports: [...ports],
    endpoints: [],
  });
  const plans = [...groups].map(([key, group]) =>
    packSlices({
      existing: own.filter(({ ports }) => portKey(ports) === key),
      group,
      emptySlice: () => emptySlice(group.ports),
      newLabels: (slice) => labelsFor(service, slice),
      most: mostEndpoints,
    }),
  );
  const create = plans.flatMap((plan) => plan.create);
  const remove = [
    ...all.filter((slice) => !isOwned(slice, service) || !groups.has(portKey(slice.ports))),
    ...plans.flatMap((plan) => plan.remove),
  ];
  const update = plans.flatMap((plan) => plan.update);
  // a service without endpoints has one empty slice
  if (remove.length === all.length && create.length === 0) {
    const placeholder = emptySlice([]);
    const at = remove.findIndex((slice) => isOwned(slice, service) && isPlaceholder(slice, placeholder));
    if (at < 0) create.push(placeholder);
    else remove.splice(at, 1);
  }
  const plan = recycled({ create, update, remove }, (slice) => isOwned(slice, service));
  return withHints(plan, all, service);
}

const isPlaceholder = (slice: Slice, placeholder: Slice): boolean =>
  endpointsIn(slice).length === 0 &&
  (slice.ports ?? []).length === 0 &&
  sameJson(slice.metadata?.labels, placeholder.metadata?.labels);

function groupByPorts(
  service: Service,
  pods: readonly Pod[],
  toEndpoint: (pod: Pod) => SliceEndpoint,
): ReadonlyMap<string, PortGroup> {
  const groups = new Map<string, PortGroup & { readonly endpoints: SliceEndpoint[] }>();
  for (const pod of pods) {
    const ports = portsOf(service, pod);
    const key = portKey(ports);
    const group = groups.get(key) ?? { ports, endpoints: [] };
    groups.set(key, group);
    const endpoint = toEndpoint(pod);
    if (endpoint.addresses.length > 0) group.endpoints.push(endpoint);
  }
  return groups;
}

/** Gives ready endpoints the hints that the service's `trafficDistribution` asks for, and takes others away. */
function withHints(plan: SlicePlan, all: readonly Slice[], { spec }: Service): SlicePlan {
  const hinted = (slice: Slice): Slice => ({
    ...slice,
    endpoints: endpointsIn(slice).map((endpoint) => hintedEndpoint(endpoint, spec?.trafficDistribution)),
  });
  const touched = new Set([...plan.update, ...plan.remove].map(nameOf));
  const late = all.filter(
    (slice) => !touched.has(nameOf(slice)) && !sameJson(hinted(slice).endpoints, endpointsIn(slice)),
  );
  return {
    create: plan.create.map(hinted),
    update: [...plan.update, ...late].map(hinted),
    remove: plan.remove,
  };
}

const zoneModes = new Set(['PreferClose', 'PreferSameZone', 'PreferSameNode']);

function hintedEndpoint(endpoint: SliceEndpoint, mode: string | undefined): SliceEndpoint {
  const { hints, ...plain } = endpoint;
  if (mode === undefined || !zoneModes.has(mode)) return hints ? plain : endpoint;
  if (endpoint.conditions?.ready !== true) return endpoint;
  const added = {
    ...(endpoint.zone !== undefined && { forZones: [{ name: endpoint.zone }] }),
    ...(mode === 'PreferSameNode' &&
      endpoint.nodeName !== undefined && { forNodes: [{ name: endpoint.nodeName }] }),
  };
  return Object.keys(added).length > 0 ? { ...plain, hints: added } : plain;
}
