import { canonicalJson, sameJson } from '../../apimachinery/json.ts';
import { ipFamily } from '../../kube/ip.ts';
import { isDeleted, nameOf, namespaceOf, uidOf } from '../workload/objects.ts';
import { isReady } from '../workload/pods.ts';
import type { Pod, Service } from '../workload/types.ts';
import {
  addressesOf,
  type Endpoints,
  type Family,
  hasClusterIp,
  headlessLabel,
  hostnameOf,
  isEndpoint,
  type ServicePort,
  targetPort,
  triggerAnnotation,
} from './service-pods.ts';

export type Subset = NonNullable<Endpoints['subsets']>[number];
type Address = NonNullable<Subset['addresses']>[number];
type Port = NonNullable<Subset['ports']>[number];

const managerLabel = 'endpoints.kubernetes.io/managed-by';
const manager = 'endpoint-controller';
const capacityAnnotation = 'endpoints.kubernetes.io/over-capacity';
/** The most addresses of an Endpoints object. */
const mostAddresses = 1000;

const familyOf = ({ spec }: Service, pod: Pod): Family => {
  const [first] = spec?.ipFamilies ?? [];
  if (first === 'IPv4' || first === 'IPv6') return first;
  const { clusterIP = '' } = spec ?? {};
  return ipFamily(clusterIP === '' || clusterIP === 'None' ? (pod.status?.podIP ?? '') : clusterIP) ?? 'IPv4';
};

/** Returns the address of a pod in the service's first family; undefined when it has none of that family. */
function addressOf(pod: Pod, service: Service): Address | undefined {
  const family = familyOf(service, pod);
  const ip = addressesOf(pod).find((one) => ipFamily(one) === family);
  if (ip === undefined) return undefined;
  const hostname = hostnameOf(pod, service);
  return {
    ip,
    ...(hostname !== undefined && { hostname }),
    nodeName: pod.spec?.nodeName ?? '',
    targetRef: { kind: 'Pod', namespace: namespaceOf(pod), name: nameOf(pod), uid: uidOf(pod) },
  };
}

const portOf = (pod: Pod, port: ServicePort): Port | undefined => {
  const number = targetPort(pod, port);
  if (number === undefined) return undefined;
  const { name = '', protocol = 'TCP', appProtocol } = port;
  return {
    ...(name !== '' && { name }),
    port: number,
    protocol,
    ...(appProtocol !== undefined && { appProtocol }),
  };
};

interface Offer {
  readonly address: Address;
  readonly ready: boolean;
  /** undefined: the endpoint of a headless service without ports. */
  readonly port: Port | undefined;
}

/** Returns the ports of a pod that a service's ports lead to; a headless service may have none. */
function portsOf({ spec }: Service, pod: Pod): readonly (Port | undefined)[] {
  const ports = spec?.ports ?? [];
  if (ports.length === 0) return spec?.clusterIP === 'None' ? [undefined] : [];
  return ports.flatMap((port) => portOf(pod, port) ?? []);
}

function offersOf(service: Service, pods: readonly Pod[]): readonly Offer[] {
  const isPublished = service.spec?.publishNotReadyAddresses ?? false;
  return pods
    .filter((pod) => isEndpoint(pod) && (isPublished || !isDeleted(pod)))
    .flatMap((pod) => {
      const address = addressOf(pod, service);
      const ready = isPublished || isReady(pod);
      return address ? portsOf(service, pod).map((port) => ({ address, ready, port })) : [];
    });
}

/** Returns the subsets of a service's pods. */
export const subsetsOf = (service: Service, pods: readonly Pod[]): readonly Subset[] =>
  packed(offersOf(service, pods));

/** Returns subsets in their shortest form: the same ports of several subsets, and the same addresses of several ports, are one. */
export const repacked = (subsets: readonly Subset[]): readonly Subset[] =>
  packed(
    subsets.flatMap(({ addresses = [], notReadyAddresses = [], ports = [] }) =>
      [undefined, ...ports]
        .filter((port) => port !== undefined || ports.length === 0)
        .flatMap((port) => [
          ...addresses.map((address) => ({ address, ready: true, port })),
          ...notReadyAddresses.map((address) => ({ address, ready: false, port })),
        ]),
    ),
  );

const addressKey = ({ ip, targetRef }: Address): string => `${ip} ${targetRef?.uid ?? ''}`;
const byText = (one: string, other: string): number => (one < other ? -1 : one > other ? 1 : 0);

