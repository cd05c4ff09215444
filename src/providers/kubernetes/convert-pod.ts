import type { DNSConfig } from '../../provider/cri-messages.ts';
import { keyOf, uidOf } from '../../kube/names.ts';
import type { Container, Pod, PodSpec } from '../../kube/types.ts';
import type { Carried } from './carried.ts';
import {
  type BackingOwner,
  carriedAnnotation,
  isOwnKey,
  objectsGate,
  ownerLabels,
  podAnnotation,
  statusFinalizer,
} from './ownership.ts';
import type { KubernetesSettings } from './settings.ts';

/** What a backing pod is made from besides the pod. */
export interface BackingParts {
  readonly name: string;
  readonly namespace: string;
  readonly owner: BackingOwner;
  readonly settings: KubernetesSettings;
  readonly carried: Carried;
  readonly hostname?: string;
  /** The resolver settings of this node's cluster; only needed with `dns.useNode`. */
  readonly dns?: DNSConfig;
}

/** Annotations that concern the API server and the tools of this node's cluster only. */
const leftAnnotations =
  /^(kubernetes\.io\/config\.|kubectl\.kubernetes\.io\/last-applied-configuration$|scheduler\.alpha\.kubernetes\.io\/)/;

/** The labels and annotations of a pod's backing pod. */
export function backingMetadata(
  pod: Pod,
  owner: BackingOwner,
  settings: Pick<KubernetesSettings, 'labels' | 'annotations'>,
): { readonly labels: Record<string, string>; readonly annotations: Record<string, string> } {
  const labels = ownKeysLeftOut({ ...pod.metadata?.labels, ...settings.labels });
  const all = ownKeysLeftOut({ ...pod.metadata?.annotations, ...settings.annotations });
  const annotations = Object.fromEntries(Object.entries(all).filter(([key]) => !leftAnnotations.test(key)));
  return {
    labels: { ...labels, ...ownerLabels(owner, uidOf(pod)) },
    annotations: {
      ...annotations,
      [podAnnotation]: keyOf(pod),
      [carriedAnnotation]: JSON.stringify({
        labels: Object.keys(labels).sort(),
        annotations: Object.keys(annotations).sort(),
      }),
    },
  };
}

const ownKeysLeftOut = (map: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(map).filter(([key]) => !isOwnKey(key)));

/**
 * Makes the backing pod of a pod: what belongs to this node's cluster (node, scheduling, service account, priority) is left out and comes
 * from the settings, what the pod refers to is carried along.
 */
export function backingPod(pod: Pod, parts: BackingParts): Pod {
  const { name, namespace, owner, settings, carried } = parts;
  const { labels, annotations } = backingMetadata(pod, owner, settings);
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace, labels, annotations, finalizers: [statusFinalizer] },
    spec: specOf(pod.spec ?? { containers: [] }, parts, carried),
  };
}

function specOf(spec: PodSpec, parts: BackingParts, carried: Carried): PodSpec {
  const { settings, hostname } = parts;
  const { initContainers, containers } = spec;
  const converted = (list: readonly Container[]): readonly Container[] =>
    list.map((container) => containerOf(container, carried));
  const pullSecrets = [...carried.pullSecrets, ...(settings.imagePullSecrets ?? [])].map((name) => ({
    name,
  }));
  return {
    ...passedOf(spec),
    ...(initContainers && { initContainers: converted(initContainers) }),
    containers: converted(containers),
    ...(carried.volumes.length > 0 && { volumes: carried.volumes }),
    ...(pullSecrets.length > 0 && { imagePullSecrets: pullSecrets }),
    ...(carried.objects.length > 0 && { schedulingGates: [{ name: objectsGate }] }),
    ...(hostname !== undefined && hostname !== '' && spec.hostNetwork !== true && { hostname }),
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    ...placementOf(spec, settings),
    ...dnsOf(spec, parts),
  };
}

/** The fields that mean the same in both clusters. */
const passedFields = [
  'restartPolicy',
  'terminationGracePeriodSeconds',
  'activeDeadlineSeconds',
  'hostNetwork',
  'hostPID',
  'hostIPC',
  'hostUsers',
  'shareProcessNamespace',
  'securityContext',
  'subdomain',
  'setHostnameAsFQDN',
  'hostAliases',
  'os',
  'resources',
] as const satisfies readonly (keyof PodSpec)[];

const passedOf = (spec: PodSpec): Partial<PodSpec> =>
  Object.fromEntries(
    passedFields.filter((field) => spec[field] != null).map((field) => [field, spec[field]]),
  );

const containerOf = ({ env: _env, envFrom: _from, ...rest }: Container, { env }: Carried): Container => {
  const variables = env.get(rest.name) ?? [];
  return { ...rest, ...(variables.length > 0 && { env: variables }) };
};

function placementOf({ runtimeClassName: own }: PodSpec, settings: KubernetesSettings): Partial<PodSpec> {
  const { nodeSelector, affinity, tolerations, priorityClassName, schedulerName, serviceAccountName } =
    settings;
  const runtimeClassName =
    (own === undefined ? undefined : settings.runtimeClasses?.[own]) ?? settings.runtimeClassName;
  return {
    ...(nodeSelector && { nodeSelector }),
    ...(affinity && { affinity }),
    ...(tolerations && { tolerations }),
    ...(priorityClassName !== undefined && { priorityClassName }),
    ...(schedulerName !== undefined && { schedulerName }),
    ...(serviceAccountName !== undefined && { serviceAccountName }),
    ...(runtimeClassName !== undefined && { runtimeClassName }),
  };
}

function dnsOf({ dnsPolicy, dnsConfig }: PodSpec, { settings, dns }: BackingParts): Partial<PodSpec> {
  const { useNode = false, policy: always, ...added } = settings.dns ?? {};
  const node = useNode && dnsPolicy !== 'None' ? dns : undefined;
  const config = merged(node ? configOf(node) : (dnsConfig ?? {}), added);
  const policy = node && config.nameservers !== undefined ? 'None' : (always ?? dnsPolicy);
  return {
    ...(policy !== undefined && { dnsPolicy: policy }),
    ...(Object.keys(config).length > 0 && { dnsConfig: config }),
  };
}

type PodDns = NonNullable<PodSpec['dnsConfig']>;

const configOf = ({ servers = [], searches = [], options = [] }: DNSConfig): PodDns => ({
  nameservers: servers,
  searches,
  options: options.map((text) => {
    const [name = '', value] = text.split(':');
    return { name, ...(value !== undefined && { value }) };
  }),
});

/** Both lists of each field, without those that are empty. */
function merged(one: PodDns, other: PodDns): PodDns {
  const joined = (field: 'nameservers' | 'searches'): readonly string[] => [
    ...new Set([...(one[field] ?? []), ...(other[field] ?? [])]),
  ];
  const lists = {
    nameservers: joined('nameservers'),
    searches: joined('searches'),
    options: [...(one.options ?? []), ...(other.options ?? [])],
  };
  return Object.fromEntries(Object.entries(lists).filter(([, list]) => list.length > 0));
}
