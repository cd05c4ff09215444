import { ownMember, tableOf } from '../base/own.ts';
import types from './api-types.json' with { type: 'json' };

/** A field of a type: its shape and serialization. */
export interface FieldType {
  readonly name: string;
  readonly shape: Shape;
  /** Whether it is written even when zero; Go: no `omitempty`. */
  readonly required: boolean;
  /** Whether zero is a value of its own; Go: a pointer. */
  readonly pointer: boolean;
  /** Whether an absent struct is written as `{}` (`null` for a list); Go: a plain struct without `omitempty`. */
  readonly always: boolean;
}

export type Scalar =
  | 'string'
  | 'boolean'
  | 'int32'
  | 'int64'
  | 'double'
  | 'time'
  | 'microtime'
  | 'bytes'
  | 'intstr'
  | 'quantity'
  | 'any';

/** The shape of a value; `named` is the Go type of a text with a type of its own: `v1.DNSPolicy`. */
export type Shape =
  | {
      readonly is: 'scalar';
      readonly scalar: Scalar;
      readonly named?: string;
      /** Objects have parts of their own, whatever the schema: it says nothing about the value. */
      readonly deduced?: boolean;
    }
  | { readonly is: 'list'; readonly of: Shape; readonly merge: ListMerge }
  | { readonly is: 'map'; readonly of: Shape; readonly atomic: boolean }
  | {
      readonly is: 'struct';
      readonly type: string;
      readonly atomic: boolean;
      /** Fields of a struct that is not in the table of types: of a custom resource. */
      readonly fields?: ReadonlyMap<string, FieldType>;
      /** What undeclared fields hold; absent: there are none. */
      readonly rest?: Shape;
    };

/** How two versions of a list are merged: by keys of its items, as a set, or as a whole. */
export interface ListMerge {
  readonly kind: 'map' | 'set' | 'atomic';
  /** Keys of an item for server-side apply. */
  readonly keys: readonly string[];
  /**
   * Values of keys that an item leaves out. When absent, each key has a default: a protocol is TCP, a port 0, others are empty. An item without
   * any key that has a value or a default has no identity.
   */
  readonly defaults?: Readonly<Record<string, unknown>>;
  /** Key for strategic merge; absent: it replaces the list. */
  readonly patchKey?: string;
  /** Whether strategic merge drops the members of an item that are not in the patch's `$retainKeys`. */
  readonly retainKeys?: boolean;
}

const atomicList: ListMerge = { kind: 'atomic', keys: [] };
const byName: ListMerge = { kind: 'map', keys: ['name'], patchKey: 'name' };
const byType: ListMerge = { kind: 'map', keys: ['type'], patchKey: 'type' };