/** Finds the addresses of each port, then the ports that have the same addresses. */
function packed(offers: readonly Offer[]): readonly Subset[] {
  const addresses = new Map<string, Address>();
  const byPort = new Map<string, { readonly port: Port | undefined; readonly ready: Map<string, boolean> }>();
  for (const { address, ready, port } of offers) {
    const key = addressKey(address);
    if (!addresses.has(key)) addresses.set(key, address);
    const portText = port ? canonicalJson(port) : '';
    const group = byPort.get(portText) ?? { port, ready: new Map<string, boolean>() };
    byPort.set(portText, group);
    group.ready.set(key, ready && (group.ready.get(key) ?? true));
  }
  const groups = new Map<string, { readonly ports: Port[]; readonly ready: ReadonlyMap<string, boolean> }>();
  for (const [, { port, ready }] of [...byPort].sort(([one], [other]) => byText(one, other))) {
    const key = canonicalJson([...ready].sort(([one], [other]) => byText(one, other)));
    const group = groups.get(key) ?? { ports: [], ready };
    groups.set(key, group);
    if (port) group.ports.push(port);
  }
  return [...groups.values()].map(({ ports, ready }) => {
    const those = (isUp: boolean): Address[] =>
      [...ready]
        .filter(([, up]) => up === isUp)
        .map(([key]) => key)
        .sort(byText)
        .flatMap((key) => addresses.get(key) ?? []);
    const [up, down] = [those(true), those(false)];
    return {
      ...(up.length > 0 && { addresses: up }),
      ...(down.length > 0 && { notReadyAddresses: down }),
      ...(ports.length > 0 && { ports }),
    };
  });
}

const countOf = (subsets: readonly Subset[], list: 'addresses' | 'notReadyAddresses'): number =>
  subsets.reduce((sum, subset) => sum + (subset[list]?.length ?? 0), 0);

/** Returns at most 1,000 addresses, ready ones first, of each subset its share; undefined: there are not that many. */
export function truncated(subsets: readonly Subset[]): readonly Subset[] | undefined {
  const [ready, down] = [countOf(subsets, 'addresses'), countOf(subsets, 'notReadyAddresses')];
  if (ready + down <= mostAddresses) return undefined;
  const isCrowded = ready > mostAddresses;
  const [room, total] = isCrowded ? [mostAddresses, ready] : [mostAddresses - ready, down];
  let left = room;
  return subsets.map((subset) => {
    const list = (isCrowded ? subset.addresses : subset.notReadyAddresses) ?? [];
    const share = Math.min(left, Math.ceil((list.length / total) * room));
    const shortened = list.slice(0, share);
    left -= shortened.length;
    const { notReadyAddresses: _down, ...rest } = subset;
    return isCrowded ? { ...rest, addresses: shortened } : { ...subset, notReadyAddresses: shortened };
  });
}

/** Returns the labels of a service's Endpoints. */
const labelsOf = (service: Service): Record<string, string> => {
  const { [headlessLabel]: _headless, ...labels } = service.metadata?.labels ?? {};
  return { ...labels, ...(!hasClusterIp(service) && { [headlessLabel]: '' }), [managerLabel]: manager };
};

const withoutHeadless = ({ [headlessLabel]: _headless, ...labels }: Record<string, string>): object => labels;

/** Reports whether the present object shows these subsets. */
function isCurrent(present: Endpoints, subsets: readonly Subset[], labels: Record<string, string>): boolean {
  const { annotations, labels: before = {} } = present.metadata ?? {};
  return (
    annotations?.[capacityAnnotation] === undefined &&
    truncated(subsets) === undefined &&
    sameJson(repacked(present.subsets ?? []), subsets) &&
    sameJson(withoutHeadless(before), withoutHeadless(labels))
  );
}

/**
 * Returns the Endpoints object of a service to write; undefined: the present one is right.
 *
 * @param trigger when the change happened that is written, as text
 */
export function endpointsOf(
  service: Service,
  pods: readonly Pod[],
  { present, trigger }: { readonly present: Endpoints | undefined; readonly trigger: string | undefined },
): Endpoints | undefined {
  const subsets = subsetsOf(service, pods);
  const labels = labelsOf(service);
  if (present && isCurrent(present, subsets, labels)) return undefined;
  const short = truncated(subsets);
  const base = present?.metadata ?? { namespace: namespaceOf(service), name: nameOf(service) };
  const { [triggerAnnotation]: _time, [capacityAnnotation]: _capacity, ...rest } = base.annotations ?? {};
  const annotations = {
    ...rest,
    ...(trigger !== undefined && { [triggerAnnotation]: trigger }),
    ...(short && { [capacityAnnotation]: 'truncated' }),
  };
  return { ...present, metadata: { ...base, labels, annotations }, subsets: [...(short ?? subsets)] };
}
