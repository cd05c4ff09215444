import { AgentError } from '../base/errors.ts';
import { tableOf } from '../base/own.ts';
import { parseYaml } from '../go/yaml/document.ts';
import { isObject, type JsonObject, objectAt, objectsAt, stringAt } from '../apimachinery/json.ts';
import { groupVersionOf, storedKinds } from '../apimachinery/kinds.ts';
import { pluralOf } from './plural.ts';
import type { Kind, KubeObject, UnstructuredObject, Wire } from './types.ts';
import type {
  CoreV1Event,
  EventsV1Event,
  ResourceV1ResourceClaim,
  V1APIService,
  V1Binding,
  V1CSIDriver,
  V1CSINode,
  V1CSIStorageCapacity,
  V1CertificateSigningRequest,
  V1ClusterRole,
  V1ClusterRoleBinding,
  V1ComponentStatus,
  V1ConfigMap,
  V1ControllerRevision,
  V1CronJob,
  V1CustomResourceDefinition,
  V1DaemonSet,
  V1Deployment,
  V1DeviceClass,
  V1EndpointSlice,
  V1Endpoints,
  V1FlowSchema,
  V1HorizontalPodAutoscaler,
  V1IPAddress,
  V1Ingress,
  V1IngressClass,
  V1Job,
  V1Lease,
  V1LimitRange,
  V1LocalSubjectAccessReview,
  V1MutatingAdmissionPolicy,
  V1MutatingAdmissionPolicyBinding,
  V1MutatingWebhookConfiguration,
  V1Namespace,
  V1NetworkPolicy,
  V1Node,
  V1PersistentVolume,
  V1PersistentVolumeClaim,
  V1Pod,
  V1PodDisruptionBudget,
  V1PodTemplate,
  V1PriorityClass,
  V1PriorityLevelConfiguration,
  V1ReplicaSet,
  V1ReplicationController,
  V1ResourceClaimTemplate,
  V1ResourceQuota,
  V1ResourceSlice,
  V1Role,
  V1RoleBinding,
  V1RuntimeClass,
  V1Secret,
  V1SelfSubjectAccessReview,
  V1SelfSubjectReview,
  V1SelfSubjectRulesReview,
  V1Service,
  V1ServiceAccount,
  V1ServiceCIDR,
  V1StatefulSet,
  V1StorageClass,
  V1SubjectAccessReview,
  V1TokenReview,
  V1ValidatingAdmissionPolicy,
  V1ValidatingAdmissionPolicyBinding,
  V1ValidatingWebhookConfiguration,
  V1VolumeAttachment,
  V1VolumeAttributesClass,
  V1beta1ClusterTrustBundle,
  V2HorizontalPodAutoscaler,
} from '@kubernetes/client-node';

/** The built-in kinds by name. Of kinds with several versions the newest has the plain name. */
interface BuiltInTypes {
  Binding: V1Binding;
  ComponentStatus: V1ComponentStatus;
  ConfigMap: V1ConfigMap;
  Endpoints: V1Endpoints;
  Event: CoreV1Event;
  LimitRange: V1LimitRange;
  Namespace: V1Namespace;
  Node: V1Node;
  PersistentVolumeClaim: V1PersistentVolumeClaim;
  PersistentVolume: V1PersistentVolume;
  Pod: V1Pod;
  PodTemplate: V1PodTemplate;
  ReplicationController: V1ReplicationController;
  ResourceQuota: V1ResourceQuota;
  Secret: V1Secret;
  ServiceAccount: V1ServiceAccount;
  Service: V1Service;
  APIService: V1APIService;
  ControllerRevision: V1ControllerRevision;
  DaemonSet: V1DaemonSet;
  Deployment: V1Deployment;
  ReplicaSet: V1ReplicaSet;
  StatefulSet: V1StatefulSet;
  EventsV1Event: EventsV1Event;
  SelfSubjectReview: V1SelfSubjectReview;
  TokenReview: V1TokenReview;
  LocalSubjectAccessReview: V1LocalSubjectAccessReview;
  SelfSubjectAccessReview: V1SelfSubjectAccessReview;
  SelfSubjectRulesReview: V1SelfSubjectRulesReview;
  SubjectAccessReview: V1SubjectAccessReview;
  HorizontalPodAutoscaler: V2HorizontalPodAutoscaler;
  V1HorizontalPodAutoscaler: V1HorizontalPodAutoscaler;
  CronJob: V1CronJob;
  Job: V1Job;
  CertificateSigningRequest: V1CertificateSigningRequest;
  IngressClass: V1IngressClass;
  Ingress: V1Ingress;
  IPAddress: V1IPAddress;
  NetworkPolicy: V1NetworkPolicy;
  ServiceCIDR: V1ServiceCIDR;
  PodDisruptionBudget: V1PodDisruptionBudget;
  ClusterRoleBinding: V1ClusterRoleBinding;
  ClusterRole: V1ClusterRole;
  RoleBinding: V1RoleBinding;
  Role: V1Role;
  CSIDriver: V1CSIDriver;
  CSINode: V1CSINode;
  CSIStorageCapacity: V1CSIStorageCapacity;
  StorageClass: V1StorageClass;
  VolumeAttachment: V1VolumeAttachment;
  VolumeAttributesClass: V1VolumeAttributesClass;
  MutatingAdmissionPolicy: V1MutatingAdmissionPolicy;
  MutatingAdmissionPolicyBinding: V1MutatingAdmissionPolicyBinding;
  MutatingWebhookConfiguration: V1MutatingWebhookConfiguration;
  ValidatingAdmissionPolicy: V1ValidatingAdmissionPolicy;
  ValidatingAdmissionPolicyBinding: V1ValidatingAdmissionPolicyBinding;
  ValidatingWebhookConfiguration: V1ValidatingWebhookConfiguration;
  CustomResourceDefinition: V1CustomResourceDefinition;
  PriorityClass: V1PriorityClass;
  Lease: V1Lease;
  RuntimeClass: V1RuntimeClass;
  EndpointSlice: V1EndpointSlice;
  DeviceClass: V1DeviceClass;
  ResourceClaim: ResourceV1ResourceClaim;
  ResourceClaimTemplate: V1ResourceClaimTemplate;
  ResourceSlice: V1ResourceSlice;
  FlowSchema: V1FlowSchema;
  PriorityLevelConfiguration: V1PriorityLevelConfiguration;
  ClusterTrustBundle: V1beta1ClusterTrustBundle;
}

