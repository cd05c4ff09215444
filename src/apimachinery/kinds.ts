import { tableOf } from '../base/own.ts';
import { createHash } from 'node:crypto';
import { type Shape, structOf } from './api-types.ts';
import { type Decoded, decodeType, type Literals } from './serializer/codec.ts';
import type { JsonObject } from './json.ts';

/** A subresource of a kind. */
export interface Subresource {
  readonly name: string;
  readonly kind: string;
  readonly group?: string;
  readonly version?: string;
  readonly verbs: readonly string[];
}

/** A kind that is served under one version. */
export interface Kind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  /** Plural, as in the path. */
  readonly resource: string;
  readonly singular: string;
  readonly namespaced: boolean;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  readonly verbs: readonly string[];
  readonly subresources: readonly Subresource[];
  /** Name of the type in `api-types.json`. */
  readonly type: string;
  /** The store of its objects: two versions or groups may share one. */
  readonly storage: string;
  /** The input of discovery's storage version hash; absent for kinds that are not stored. */
  readonly storageHash?: string;
  /** Kind of its lists, where that is not the kind followed by `List`. */
  readonly listKind?: string;
  /** Type of the objects of a custom resource; absent for built-in kinds. */
  readonly custom?: CustomType;
  /** Warning for clients of the kind. */
  readonly deprecation?: string;
}

/** The type of a custom resource. */
export interface CustomType {
  /** @throws {DecodeError} */
  readonly decode: (value: JsonObject) => Decoded;
  readonly shape: Shape;
  /** Paths of selectable fields by the name that selectors use. */
  readonly selectable: ReadonlyMap<string, readonly string[]>;
}

/** Reads an object of a kind. @throws {DecodeError} with Go's words */
export const decodeKind = (
  { type, custom }: Pick<Kind, 'type' | 'custom'>,
  value: JsonObject,
  literals?: Literals,
): Decoded => custom?.decode(value) ?? decodeType(value, type, literals);

/** Returns the shape of a kind's objects. */
export const shapeOf = ({ type, custom }: Pick<Kind, 'type' | 'custom'>): Shape =>
  custom?.shape ?? structOf(type);

const allVerbs = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'];
const statusVerbs = ['get', 'patch', 'update'];
const proxyVerbs = ['create', 'delete', 'get', 'patch', 'update'];
const streamVerbs = ['create', 'get'];

/** Returns the group version of a kind, `group/version` or `v1`. */
export const groupVersionOf = (kind: { readonly group: string; readonly version: string }): string =>
  kind.group ? `${kind.group}/${kind.version}` : kind.version;

/** Returns the name of a kind's internal version in texts of errors: `core.Pod`, `apps.Deployment`. */
export const internalName = (kind: { readonly group: string; readonly kind: string }): string =>
  `${kind.group === '' ? 'core' : (kind.group.split('.')[0] ?? '')}.${kind.kind}`;

