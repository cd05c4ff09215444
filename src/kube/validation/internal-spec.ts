import { ownMember, tableOf } from '../../base/own.ts';
import type { PodSpec } from '../types.ts';

/**
 * The internal form of a pod spec, as Kubernetes' update errors show it: every field, in order, under its Go name, `null` where unset.
 * A row lists the fields of one struct: each is its name and its zero value: nothing for text, `?` for a pointer, list or map, `!`
 * for false, `#` for 0, `=T` for an embedded struct T, `?T` and `[T` for a pointer to or a list of T. `Go:json` where the API name
 * is not the Go name in lower camel case.
 */
const structs: Readonly<Record<string, string>> = {
  PodSpec:
    'Volumes[Volume InitContainers[Container Containers[Container EphemeralContainers[Ephemeral RestartPolicy ' +
    'TerminationGracePeriodSeconds? ActiveDeadlineSeconds? DNSPolicy NodeSelector? ServiceAccountName AutomountServiceAccountToken? ' +
    'NodeName SecurityContext?PodSecurity ImagePullSecrets[LocalRef Hostname Subdomain SetHostnameAsFQDN? Affinity?Affinity SchedulerName ' +
    'Tolerations[Toleration HostAliases[HostAlias PriorityClassName Priority? PreemptionPolicy? DNSConfig?DNSConfig ' +
    'ReadinessGates[Gate RuntimeClassName? Overhead? EnableServiceLinks? TopologySpreadConstraints[Spread OS?LocalRef ' +
    'SchedulingGates[LocalRef ResourceClaims[PodClaim Resources?Resources HostnameOverride? ' +
    'SchedulingGroup?SchedulingGroup',
  SchedulingGroup: 'PodGroupName?',
  Volume:
    'Name HostPath?HostPath EmptyDir?EmptyDir GCEPersistentDisk?GCEDisk AWSElasticBlockStore?AWSDisk GitRepo?GitRepo Secret?SecretVolume ' +
    'NFS?NFS ISCSI?ISCSI Glusterfs?Glusterfs PersistentVolumeClaim?Claim RBD?RBD Quobyte?Quobyte FlexVolume?Flex Cinder?Cinder ' +
    'CephFS:cephfs?CephFS Flocker?Flocker DownwardAPI?DownwardVolume FC?FC AzureFile?AzureFile ConfigMap?ConfigMapVolume ' +
    'VsphereVolume?Vsphere AzureDisk?AzureDisk PhotonPersistentDisk?Photon Projected?Projected PortworxVolume?Portworx ScaleIO?ScaleIO ' +
    'StorageOS:storageos?StorageOS CSI?CSI Ephemeral?EphemeralVolume Image?ImageVolume',
  GCEDisk: 'PDName FSType Partition# ReadOnly!',
  AWSDisk: 'VolumeID FSType Partition# ReadOnly!',
  ISCSI:
    'TargetPortal IQN Lun# ISCSIInterface FSType ReadOnly! Portals? DiscoveryCHAPAuth:chapAuthDiscovery! SessionCHAPAuth:chapAuthSession! ' +
    'SecretRef?LocalRef InitiatorName?',
  Glusterfs: 'EndpointsName:endpoints Path ReadOnly!',
  RBD:
    'CephMonitors:monitors? RBDImage:image FSType RBDPool:pool RadosUser:user Keyring SecretRef?LocalRef ' +
    'ReadOnly!',
  Quobyte: 'Registry Volume ReadOnly! User Group Tenant',
  Flex: 'Driver FSType SecretRef?LocalRef ReadOnly! Options?',
  Cinder: 'VolumeID FSType ReadOnly! SecretRef?LocalRef',
  CephFS: 'Monitors? Path User SecretFile SecretRef?LocalRef ReadOnly!',
  Flocker: 'DatasetName DatasetUUID',
  FC: 'TargetWWNs? Lun? FSType ReadOnly! WWIDs:wwids?',
  AzureFile: 'SecretName ShareName ReadOnly!',
  Vsphere: 'VolumePath FSType StoragePolicyName StoragePolicyID',
  AzureDisk: 'DiskName DataDiskURI:diskURI CachingMode? FSType? ReadOnly? Kind?',
  Photon: 'PdID FSType',
  Portworx: 'VolumeID FSType ReadOnly!',
  ScaleIO:
    'Gateway System SecretRef?LocalRef SSLEnabled! ProtectionDomain StoragePool StorageMode VolumeName FSType ' +
    'ReadOnly!',
  StorageOS: 'VolumeName VolumeNamespace FSType ReadOnly! SecretRef?LocalRef',
  EphemeralVolume: 'VolumeClaimTemplate?ClaimTemplate',
  ClaimTemplate: 'Spec=ClaimSpec',
  HostPath: 'Path Type?',
  EmptyDir: 'Medium SizeLimit?',
  GitRepo: 'Repository Revision Directory',
  SecretVolume: 'SecretName Items[KeyToPath DefaultMode? Optional?',
  ConfigMapVolume: 'Name Items[KeyToPath DefaultMode? Optional?',
  NFS: 'Server Path ReadOnly!',
  Claim: 'ClaimName ReadOnly!',
  CSI: 'Driver ReadOnly? FSType? VolumeAttributes? NodePublishSecretRef?LocalRef',
  ImageVolume: 'Reference PullPolicy',
  DownwardVolume: 'Items[DownwardFile DefaultMode?',
  DownwardFile: 'Path FieldRef?FieldRef ResourceFieldRef?ResourceRef Mode?',
  FieldRef: 'APIVersion FieldPath',
  ResourceRef: 'ContainerName Resource Divisor',
  KeyToPath: 'Key Path Mode?',
  Projected: 'Sources[Projection DefaultMode?',
  Projection:
    'Secret?KeyedProjection DownwardAPI?DownwardProjection ConfigMap?KeyedProjection ServiceAccountToken?Token ' +
    'ClusterTrustBundle?Bundle PodCertificate?Certificate',
  KeyedProjection: 'Name Items[KeyToPath Optional?',
  DownwardProjection: 'Items[DownwardFile',
  Token: 'Audience ExpirationSeconds# Path',
  Bundle: 'Name? SignerName? LabelSelector? Optional? Path',
  Certificate:
    'SignerName KeyType MaxExpirationSeconds? CredentialBundlePath KeyPath CertificateChainPath UserAnnotations?',
  Container:
    'Name Image Command? Args? WorkingDir Ports[Port EnvFrom[EnvFrom Env[EnvVar Resources=Resources ResizePolicy[Resize RestartPolicy? ' +
    'RestartPolicyRules[RestartRule VolumeMounts[Mount VolumeDevices[Device LivenessProbe?Probe ReadinessProbe?Probe StartupProbe?Probe ' +
    'Lifecycle?Lifecycle TerminationMessagePath TerminationMessagePolicy ImagePullPolicy SecurityContext?Security Stdin! StdinOnce! TTY!',
  Port: 'Name HostPort# ContainerPort# Protocol HostIP',
  EnvFrom: 'Prefix ConfigMapRef?OptionalRef SecretRef?OptionalRef',
  OptionalRef: 'Name Optional?',
  EnvVar: 'Name Value ValueFrom?EnvSource',
  EnvSource:
    'FieldRef?FieldRef ResourceFieldRef?ResourceRef ConfigMapKeyRef?KeyRef SecretKeyRef?KeyRef FileKeyRef?FileKeyRef',
  KeyRef: 'Name Key Optional?',
  FileKeyRef: 'VolumeName Path Key Optional?',
  Resources: 'Limits? Requests? Claims[ResourceClaim',
  ResourceClaim: 'Name Request',
  Resize: 'ResourceName RestartPolicy',
  RestartRule: 'Action ExitCodes?ExitCodes',
  ExitCodes: 'Operator Values?',
  Mount: 'Name ReadOnly! RecursiveReadOnly? MountPath SubPath MountPropagation? SubPathExpr',
  Device: 'Name DevicePath',
  Probe:
    'Exec?Exec HTTPGet?HTTPGet TCPSocket?TCPSocket GRPC?GRPC InitialDelaySeconds# TimeoutSeconds# PeriodSeconds# SuccessThreshold# ' +
    'FailureThreshold# TerminationGracePeriodSeconds?',
  Exec: 'Command?',
  HTTPGet: 'Path Port Host Scheme HTTPHeaders[Header',
  Header: 'Name Value',
  TCPSocket: 'Port Host',
  GRPC: 'Port# Service?',
  Lifecycle: 'PostStart?Handler PreStop?Handler StopSignal?',
  Handler: 'Exec?Exec HTTPGet?HTTPGet TCPSocket?TCPSocket Sleep?Sleep',
  Sleep: 'Seconds#',
  Security:
    'Capabilities?Capabilities Privileged? SELinuxOptions?SELinux WindowsOptions?Windows RunAsUser? RunAsGroup? RunAsNonRoot? ' +
    'ReadOnlyRootFilesystem? AllowPrivilegeEscalation? ProcMount? SeccompProfile?Profile AppArmorProfile?Profile',
  Capabilities: 'Add? Drop?',
  SELinux: 'User Role Type Level',
  Windows: 'GMSACredentialSpecName? GMSACredentialSpec? RunAsUserName? HostProcess?',
  Profile: 'Type LocalhostProfile?',
  PodSecurity:
    'HostNetwork! HostPID! HostIPC! ShareProcessNamespace? HostUsers? SELinuxOptions?SELinux WindowsOptions?Windows RunAsUser? RunAsGroup? ' +
    'RunAsNonRoot? SupplementalGroups? SupplementalGroupsPolicy? FSGroup? FSGroupChangePolicy? Sysctls[Header SeccompProfile?Profile ' +
    'AppArmorProfile?Profile SELinuxChangePolicy?',
  LocalRef: 'Name',
  Affinity: 'NodeAffinity?NodeAffinity PodAffinity?PodAffinity PodAntiAffinity?PodAffinity',
  NodeAffinity:
    'RequiredDuringSchedulingIgnoredDuringExecution?NodeSelector PreferredDuringSchedulingIgnoredDuringExecution[PreferredNode',
  NodeSelector: 'NodeSelectorTerms[NodeTerm',
  NodeTerm: 'MatchExpressions[Requirement MatchFields[Requirement',
  Requirement: 'Key Operator Values?',
  PreferredNode: 'Weight# Preference=NodeTerm',
  PodAffinity:
    'RequiredDuringSchedulingIgnoredDuringExecution[PodTerm PreferredDuringSchedulingIgnoredDuringExecution[WeightedPod',
  PodTerm: 'LabelSelector? Namespaces? TopologyKey NamespaceSelector? MatchLabelKeys? MismatchLabelKeys?',
  WeightedPod: 'Weight# PodAffinityTerm=PodTerm',
  Toleration: 'Key Operator Value Effect TolerationSeconds?',
  HostAlias: 'IP Hostnames?',
  DNSConfig: 'Nameservers? Searches? Options[DNSOption',
  DNSOption: 'Name Value?',
  Gate: 'ConditionType',
  Spread:
    'MaxSkew# TopologyKey WhenUnsatisfiable LabelSelector? MinDomains? NodeAffinityPolicy? NodeTaintsPolicy? MatchLabelKeys?',
  PersistentVolumeSource:
    'GCEPersistentDisk?GCEDisk AWSElasticBlockStore?AWSDisk HostPath?HostPath Glusterfs?PersistentGlusterfs NFS?NFS RBD?PersistentRBD ' +
    'Quobyte?Quobyte ISCSI?PersistentISCSI FlexVolume?PersistentFlex Cinder?PersistentCinder CephFS:cephfs?PersistentCephFS FC?FC ' +
    'Flocker?Flocker AzureFile?PersistentAzureFile VsphereVolume?Vsphere AzureDisk?AzureDisk PhotonPersistentDisk?Photon ' +
    'PortworxVolume?Portworx ScaleIO?PersistentScaleIO Local?LocalSource StorageOS:storageos?PersistentStorageOS CSI?PersistentCSI',
  PersistentGlusterfs: 'EndpointsName:endpoints Path ReadOnly! EndpointsNamespace?',
  PersistentRBD:
    'CephMonitors:monitors? RBDImage:image FSType RBDPool:pool RadosUser:user Keyring SecretRef?SecretRef ' +
    'ReadOnly!',
  PersistentISCSI:
    'TargetPortal IQN Lun# ISCSIInterface FSType ReadOnly! Portals? DiscoveryCHAPAuth:chapAuthDiscovery! SessionCHAPAuth:chapAuthSession! ' +
    'SecretRef?SecretRef InitiatorName?',
  PersistentFlex: 'Driver FSType SecretRef?SecretRef ReadOnly! Options?',
  PersistentCinder: 'VolumeID FSType ReadOnly! SecretRef?SecretRef',
  PersistentCephFS: 'Monitors? Path User SecretFile SecretRef?SecretRef ReadOnly!',
  PersistentAzureFile: 'SecretName ShareName ReadOnly! SecretNamespace?',
  PersistentScaleIO:
    'Gateway System SecretRef?SecretRef SSLEnabled! ProtectionDomain StoragePool StorageMode VolumeName FSType ReadOnly!',
  PersistentStorageOS: 'VolumeName VolumeNamespace FSType ReadOnly! SecretRef?ObjectRef',
  FailurePolicy: 'Rules[FailureRule',
  FailureRule: 'Action OnExitCodes?ExitRequirement OnPodConditions[ConditionPattern',
  ExitRequirement: 'ContainerName? Operator Values?',
  ConditionPattern: 'Type Status',
  SuccessPolicy: 'Rules[SuccessRule',
  SuccessRule: 'SucceededIndexes? SucceededCount?',
  EventSource: 'Component Host',
  ObjectRef: 'Kind Namespace Name UID APIVersion ResourceVersion FieldPath',
  VolumeNodeAffinity: 'Required?NodeSelector',
  DeviceClaimSpec: 'Devices=DeviceClaim',
  DeviceClaim: 'Requests[DeviceRequest Constraints[DeviceConstraint Config[DeviceClaimConfig',
  DeviceRequest: 'Name Exactly?ExactDevice FirstAvailable[SubDevice',
  ExactDevice:
    'DeviceClassName Selectors[DeviceSelector AllocationMode Count# AdminAccess? Tolerations[Toleration Capacity?CapacityRequirements',
  SubDevice:
    'Name DeviceClassName Selectors[DeviceSelector AllocationMode Count# Tolerations[Toleration Capacity?CapacityRequirements',
  DeviceSelector: 'CEL?DeviceExpression',
  DeviceExpression: 'Expression',
  CapacityRequirements: 'Requests?',
  DeviceConstraint: 'Requests? MatchAttribute? DistinctAttribute?',
  DeviceClaimConfig: 'Requests? Opaque?Opaque',
  Opaque: 'Driver Parameters?',
  Allocation: 'Devices=DeviceAllocation NodeSelector?NodeSelector AllocationTimestamp?',
  DeviceAllocation: 'Results[AllocatedDevice Config[DeviceAllocationConfig',
  AllocatedDevice:
    'Request Driver Pool Device AdminAccess? Tolerations[Toleration BindingConditions? BindingFailureConditions? ShareID? ConsumedCapacity?',
  DeviceAllocationConfig: 'Source Requests? Opaque?Opaque',
  LocalSource: 'Path FSType?',
  PersistentCSI:
    'Driver VolumeHandle ReadOnly! FSType VolumeAttributes? ControllerPublishSecretRef?SecretRef NodeStageSecretRef?SecretRef ' +
    'NodePublishSecretRef?SecretRef ControllerExpandSecretRef?SecretRef NodeExpandSecretRef?SecretRef',
  SecretRef: 'Name Namespace',
  ClaimSpec:
    'AccessModes? Selector? Resources=ClaimSize VolumeName StorageClassName? VolumeMode? DataSource?DataSource DataSourceRef?DataSourceRef ' +
    'VolumeAttributesClassName?',
  DataSource: 'APIGroup? Kind Name',
  DataSourceRef: 'APIGroup? Kind Name Namespace?',
  ClaimSize: 'Limits? Requests?',
  PodClaim: 'Name ResourceClaimName? ResourceClaimTemplateName?',
};