/** Names that differ from the name of the type in the API's table. */
const names: Readonly<Record<string, string>> = tableOf({
  CoreV1Event: 'Event',
  V2HorizontalPodAutoscaler: 'HorizontalPodAutoscaler',
  HorizontalPodAutoscaler: 'V1HorizontalPodAutoscaler',
  V1beta1ClusterTrustBundle: 'ClusterTrustBundle',
});

/** All built-in kinds, typed by `@kubernetes/client-node`: `kinds.Pod`, `kinds.ReplicaSet`, `kinds.Lease`. */
export const kinds: { readonly [Name in keyof BuiltInTypes]: Kind<Wire<BuiltInTypes[Name]>> } = Object.freeze(
  Object.fromEntries(
    storedKinds.map(({ group, version, kind, resource, namespaced, type }) => [
      names[type] ?? type,
      Object.freeze({ group, version, kind, resource, namespaced }),
    ]),
  ),
) as unknown as { readonly [Name in keyof BuiltInTypes]: Kind<Wire<BuiltInTypes[Name]>> };

/**
 * Returns a kind by its group, version and name, for custom resources and others that {@link kinds} does not have.
 *
 * @param kind `resource` is the plural in paths, by default as kubebuilder guesses it; `namespaced` is true by default
 * @throws {AgentError} `invalid_argument` when a part is missing or not a name
 *
 * @example
 * const Memcached = defineKind<Memcached>({ group: 'cache.example.com', version: 'v1alpha1', kind: 'Memcached' });
 */
export function defineKind<T extends KubeObject = UnstructuredObject>(kind: {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly resource?: string;
  readonly namespaced?: boolean;
}): Kind<T> {
  const { group, version, kind: name, resource = pluralOf(name), namespaced = true } = kind;
  const wrong = (part: string, value: string, right: string): AgentError =>
    new AgentError('invalid_argument', `defineKind: ${part} ${JSON.stringify(value)} is not ${right}`);
  if (!/^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*)?$/.test(group))
    throw wrong('group', group, 'a DNS name, e.g. cache.example.com, or empty for the core group');
  if (!/^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/.test(version)) throw wrong('version', version, 'a version, e.g. v1');
  if (!/^[A-Za-z][A-Za-z0-9]*$/.test(name)) throw wrong('kind', name, 'a kind in CamelCase, e.g. Memcached');
  if (!/^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/.test(resource))
    throw wrong('resource', resource, 'a plural in lower case, e.g. memcacheds');
  return Object.freeze({ group, version, kind: name, resource, namespaced });
}

/**
 * Returns the kind that a CustomResourceDefinition declares, in its storage version.
 *
 * @param definition YAML or JSON text, or the object
 * @param version another version of the definition
 * @throws {AgentError} `invalid_argument` when it is no definition or does not serve the version
 *
 * @example
 * const Memcached = kindFromCRD<Memcached>(await readFile('config/crd/memcacheds.yaml', 'utf8'));
 */
export function kindFromCRD<T extends KubeObject = UnstructuredObject>(
  definition: string | object,
  version?: string,
): Kind<T> {
  const value = typeof definition === 'string' ? parsed(definition) : definition;
  const isDefinition = isObject(value) && value['kind'] === 'CustomResourceDefinition';
  if (!isDefinition) throw refused('it is not a CustomResourceDefinition');
  const spec = objectAt(value, 'spec');
  const served = versionOf(objectsAt(spec, 'versions'), version);
  const declared = objectAt(spec, 'names');
  return defineKind<T>({
    group: stringAt(spec, 'group'),
    version: served,
    kind: stringAt(declared, 'kind'),
    resource: stringAt(declared, 'plural'),
    namespaced: spec['scope'] !== 'Cluster',
  });
}

function versionOf(versions: readonly JsonObject[], name?: string): string {
  const served = versions.filter((one) => one['served'] === true);
  const found = served.find((one) => (name === undefined ? one['storage'] === true : one['name'] === name));
  const version = found ?? (name === undefined ? served[0] : undefined);
  if (version) return stringAt(version, 'name');
  const those = served.map((one) => stringAt(one, 'name')).join(', ') || 'none';
  throw refused(`it does not serve version ${name ?? ''}; it serves ${those}`);
}

function parsed(text: string): unknown {
  const result = parseYaml(text);
  if (!result.ok) throw refused(result.fault.message);
  return result.document.value;
}

const refused = (why: string): AgentError => new AgentError('invalid_argument', `kindFromCRD: ${why}`);

/** Returns `apiVersion` of a kind's objects: `apps/v1`, `v1`. */
export const apiVersionOf = (kind: Kind): string => groupVersionOf(kind);

/** Returns a text that identifies a kind: `apps/v1/Deployment`. */
export const kindKey = (kind: Kind): string => `${kind.group}/${kind.version}/${kind.kind}`;