/** `C` is cluster-scoped; then resource, kind, short names, categories, `+sub` for a usual subresource. */
const rows: readonly (readonly [group: string, version: string, lines: string])[] = [
  [
    '',
    'v1',
    `bindings Binding
componentstatuses ComponentStatus C cs
configmaps ConfigMap - cm
endpoints Endpoints - ep
events Event - ev
limitranges LimitRange - limits
namespaces Namespace C ns
nodes Node C no
persistentvolumeclaims PersistentVolumeClaim - pvc +status
persistentvolumes PersistentVolume C pv +status
pods Pod - po all
podtemplates PodTemplate
replicationcontrollers ReplicationController - rc all +scale +status
resourcequotas ResourceQuota - quota +status
secrets Secret
serviceaccounts ServiceAccount - sa
services Service - svc all`,
  ],
  ['apiregistration.k8s.io', 'v1', 'apiservices APIService C - api-extensions +status'],
  [
    'apps',
    'v1',
    `controllerrevisions ControllerRevision
daemonsets DaemonSet - ds all +status
deployments Deployment - deploy all +scale +status
replicasets ReplicaSet - rs all +scale +status
statefulsets StatefulSet - sts all +scale +status`,
  ],
  ['events.k8s.io', 'v1', 'events Event - ev'],
  ['authentication.k8s.io', 'v1', 'selfsubjectreviews SelfSubjectReview C\ntokenreviews TokenReview C'],
  [
    'authorization.k8s.io',
    'v1',
    `localsubjectaccessreviews LocalSubjectAccessReview
selfsubjectaccessreviews SelfSubjectAccessReview C
selfsubjectrulesreviews SelfSubjectRulesReview C
subjectaccessreviews SubjectAccessReview C`,
  ],
  ['autoscaling', 'v2', 'horizontalpodautoscalers HorizontalPodAutoscaler - hpa all +status'],
  ['autoscaling', 'v1', 'horizontalpodautoscalers HorizontalPodAutoscaler - hpa all +status'],
  ['batch', 'v1', 'cronjobs CronJob - cj all +status\njobs Job - - all +status'],
  [
    'certificates.k8s.io',
    'v1',
    'certificatesigningrequests CertificateSigningRequest C csr - +approval +status',
  ],
  [
    'networking.k8s.io',
    'v1',
    `ingressclasses IngressClass C
ingresses Ingress - ing - +status
ipaddresses IPAddress C ip
networkpolicies NetworkPolicy - netpol
servicecidrs ServiceCIDR C - - +status`,
  ],
  ['policy', 'v1', 'poddisruptionbudgets PodDisruptionBudget - pdb - +status'],
  [
    'rbac.authorization.k8s.io',
    'v1',
    `clusterrolebindings ClusterRoleBinding C
clusterroles ClusterRole C
rolebindings RoleBinding
roles Role`,
  ],
  [
    'storage.k8s.io',
    'v1',
    `csidrivers CSIDriver C
csinodes CSINode C
csistoragecapacities CSIStorageCapacity
storageclasses StorageClass C sc
volumeattachments VolumeAttachment C - - +status
volumeattributesclasses VolumeAttributesClass C vac`,
  ],
  [
    'admissionregistration.k8s.io',
    'v1',
    `mutatingadmissionpolicies MutatingAdmissionPolicy C - api-extensions
mutatingadmissionpolicybindings MutatingAdmissionPolicyBinding C - api-extensions
mutatingwebhookconfigurations MutatingWebhookConfiguration C - api-extensions
validatingadmissionpolicies ValidatingAdmissionPolicy C - api-extensions +status
validatingadmissionpolicybindings ValidatingAdmissionPolicyBinding C - api-extensions
validatingwebhookconfigurations ValidatingWebhookConfiguration C - api-extensions`,
  ],
  [
    'apiextensions.k8s.io',
    'v1',
    'customresourcedefinitions CustomResourceDefinition C crd,crds api-extensions +status',
  ],
  ['scheduling.k8s.io', 'v1', 'priorityclasses PriorityClass C pc'],
  ['coordination.k8s.io', 'v1', 'leases Lease'],
  ['node.k8s.io', 'v1', 'runtimeclasses RuntimeClass C'],
  ['discovery.k8s.io', 'v1', 'endpointslices EndpointSlice'],
  [
    'resource.k8s.io',
    'v1',
    `deviceclasses DeviceClass C
resourceclaims ResourceClaim - - - +status
resourceclaimtemplates ResourceClaimTemplate
resourceslices ResourceSlice C`,
  ],
  [
    'flowcontrol.apiserver.k8s.io',
    'v1',
    'flowschemas FlowSchema C - - +status\nprioritylevelconfigurations PriorityLevelConfiguration C - - +status',
  ],
];

const singulars: Readonly<Record<string, string>> = tableOf({ endpoints: 'endpoints' });
const createOnly = /^(Binding|TokenReview|.*SubjectAccessReview|SelfSubject.*)$/;
const types: Readonly<Record<string, string>> = tableOf({
  '/Event': 'CoreV1Event',
  'events.k8s.io/Event': 'EventsV1Event',
  'autoscaling/v2/HorizontalPodAutoscaler': 'V2HorizontalPodAutoscaler',
  'certificates.k8s.io/ClusterTrustBundle': 'V1beta1ClusterTrustBundle',
  'resource.k8s.io/ResourceClaim': 'ResourceV1ResourceClaim',
});

const sub = (
  name: string,
  kind: string,
  verbs: readonly string[],
  more: Partial<Subresource> = {},
): Subresource => ({
  name,
  kind,
  verbs,
  ...more,
});

const special: Readonly<Record<string, readonly Subresource[]>> = tableOf({
  Namespace: [sub('finalize', 'Namespace', ['update']), sub('status', 'Namespace', statusVerbs)],
  Node: [sub('proxy', 'NodeProxyOptions', proxyVerbs), sub('status', 'Node', statusVerbs)],
  Pod: [
    sub('attach', 'PodAttachOptions', streamVerbs),
    sub('binding', 'Binding', ['create']),
    sub('ephemeralcontainers', 'Pod', statusVerbs),
    sub('eviction', 'Eviction', ['create'], { group: 'policy', version: 'v1' }),
    sub('exec', 'PodExecOptions', streamVerbs),
    sub('log', 'Pod', ['get']),
    sub('portforward', 'PodPortForwardOptions', streamVerbs),
    sub('proxy', 'PodProxyOptions', proxyVerbs),
    sub('resize', 'Pod', statusVerbs),
    sub('status', 'Pod', statusVerbs),
  ],
  ServiceAccount: [
    sub('token', 'TokenRequest', ['create'], { group: 'authentication.k8s.io', version: 'v1' }),
  ],
  Service: [sub('proxy', 'ServiceProxyOptions', proxyVerbs), sub('status', 'Service', statusVerbs)],
});