/** Lists that are merged item by item; all others are replaced as a whole. */
const merges: Readonly<Record<string, ListMerge>> = tableOf({
  'ObjectMeta.finalizers': { kind: 'set', keys: [], patchKey: '' },
  'ObjectMeta.ownerReferences': { kind: 'map', keys: ['uid'], patchKey: 'uid' },
  'PodSpec.containers': byName,
  'PodSpec.initContainers': byName,
  'PodSpec.ephemeralContainers': byName,
  'PodSpec.volumes': { ...byName, retainKeys: true },
  'PodSpec.imagePullSecrets': byName,
  'PodSpec.hostAliases': { kind: 'map', keys: ['ip'], patchKey: 'ip' },
  'PodSpec.topologySpreadConstraints': {
    kind: 'map',
    keys: ['topologyKey', 'whenUnsatisfiable'],
    patchKey: 'topologyKey',
  },
  'PodSpec.resourceClaims': { ...byName, retainKeys: true },
  'PodSpec.schedulingGates': byName,
  'PodStatus.conditions': byType,
  'PodStatus.podIPs': { kind: 'map', keys: ['ip'], patchKey: 'ip' },
  'PodStatus.hostIPs': { kind: 'atomic', keys: [], patchKey: 'ip' },
  'PodStatus.resourceClaimStatuses': { ...byName, retainKeys: true },
  'ContainerStatus.volumeMounts': { kind: 'map', keys: ['mountPath'], patchKey: 'mountPath' },
  'ContainerStatus.allocatedResourcesStatus': byName,
  'ResourceRequirements.claims': { kind: 'map', keys: ['name'] },
  ...Object.fromEntries(
    ['Container', 'EphemeralContainer'].flatMap((type): [string, ListMerge][] => [
      [`${type}.ports`, { kind: 'map', keys: ['containerPort', 'protocol'], patchKey: 'containerPort' }],
      [`${type}.env`, byName],
      [`${type}.volumeMounts`, { kind: 'map', keys: ['mountPath'], patchKey: 'mountPath' }],
      [`${type}.volumeDevices`, { kind: 'map', keys: ['devicePath'], patchKey: 'devicePath' }],
    ]),
  ),
  'NodeSpec.podCIDRs': { kind: 'set', keys: [], patchKey: '' },
  'NodeStatus.conditions': byType,
  'NodeStatus.addresses': byType,
  'NamespaceStatus.conditions': byType,
  'ServiceSpec.ports': { kind: 'map', keys: ['port', 'protocol'], patchKey: 'port' },
  'ServiceStatus.conditions': byType,
  'ServiceAccount.secrets': { ...byName, defaults: {} },
  'CertificateSigningRequestStatus.conditions': { kind: 'map', keys: ['type'] },
  'CSINodeSpec.drivers': byName,
  ...Object.fromEntries(
    [
      'Deployment',
      'ReplicaSet',
      'DaemonSet',
      'StatefulSet',
      'PodDisruptionBudget',
      'PersistentVolumeClaim',
      'ReplicationController',
      'APIService',
      'V2HorizontalPodAutoscaler',
      'ServiceCIDR',
    ].map((kind): [string, ListMerge] => [`${kind}Status.conditions`, byType]),
  ),
  'ComponentStatus.conditions': byType,
  'FlowSchemaStatus.conditions': { ...byType, defaults: {} },
  'PriorityLevelConfigurationStatus.conditions': { ...byType, defaults: {} },
  'JobStatus.conditions': { ...atomicList, patchKey: 'type' },
  'ResourceClaimStatus.reservedFor': { kind: 'map', keys: ['uid'], patchKey: 'uid' },
  'ResourceClaimStatus.devices': { kind: 'map', keys: ['driver', 'device', 'pool', 'shareID'] },
  'AllocatedDeviceStatus.conditions': { kind: 'map', keys: ['type'] },
  'ResourceStatus.resources': { kind: 'map', keys: ['resourceID'] },
  'JSONSchemaProps.x-kubernetes-validations': { kind: 'map', keys: ['rule'], patchKey: 'rule' },
  ...Object.fromEntries(
    ['ValidatingAdmissionPolicy', 'CustomResourceDefinition'].map((kind): [string, ListMerge] => [
      `${kind}Status.conditions`,
      { kind: 'map', keys: ['type'] },
    ]),
  ),
  ...Object.fromEntries(
    [
      'MutatingAdmissionPolicySpec',
      'ValidatingAdmissionPolicySpec',
      'MutatingWebhook',
      'ValidatingWebhook',
    ].map((type): [string, ListMerge] => [`${type}.matchConditions`, byName]),
  ),
  'ValidatingAdmissionPolicySpec.variables': byName,
  ...Object.fromEntries(
    [
      'ContainerRestartRuleOnExitCodes.values',
      'PodFailurePolicyOnExitCodesRequirement.values',
      'NodeAllocatableResourceClaimStatus.containers',
      'UncountedTerminatedPods.failed',
      'UncountedTerminatedPods.succeeded',
      'CSIDriverSpec.volumeLifecycleModes',
      'ValidatingAdmissionPolicyBindingSpec.validationActions',
      'Endpoint.addresses',
      'NonResourcePolicyRule.nonResourceURLs',
      'NonResourcePolicyRule.verbs',
      'ResourcePolicyRule.apiGroups',
      'ResourcePolicyRule.namespaces',
      'ResourcePolicyRule.resources',
      'ResourcePolicyRule.verbs',
    ].map((place): [string, ListMerge] => [place, { kind: 'set', keys: [] }]),
  ),
  'MutatingWebhookConfiguration.webhooks': byName,
  'ValidatingWebhookConfiguration.webhooks': byName,
});

