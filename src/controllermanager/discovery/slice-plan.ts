import { canonicalJson, sameJson } from '../../apimachinery/json.ts';
import { nameOf } from '../workload/objects.ts';
import { endpointsIn, type Slice, type SliceEndpoint, type SlicePort } from './service-pods.ts';

/** Slices to write. */
export interface SlicePlan {
  readonly create: readonly Slice[];
  readonly update: readonly Slice[];
  readonly remove: readonly Slice[];
}

/** The endpoints that share ports. */
export interface PortGroup {
  readonly ports: readonly SlicePort[];
  readonly endpoints: readonly SliceEndpoint[];
}

/** Returns a key that is equal for equal ports in any order. */
export const portKey = (ports: readonly SlicePort[] | undefined): string =>
  canonicalJson((ports ?? []).map((port) => canonicalJson(port)).sort());

/** An endpoint stays the same one as long as its addresses, host name and object do. */
const endpointKey = ({ addresses, hostname, targetRef }: SliceEndpoint): string =>
  canonicalJson([
    addresses.toSorted(),
    hostname ?? '',
    targetRef?.namespace ?? '',
    targetRef?.name ?? '',
    targetRef?.uid ?? '',
  ]);

interface Packing {
  /** The slices of these ports that exist. */
  readonly existing: readonly Slice[];
  readonly group: PortGroup;
  /** Returns an empty slice of the group. */
  readonly emptySlice: () => Slice;
  /** Returns the labels that a slice should have if it has others; undefined: they are right. */
  readonly newLabels: (slice: Slice) => Record<string, string> | undefined;
  /** The most endpoints of a slice. */
  readonly most: number;
}

/**
 * Distributes endpoints over slices with few writes: endpoints stay where they are, new ones fill slices that are written anyway, then one
 * slice with room for all of them, then new slices (`reconcileByPortMapping`).
 */
export function packSlices({ existing, group, emptySlice, newLabels, most }: Packing): SlicePlan {
  const rest = new Map(group.endpoints.map((endpoint) => [endpointKey(endpoint), endpoint]));
  const [update, unchanged, remove]: [Slice[], Slice[], Slice[]] = [[], [], []];
  for (const slice of existing) {
    const endpoints = endpointsIn(slice).flatMap((endpoint) => take(rest, endpointKey(endpoint)));
    const labels = newLabels(slice);
    const isSame = sameEndpoints(endpointsIn(slice), endpoints);
    if (isSame && !labels) unchanged.push(slice);
    else if (endpoints.length === 0 && !isSame) remove.push(slice);
    else update.push({ ...slice, endpoints, ...(labels && { metadata: { ...slice.metadata, labels } }) });
  }
  const waiting = [...rest.values()];
  const fill = (slice: Slice): Slice => ({
    ...slice,
    endpoints: [...endpointsIn(slice), ...waiting.splice(0, most - endpointsIn(slice).length)],
  });
  const filled = update
    .toSorted((one, other) => endpointsIn(other).length - endpointsIn(one).length)
    .map(fill);
  const create: Slice[] = [];
  while (waiting.length > 0) {
    const roomy = waiting.length < most ? tightest(unchanged, waiting.length, most) : undefined;
    if (roomy) filled.push(fill(roomy));
    else create.push(fill(emptySlice()));
  }
  return { create, update: filled, remove };
}

function take(from: Map<string, SliceEndpoint>, key: string): readonly SliceEndpoint[] {
  const endpoint = from.get(key);
  from.delete(key);
  return endpoint ? [endpoint] : [];
}

const withoutHints = ({ hints: _hints, ...endpoint }: SliceEndpoint): object => endpoint;
const sameEndpoints = (one: readonly SliceEndpoint[], other: readonly SliceEndpoint[]): boolean =>
  sameJson(one.map(withoutHints), other.map(withoutHints));

/** Returns the slice that is fullest once it has taken so many endpoints. */
const tightest = (slices: readonly Slice[], count: number, most: number): Slice | undefined =>
  slices
    .filter((slice) => endpointsIn(slice).length > 0 && endpointsIn(slice).length + count <= most)
    .toSorted((one, other) => endpointsIn(other).length - endpointsIn(one).length)[0];

/** Writes new slices over slices that would be deleted, as far as their address types are the same. */
export function recycled(plan: SlicePlan, mayRecycle: (slice: Slice) => boolean): SlicePlan {
  const [create, update, remove] = [[...plan.create], [...plan.update], [] as Slice[]];
  for (const old of plan.remove) {
    const at = mayRecycle(old)
      ? create.findLastIndex(({ addressType }) => addressType === old.addressType)
      : -1;
    const [slice] = at < 0 ? [] : create.splice(at, 1);
    if (!slice) remove.push(old);
    else {
      const { generateName: _prefix, ...metadata } = slice.metadata ?? {};
      const { resourceVersion } = old.metadata ?? {};
      const version = resourceVersion === undefined ? {} : { resourceVersion };
      update.push({ ...slice, metadata: { ...metadata, name: nameOf(old), ...version } });
    }
  }
  return { create, update, remove };
}