const usual = (name: string, kind: string): Subresource =>
  name === 'scale'
    ? sub('scale', 'Scale', statusVerbs, { group: 'autoscaling', version: 'v1' })
    : sub(name, kind, statusVerbs);

/** Reports whether objects of the kind are only returned, never stored. */
const isTransient = (kind: string): boolean => createOnly.test(kind) || kind === 'ComponentStatus';

function verbsOf(kind: string): readonly string[] {
  if (createOnly.test(kind)) return ['create'];
  if (kind === 'ComponentStatus') return ['get', 'list'];
  return kind === 'Namespace' ? allVerbs.filter((verb) => verb !== 'deletecollection') : allVerbs;
}

const listOf = (text: string | undefined): string[] => (text && text !== '-' ? text.split(',') : []);

function kindOf(group: string, version: string, line: string): Kind {
  const all = line.split(' ');
  const subs = all.filter((word) => word.startsWith('+')).map((word) => word.slice(1));
  const [resource = '', kind = '', scope, shortNames, categories] = all.filter(
    (word) => !word.startsWith('+'),
  );
  const storage = group === 'events.k8s.io' ? 'events' : group ? `${group}/${resource}` : resource;
  return {
    group,
    version,
    resource,
    kind,
    singular: singulars[resource] ?? kind.toLowerCase(),
    namespaced: scope !== 'C',
    shortNames: listOf(shortNames),
    categories: listOf(categories),
    verbs: verbsOf(kind),
    subresources: special[kind] ?? subs.map((name) => usual(name, kind)),
    type: types[`${group}/${version}/${kind}`] ?? types[`${group}/${kind}`] ?? kind,
    storage,
    ...(!isTransient(kind) && { storageHash: hashOf(group, version, kind) }),
  };
}

/** Returns discovery's hash of the version that objects are stored in. */
function hashOf(group: string, version: string, kind: string): string {
  const [g, v] = group === 'events.k8s.io' ? ['', 'v1'] : [group, group === 'autoscaling' ? 'v2' : version];
  return storageHashOf(g, v, kind);
}

/** Returns discovery's hash of the group, version and kind that objects are stored in. */
export const storageHashOf = (group: string, version: string, kind: string): string =>
  createHash('sha256').update(`${group}/${version}/${kind}`).digest().subarray(0, 8).toString('base64');

/** Every kind that is always served, in discovery order. */
export const kinds: readonly Kind[] = rows.flatMap(([group, version, lines]) =>
  lines.split('\n').map((line) => kindOf(group, version, line)),
);

const metricsKind = (resource: string, kind: string, namespaced: boolean): Kind => ({
  group: 'metrics.k8s.io',
  version: 'v1beta1',
  resource,
  kind,
  singular: '',
  namespaced,
  shortNames: [],
  categories: [],
  verbs: ['get', 'list'],
  subresources: [],
  type: kind,
  storage: `metrics.k8s.io/${resource}`,
});

/** metrics-server's kinds: served only if enabled, and never stored. */
export const metricsKinds: readonly Kind[] = [
  metricsKind('nodes', 'NodeMetrics', false),
  metricsKind('pods', 'PodMetrics', true),
];

/** Kinds served only if enabled (gate ClusterTrustBundle). */
export const trustBundleKinds: readonly Kind[] = [
  kindOf('certificates.k8s.io', 'v1beta1', 'clustertrustbundles ClusterTrustBundle C'),
];

/** Every kind that may be stored, served or not. */
export const storedKinds: readonly Kind[] = [...kinds, ...trustBundleKinds];

const byPath = new Map(storedKinds.map((kind) => [`${kind.group}/${kind.version}/${kind.resource}`, kind]));
const byKind = new Map(storedKinds.map((kind) => [`${groupVersionOf(kind)}/${kind.kind}`, kind]));

export const findKind = (group: string, version: string, resource: string): Kind | undefined =>
  byPath.get(`${group}/${version}/${resource}`);

/** Returns a kind by `apiVersion` and `kind`. */
export const findByKind = (apiVersion: string, kind: string): Kind | undefined =>
  byKind.get(`${apiVersion}/${kind}`);

/** Returns a kind that the server itself uses. */
export function builtIn(resource: string, group = '', version = 'v1'): Kind {
  const kind = findKind(group, version, resource);
  if (!kind) throw new Error(`no built-in kind ${group}/${version}/${resource}`);
  return kind;
}

/** Returns the groups of some kinds with their versions, in discovery order. */
export function groups(
  of: readonly Kind[] = kinds,
): readonly (readonly [group: string, versions: readonly string[]])[] {
  const found = new Map<string, Set<string>>();
  for (const { group, version } of of) found.set(group, (found.get(group) ?? new Set()).add(version));
  return [...found].map(([group, versions]) => [group, [...versions]]);
}