/** Structs that server-side apply treats as one value: types, or single fields. */
const atomicStructs = new Set(
  (
    'LabelSelector NodeSelector NodeSelectorTerm ObjectReference LocalObjectReference SecretKeySelector ConfigMapKeySelector ' +
    'FileKeySelector ObjectFieldSelector ResourceFieldSelector TypedLocalObjectReference SecretReference OwnerReference ' +
    'TopologySelectorTerm RoleRef EndpointSubset ScopeSelector ServiceBackendPort MatchResources NamedRuleWithOperations ParamKind ParamRef ' +
    'Variable RbacV1Subject HorizontalPodAutoscalerSpec.scaleTargetRef'
  ).split(' '),
);
/** Structs of an atomic type that server-side apply merges member by member all the same. */
const granularStructs = new Set(['PersistentVolumeSpec.claimRef']);
/** Maps that server-side apply treats as one value. */
const atomicMaps = new Set([
  'PodSpec.nodeSelector',
  'Scheduling.nodeSelector',
  'ServiceSpec.selector',
  'ReplicationControllerSpec.selector',
]);

const words = (text: string): Set<string> => new Set(text.split(/\s+/));

/** Optional scalars for which zero is a value. */
const pointers = words(
  `PodSpec.terminationGracePeriodSeconds PodSpec.activeDeadlineSeconds PodSpec.automountServiceAccountToken PodSpec.shareProcessNamespace
   PodSpec.priority PodSpec.enableServiceLinks PodSpec.preemptionPolicy PodSpec.runtimeClassName PodSpec.setHostnameAsFQDN PodSpec.hostUsers
   PodSpec.hostnameOverride Container.restartPolicy EphemeralContainer.restartPolicy SecurityContext.privileged SecurityContext.runAsUser
   SecurityContext.runAsGroup SecurityContext.runAsNonRoot SecurityContext.readOnlyRootFilesystem SecurityContext.allowPrivilegeEscalation
   SecurityContext.procMount PodSecurityContext.runAsUser PodSecurityContext.runAsNonRoot PodSecurityContext.runAsGroup
   PodSecurityContext.fsGroup PodSecurityContext.fsGroupChangePolicy PodSecurityContext.supplementalGroupsPolicy
   PodSecurityContext.seLinuxChangePolicy Probe.terminationGracePeriodSeconds GRPCAction.service ConfigMapKeySelector.optional
   SecretKeySelector.optional FileKeySelector.optional ConfigMapEnvSource.optional SecretEnvSource.optional ConfigMapProjection.optional
   SecretProjection.optional ConfigMapVolumeSource.optional ConfigMapVolumeSource.defaultMode SecretVolumeSource.optional
   SecretVolumeSource.defaultMode DownwardAPIVolumeSource.defaultMode ProjectedVolumeSource.defaultMode KeyToPath.mode
   DownwardAPIVolumeFile.mode ServiceAccountTokenProjection.expirationSeconds HostPathVolumeSource.type ClusterTrustBundleProjection.name
   ClusterTrustBundleProjection.signerName ClusterTrustBundleProjection.optional CSIVolumeSource.readOnly CSIVolumeSource.fsType
   ResourceHealth.message TypedObjectReference.namespace AzureDiskVolumeSource.kind
   VolumeMount.mountPropagation VolumeMount.recursiveReadOnly VolumeMountStatus.recursiveReadOnly PodDNSConfigOption.value
   Toleration.tolerationSeconds ContainerStatus.started OwnerReference.controller OwnerReference.blockOwnerDeletion
   ObjectMeta.deletionGracePeriodSeconds SeccompProfile.localhostProfile AppArmorProfile.localhostProfile Lifecycle.stopSignal
   PersistentVolumeClaimSpec.storageClassName PersistentVolumeClaimSpec.volumeMode PersistentVolumeSpec.volumeMode
   PersistentVolumeSpec.volumeAttributesClassName TypedLocalObjectReference.apiGroup TypedObjectReference.apiGroup
   ServiceSpec.internalTrafficPolicy ServiceSpec.ipFamilyPolicy ServiceSpec.allocateLoadBalancerNodePorts ServiceSpec.loadBalancerClass
   ServiceSpec.trafficDistribution ServicePort.appProtocol ClientIPConfig.timeoutSeconds LeaseSpec.holderIdentity
   LeaseSpec.leaseDurationSeconds LeaseSpec.leaseTransitions LeaseSpec.strategy LeaseSpec.preferredHolder Secret.immutable
   ConfigMap.immutable ServiceAccount.automountServiceAccountToken CertificateSigningRequestSpec.expirationSeconds
   TokenRequestSpec.expirationSeconds DeleteOptions.gracePeriodSeconds DeleteOptions.orphanDependents DeleteOptions.propagationPolicy
   Preconditions.uid Preconditions.resourceVersion DeploymentSpec.replicas DeploymentSpec.revisionHistoryLimit
   DeploymentSpec.progressDeadlineSeconds ReplicaSetSpec.replicas ReplicationControllerSpec.replicas StatefulSetSpec.replicas
   StatefulSetSpec.revisionHistoryLimit DaemonSetSpec.revisionHistoryLimit JobSpec.parallelism JobSpec.completions
   JobSpec.activeDeadlineSeconds JobSpec.backoffLimit JobSpec.manualSelector JobSpec.ttlSecondsAfterFinished JobSpec.completionMode
   JobSpec.suspend JobSpec.backoffLimitPerIndex JobSpec.maxFailedIndexes JobSpec.podReplacementPolicy CronJobSpec.startingDeadlineSeconds
   CronJobSpec.suspend CronJobSpec.successfulJobsHistoryLimit CronJobSpec.failedJobsHistoryLimit CronJobSpec.timeZone
   PodDisruptionBudgetSpec.unhealthyPodEvictionPolicy PriorityClass.preemptionPolicy StorageClass.reclaimPolicy
   StorageClass.allowVolumeExpansion StorageClass.volumeBindingMode EndpointConditions.ready EndpointConditions.serving
   EndpointConditions.terminating DiscoveryV1EndpointPort.name DiscoveryV1EndpointPort.port DiscoveryV1EndpointPort.protocol
   NodeRuntimeHandlerFeatures.recursiveReadOnlyMounts NodeRuntimeHandlerFeatures.userNamespaces NodeFeatures.supplementalGroupsPolicy
   VolumeError.errorCode ResourceFieldSelector.divisor CSINodeDriver.count VolumeNodeResources.count
   WindowsSecurityContextOptions.gmsaCredentialSpecName WindowsSecurityContextOptions.gmsaCredentialSpec
   WindowsSecurityContextOptions.runAsUserName WindowsSecurityContextOptions.hostProcess TopologySpreadConstraint.minDomains
   TopologySpreadConstraint.nodeAffinityPolicy TopologySpreadConstraint.nodeTaintsPolicy ISCSIVolumeSource.initiatorName
   ISCSIPersistentVolumeSource.initiatorName AzureDiskVolumeSource.cachingMode AzureDiskVolumeSource.fsType AzureDiskVolumeSource.readOnly
   AzureFilePersistentVolumeSource.secretNamespace FCVolumeSource.lun GlusterfsPersistentVolumeSource.endpointsNamespace
   LocalVolumeSource.fsType PodResourceClaim.resourceClaimName PodResourceClaim.resourceClaimTemplateName
   PodResourceClaimStatus.resourceClaimName PodSchedulingGroup.podGroupName PodCertificateProjection.maxExpirationSeconds
   ContainerStatus.stopSignal PersistentVolumeClaimSpec.volumeAttributesClassName PersistentVolumeClaimStatus.currentVolumeAttributesClassName
   DaemonSetStatus.collisionCount DeploymentStatus.collisionCount DeploymentStatus.terminatingReplicas ReplicaSetStatus.terminatingReplicas
   StatefulSetStatus.collisionCount RollingUpdateStatefulSetStrategy.partition JobSpec.managedBy JobStatus.terminating JobStatus.failedIndexes
   JobStatus.ready CSIDriverSpec.attachRequired CSIDriverSpec.podInfoOnMount CSIDriverSpec.storageCapacity CSIDriverSpec.fsGroupPolicy
   CSIDriverSpec.requiresRepublish CSIDriverSpec.seLinuxMount CSIDriverSpec.nodeAllocatableUpdatePeriodSeconds
   CSIDriverSpec.serviceAccountTokenInSecrets CSIDriverSpec.preventPodSchedulingIfMissing CoreV1EndpointPort.appProtocol
   DiscoveryV1EndpointPort.appProtocol EndpointAddress.nodeName Endpoint.hostname Endpoint.nodeName Endpoint.zone NetworkPolicyPort.protocol
   NetworkPolicyPort.endPort IngressSpec.ingressClassName IngressClassParametersReference.apiGroup IngressClassParametersReference.scope
   IngressClassParametersReference.namespace IngressPortStatus.error PortStatus.error LoadBalancerIngress.ipMode
   HorizontalPodAutoscalerSpec.minReplicas HorizontalPodAutoscalerSpec.targetCPUUtilizationPercentage
   HorizontalPodAutoscalerStatus.observedGeneration HorizontalPodAutoscalerStatus.currentCPUUtilizationPercentage
   V2HorizontalPodAutoscalerSpec.minReplicas V2HorizontalPodAutoscalerStatus.observedGeneration V2MetricTarget.averageUtilization
   V2MetricValueStatus.averageUtilization V2HPAScalingRules.selectPolicy V2HPAScalingRules.stabilizationWindowSeconds NodeSwapStatus.capacity
   ListMeta.remainingItemCount AdmissionregistrationV1ServiceReference.path AdmissionregistrationV1ServiceReference.port
   AdmissionregistrationV1WebhookClientConfig.url MutatingWebhook.failurePolicy MutatingWebhook.matchPolicy MutatingWebhook.timeoutSeconds
   MutatingWebhook.reinvocationPolicy ValidatingWebhook.failurePolicy ValidatingWebhook.matchPolicy ValidatingWebhook.timeoutSeconds
   RuleWithOperations.scope NamedRuleWithOperations.scope MatchResources.matchPolicy ParamRef.parameterNotFoundAction
   ValidatingAdmissionPolicySpec.failurePolicy MutatingAdmissionPolicySpec.failurePolicy Validation.reason ApiextensionsV1ServiceReference.path
   ApiextensionsV1ServiceReference.port ApiextensionsV1WebhookClientConfig.url CustomResourceDefinitionVersion.deprecationWarning
   CustomResourceSubresourceScale.labelSelectorPath ValidationRule.reason ValidationRule.optionalOldSelf ApiregistrationV1ServiceReference.port
   JSONSchemaProps.maxItems JSONSchemaProps.maxLength JSONSchemaProps.maxProperties JSONSchemaProps.maximum JSONSchemaProps.minItems
   JSONSchemaProps.minLength JSONSchemaProps.minProperties JSONSchemaProps.minimum JSONSchemaProps.multipleOf JSONSchemaProps.$ref
   JSONSchemaProps.x-kubernetes-list-type JSONSchemaProps.x-kubernetes-map-type JSONSchemaProps.x-kubernetes-preserve-unknown-fields
   HTTPIngressPath.pathType MutatingWebhook.sideEffects ValidatingWebhook.sideEffects NodeAllocatableResourceMapping.capacityKey
   ExemptPriorityLevelConfiguration.nominalConcurrencyShares ExemptPriorityLevelConfiguration.lendablePercent
   LimitedPriorityLevelConfiguration.nominalConcurrencyShares LimitedPriorityLevelConfiguration.lendablePercent
   LimitedPriorityLevelConfiguration.borrowingLimitPercent SuccessPolicyRule.succeededIndexes SuccessPolicyRule.succeededCount
   PodFailurePolicyOnExitCodesRequirement.containerName StorageV1TokenRequest.expirationSeconds VolumeAttachmentSource.persistentVolumeName
   DeviceAttribute.int DeviceAttribute.bool DeviceAttribute.string DeviceAttribute.version Device.nodeName Device.allNodes Device.bindsToNode
   Device.allowMultipleAllocations ResourceSliceSpec.nodeName ResourceSliceSpec.allNodes ResourceSliceSpec.perDeviceNodeSelection
   ExactDeviceRequest.adminAccess DeviceRequestAllocationResult.adminAccess DeviceRequestAllocationResult.shareID AllocatedDeviceStatus.shareID
   DeviceConstraint.matchAttribute DeviceConstraint.distinctAttribute DeviceToleration.tolerationSeconds DeviceClassSpec.extendedResourceName
   DeleteOptions.ignoreStoreReadErrorWithClusterBreakingPotential`,
);