interface Field {
  readonly go: string;
  readonly json: string;
  readonly kind: string;
  readonly struct: string;
}

/** Converts a Go name to the API name: `HTTPGet` → `httpGet`. */
const jsonName = (go: string): string =>
  go.replace(/^(?:[A-Z]+(?=[A-Z][a-z])|[A-Z]+(?=$)|[A-Z])/, (head) => head.toLowerCase());

const parsed: ReadonlyMap<string, readonly Field[]> = new Map(
  Object.entries(structs).map(([name, row]) => [
    name,
    row.split(' ').map((field): Field => {
      const [, go = '', json = jsonName(go), kind = '', struct = ''] =
        /^(\w+)(?::(\w+))?([?!#=[]?)(\w*)$/.exec(field) ?? [];
      return { go, json, kind, struct };
    }),
  ]),
);

type Source = Readonly<Record<string, unknown>>;

const zeros: Readonly<Record<string, unknown>> = tableOf({ '': '', '!': false, '#': 0 });

/** Converts a value to the internal form of a struct. */
export const internalForm = (struct: string, source: Source): unknown => internal(struct, source);

function internal(struct: string, source: Source): Source {
  const fields = parsed.get(struct === 'Ephemeral' ? 'Container' : struct) ?? [];
  const shown = fields.map(
    ({ go, json, kind, struct: inner }) => [go, shape(kind, inner, ownMember(source, json))] as const,
  );
  const target = struct === 'Ephemeral' ? [['TargetContainerName', source['targetContainerName'] ?? '']] : [];
  return Object.fromEntries([...shown, ...target]) as Source;
}

function shape(kind: string, struct: string, value: unknown): unknown {
  if (kind === '=') return internal(struct, (value ?? {}) as Source);
  if (value === undefined || value === null) return zeros[kind] ?? null;
  if (kind === '[') return (value as readonly Source[]).map((item) => internal(struct, item));
  if (struct !== '') return internal(struct, value as Source);
  return typeof value === 'object' && !Array.isArray(value) ? sortedKeys(value as Source) : value;
}

const sortedKeys = (map: Source): Source =>
  Object.fromEntries(Object.entries(map).sort(([a], [b]) => (a < b ? -1 : 1)));

/** Converts a pod spec to its internal form, where the host namespaces are in the security context. */
export function internalPodSpec(spec: PodSpec): unknown {
  const { hostNetwork, hostPID, hostIPC, shareProcessNamespace, hostUsers, securityContext } = spec;
  const security = { hostNetwork, hostPID, hostIPC, shareProcessNamespace, hostUsers, ...securityContext };
  return internal('PodSpec', { ...spec, securityContext: security });
}
