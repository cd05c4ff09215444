import { canonicalJson, sameJson } from '../../apimachinery/json.ts';
import { canonicalIp, ipFamily } from '../../kube/ip.ts';
import { kinds } from '../../controller/kinds.ts';
import { controllerReference, nameOf, namespaceOf, prefixOf } from '../workload/objects.ts';
import { managerLabel, serviceLabel } from './endpoint-slices.ts';
import { repacked, type Subset } from './endpoints.ts';
import {
  type Endpoints,
  endpointsIn,
  type Family,
  type Slice,
  type SliceEndpoint,
  type SlicePort,
  triggerAnnotation,
} from './service-pods.ts';
import { portKey, recycled, type SlicePlan } from './slice-plan.ts';

export const mirrorManager = 'endpointslicemirroring-controller.k8s.io';

/** The most addresses of a subset that are mirrored (`--mirroring-max-endpoints-per-subset`). */
export const mostMirrored = 1000;

const skipLabel = 'endpointslice.kubernetes.io/skip-mirror';
const leaderAnnotation = 'control-plane.alpha.kubernetes.io/leader';
const appliedAnnotation = 'kubectl.kubernetes.io/last-applied-configuration';

/** True for Endpoints that are mirrored unless their service has a selector. */
export const isMirrored = ({ metadata }: Endpoints): boolean =>
  metadata?.labels?.[skipLabel] !== 'true' && metadata?.annotations?.[leaderAnnotation] === undefined;

/** A plan, and how many addresses are left out. */
export interface Mirroring extends SlicePlan {
  readonly invalid: number;
  readonly skipped: number;
}

interface Group {
  readonly family: Family;
  readonly ports: SlicePort[];
  readonly endpoints: SliceEndpoint[];
}

type Address = NonNullable<Subset['addresses']>[number];

const endpointOf = ({ ip, hostname, nodeName, targetRef }: Address, ready: boolean): SliceEndpoint => ({
  addresses: [canonicalIp(ip)],
  conditions: { ready },
  ...(hostname !== undefined && hostname !== '' && { hostname }),
  ...(nodeName !== undefined && { nodeName }),
  ...(targetRef && { targetRef }),
});

const portsOf = ({ ports = [] }: Subset): SlicePort[] =>
  ports.map(({ name = '', port, protocol = 'TCP', appProtocol }) => ({
    name,
    port,
    protocol,
    ...(appProtocol !== undefined && { appProtocol }),
  }));

const groupKey = (family: string | undefined, ports: readonly SlicePort[] | undefined): string =>
  `${family ?? ''} ${portKey(ports)}`;

/** Returns which slices to write so that they show Endpoints of a service without a selector: one for each subset and family. */
export function planMirror(endpoints: Endpoints, slices: readonly Slice[]): Mirroring {
  const groups = new Map<string, Group>();
  let [invalid, skipped] = [0, 0];
  for (const subset of repacked(endpoints.subsets ?? [])) {
    const ports = portsOf(subset);
    const all = [
      ...(subset.addresses ?? []).map((address) => ({ address, ready: true })),
      ...(subset.notReadyAddresses ?? []).map((address) => ({ address, ready: false })),
    ];
    let count = 0;
    for (const { address, ready } of all) {
      const family = ipFamily(canonicalIp(address.ip));
      if (count >= mostMirrored) skipped++;
      else if (family === undefined) invalid++;
      else {
        count++;
        const key = groupKey(family, ports);
        const group = groups.get(key) ?? { family, ports, endpoints: [] };
        groups.set(key, group);
        group.endpoints.push(endpointOf(address, ready));
      }
    }
  }
  return { ...planGroups(endpoints, slices, groups), invalid, skipped };
}

function planGroups(
  endpoints: Endpoints,
  slices: readonly Slice[],
  groups: ReadonlyMap<string, Group>,
): SlicePlan {
  const [create, update]: [Slice[], Slice[]] = [[], []];
  const remove = slices.filter(({ addressType, ports }) => !groups.has(groupKey(addressType, ports)));
  for (const [key, group] of groups) {
    const [first, ...doubles] = slices.filter(
      ({ addressType, ports }) => groupKey(addressType, ports) === key,
    );
    remove.push(...doubles);
    const slice = mirrorOf(endpoints, group);
    if (!first) create.push(slice);
    else if (!isSame(first, slice)) {
      const { generateName: _prefix, ...metadata } = slice.metadata ?? {};
      const { resourceVersion } = first.metadata ?? {};
      const version = resourceVersion === undefined ? {} : { resourceVersion };
      update.push({ ...slice, metadata: { ...metadata, name: nameOf(first), ...version } });
    }
  }
  return recycled({ create, update, remove }, () => true);
}

function mirrorOf(endpoints: Endpoints, { family, ports, endpoints: all }: Group): Slice {
  const {
    [triggerAnnotation]: _time,
    [appliedAnnotation]: _applied,
    ...annotations
  } = endpoints.metadata?.annotations ?? {};
  return {
    metadata: {
      namespace: namespaceOf(endpoints),
      generateName: prefixOf(endpoints),
      labels: {
        ...endpoints.metadata?.labels,
        [serviceLabel]: nameOf(endpoints),
        [managerLabel]: mirrorManager,
      },
      ...(Object.keys(annotations).length > 0 && { annotations }),
      ownerReferences: [controllerReference(endpoints, kinds.Endpoints)],
    },
    addressType: family,
    ports,
    endpoints: all,
  };
}

/** Compares endpoints in any order, labels, annotations and owners. */
function isSame(present: Slice, slice: Slice): boolean {
  const traits = (one: Slice): unknown => {
    const { labels = {}, annotations = {}, ownerReferences = [] } = one.metadata ?? {};
    const endpoints = endpointsIn(one).map((endpoint) => canonicalJson(endpoint));
    return { labels, annotations, ownerReferences, endpoints: endpoints.sort() };
  };
  return sameJson(traits(present), traits(slice));
}