/** Structs that are written even when empty. */
const always = words(
  `Pod.metadata Pod.spec Pod.status Node.metadata Node.spec Node.status Namespace.metadata Namespace.spec Namespace.status Service.metadata
   Service.spec Service.status ServiceStatus.loadBalancer Lease.metadata Lease.spec Container.resources NodeStatus.daemonEndpoints
   DaemonEndpoints.kubeletEndpoint NodeStatus.nodeInfo ContainerStatus.state ContainerStatus.lastState NodeDaemonEndpoints.kubeletEndpoint
   CoreV1Event.source CoreV1Event.involvedObject CoreV1Event.firstTimestamp CoreV1Event.lastTimestamp CoreV1Event.eventTime
   CoreV1Event.reportingComponent CoreV1Event.reportingInstance EventsV1Event.regarding EventsV1Event.deprecatedSource
   EventsV1Event.deprecatedFirstTimestamp EventsV1Event.deprecatedLastTimestamp EventsV1Event.eventTime PersistentVolumeClaim.spec
   PersistentVolumeClaim.status PersistentVolumeClaimSpec.resources PersistentVolume.spec PersistentVolume.status
   CertificateSigningRequest.spec CertificateSigningRequest.status Deployment.spec Deployment.status DeploymentSpec.template
   DeploymentSpec.strategy ReplicaSet.spec ReplicaSet.status ReplicaSetStatus.replicas DaemonSet.spec DaemonSet.status DaemonSetSpec.template
   DaemonSetSpec.updateStrategy StatefulSet.spec StatefulSet.status StatefulSetSpec.template StatefulSetSpec.updateStrategy Job.spec Job.status
   JobSpec.template CronJob.spec CronJob.status PodDisruptionBudget.spec PodDisruptionBudget.status PodTemplate.template PodTemplateSpec.spec
   LimitRange.spec ResourceQuota.spec ResourceQuota.status TokenReview.status TokenRequest.status SubjectAccessReview.status
   ReplicationController.spec ReplicationController.status NetworkPolicy.spec Ingress.spec Ingress.status IngressStatus.loadBalancer
   ContainerImage.names ProjectedVolumeSource.sources TypedLocalObjectReference.apiGroup TypedObjectReference.apiGroup
   AzureFilePersistentVolumeSource.secretNamespace EndpointSlice.endpoints EndpointSlice.ports Endpoint.conditions
   StatefulSetSpec.serviceName StatefulSetStatus.availableReplicas StatefulSetOrdinals.start ReplicaSetSpec.template JobTemplateSpec.spec
   PodFailurePolicyOnPodConditionsPattern.status NetworkPolicySpec.podSelector IngressClass.spec IngressServiceBackend.port
   IngressClassParametersReference.scope ClusterRole.rules Role.rules PriorityClass.value CSINodeDriver.topologyKeys
   VolumeAttachment.status ServiceCIDR.spec ServiceCIDR.status
   PodCondition.lastProbeTime PodCondition.lastTransitionTime ContainerStateTerminated.startedAt ContainerStateTerminated.finishedAt
   ContainerStateRunning.startedAt NodeCondition.lastHeartbeatTime NodeCondition.lastTransitionTime DeploymentCondition.lastUpdateTime
   DeploymentCondition.lastTransitionTime NamespaceCondition.lastTransitionTime PersistentVolumeClaimCondition.lastProbeTime
   PersistentVolumeClaimCondition.lastTransitionTime CertificateSigningRequestCondition.lastUpdateTime
   CertificateSigningRequestCondition.lastTransitionTime PodDisruptionBudgetStatus.disruptionsAllowed
   PodDisruptionBudgetStatus.currentHealthy PodDisruptionBudgetStatus.desiredHealthy PodDisruptionBudgetStatus.expectedPods CSINode.spec PodTemplateSpec.metadata CoreV1Event.metadata ConfigMap.metadata Secret.metadata ServiceAccount.metadata
   PersistentVolumeClaimTemplate.metadata TokenRequestSpec.audiences
   ReplicationControllerCondition.lastTransitionTime APIService.spec APIService.status APIServiceCondition.lastTransitionTime
   ControllerRevision.data DaemonSetCondition.lastTransitionTime ReplicaSetCondition.lastTransitionTime
   StatefulSetCondition.lastTransitionTime V2HorizontalPodAutoscaler.status V2HorizontalPodAutoscalerCondition.lastTransitionTime
   V2HorizontalPodAutoscalerStatus.currentMetrics HorizontalPodAutoscaler.status JobTemplateSpec.metadata JobCondition.lastProbeTime
   JobCondition.lastTransitionTime VolumeError.time MutatingAdmissionPolicy.spec MutatingAdmissionPolicyBinding.spec
   ValidatingAdmissionPolicy.spec ValidatingAdmissionPolicy.status ValidatingAdmissionPolicyBinding.spec ResourceClaimTemplateSpec.metadata
   ResourceClaimSpec.devices FlowSchema.spec FlowSchemaSpec.matchingPrecedence FlowSchema.status
   FlowSchemaCondition.lastTransitionTime PriorityLevelConfiguration.spec LimitedPriorityLevelConfiguration.limitResponse
   QueuingConfiguration.handSize QueuingConfiguration.queueLengthLimit QueuingConfiguration.queues PriorityLevelConfiguration.status
   PriorityLevelConfigurationCondition.lastTransitionTime ResourceV1ResourceClaim.status AllocationResult.devices DeviceClaim.requests`,
);

/** Required scalars and lists that Go omits when empty. */
const omitted = words(
  `NodeSystemInfo.swap NodeStatus.phase PodSpec.nodeName DeploymentSpec.selector ResourceFieldSelector.containerName
   DaemonSetSpec.selector ReplicaSetSpec.selector StatefulSetSpec.selector ContainerRestartRule.action ContainerRestartRuleOnExitCodes.operator
   PodCertificateProjection.keyType PodCertificateProjection.signerName ImageVolumeStatus.imageRef IPAddressSpec.parentRef
   ParentReference.name ParentReference.resource ValidatingAdmissionPolicyBindingSpec.policyName
   ValidatingAdmissionPolicyBindingSpec.validationActions CapacityRequestPolicyRange.min DeviceCounterConsumption.counters
   CounterSet.counters ScaleIOVolumeSource.secretRef ScaleIOPersistentVolumeSource.secretRef TokenReviewSpec.token`,
);

/** Fields of type quantity: `100m`, `1Gi`. */
const quantities = words(
  `ResourceRequirements.limits ResourceRequirements.requests VolumeResourceRequirements.limits VolumeResourceRequirements.requests
   ResourceFieldSelector.divisor EmptyDirVolumeSource.sizeLimit NodeStatus.capacity NodeStatus.allocatable Overhead.podFixed PodSpec.overhead
   PersistentVolumeSpec.capacity PersistentVolumeClaimStatus.capacity PersistentVolumeClaimStatus.allocatedResources
   ResourceQuotaSpec.hard ResourceQuotaStatus.hard ResourceQuotaStatus.used LimitRangeItem.default LimitRangeItem.defaultRequest
   LimitRangeItem.max LimitRangeItem.min LimitRangeItem.maxLimitRequestRatio ContainerStatus.allocatedResources PodStatus.allocatedResources
   NodeAllocatableResourceClaimStatus.resources
   CSIStorageCapacity.capacity CSIStorageCapacity.maximumVolumeSize V2MetricTarget.value V2MetricTarget.averageValue
   V2MetricValueStatus.value V2MetricValueStatus.averageValue V2HPAScalingRules.tolerance DeviceCapacity.value Counter.value
   CapacityRequestPolicy.default CapacityRequestPolicy.validValues CapacityRequestPolicyRange.min CapacityRequestPolicyRange.max
   CapacityRequestPolicyRange.step CapacityRequirements.requests DeviceRequestAllocationResult.consumedCapacity`,
);

const table = tableOf(types as Readonly<Record<string, Readonly<Record<string, string>>>>);
const scalars = new Set<string>(
  'string boolean int32 int64 double time microtime bytes intstr quantity any'.split(' '),
);

function shapeOf(text: string, place: string): Shape {
  if (text.startsWith('[]'))
    return {
      is: 'list',
      of: quantities.has(place) ? { is: 'scalar', scalar: 'quantity' } : shapeOf(text.slice(2), ''),
      merge: merges[place] ?? atomicList,
    };
  if (text.startsWith('{}'))
    return {
      is: 'map',
      of: quantities.has(place) ? { is: 'scalar', scalar: 'quantity' } : shapeOf(text.slice(2), ''),
      atomic: atomicMaps.has(place),
    };
  if (quantities.has(place)) return { is: 'scalar', scalar: 'quantity' };
  if (scalars.has(text)) return { is: 'scalar', scalar: text as Scalar };
  const [scalar, named] = text.split('~');
  if (named !== undefined)
    return { is: 'scalar', scalar: scalar as Scalar, named: named.includes('.') ? named : `v1.${named}` };
  const atomic = (atomicStructs.has(text) || atomicStructs.has(place)) && !granularStructs.has(place);
  return { is: 'struct', type: text, atomic };
}

const cache = new Map<string, ReadonlyMap<string, FieldType>>();

/** Returns the fields of a type by JSON name; empty for an unknown type. */
export function fieldsOf(type: string): ReadonlyMap<string, FieldType> {
  const cached = cache.get(type);
  if (cached) return cached;
  const fields = new Map<string, FieldType>();
  for (const [name, text] of Object.entries(table[type] ?? {})) {
    const place = `${type}.${name}`;
    const required = text.endsWith('!') && !omitted.has(place);
    const shape = shapeOf(text.endsWith('!') ? text.slice(0, -1) : text, place);
    fields.set(name, { name, shape, required, pointer: pointers.has(place), always: always.has(place) });
  }
  cache.set(type, fields);
  return fields;
}

/** Reports whether an object without the field is incomplete: what OpenAPI calls required. */
export const isMandatory = (type: string, field: string): boolean =>
  ownMember(table[type], field)?.endsWith('!') === true;

/** Reports whether objects of the type are replaced as a whole. */
export const isAtomicStruct = (type: string): boolean => atomicStructs.has(type);

/** Returns the fields of a struct: those of its type in the table, or its own. */
export const fieldsIn = (shape: Shape & { is: 'struct' }): ReadonlyMap<string, FieldType> =>
  shape.fields ?? fieldsOf(shape.type);

/** Returns the shape of objects of a type. */
export const structOf = (type: string): Shape => ({ is: 'struct', type, atomic: false });

/** Reports whether the type is in the table. */
export const isKnownType = (type: string): boolean => Object.hasOwn(table, type);

/** Returns the names of all types, for OpenAPI. */
export const typeNames = (): readonly string[] => Object.keys(table);

/** Returns Go's name of a struct, as used in decoding errors. */
export const goName = (type: string): string =>
  type.replace(
    /^(Core|Events|Rbac|Storage|Discovery|Authentication|Admissionregistration|Apiregistration|Flowcontrol|Resource|Apiextensions)?V\d(alpha\d|beta\d)?(?=[A-Z])/,
    '',
  );
