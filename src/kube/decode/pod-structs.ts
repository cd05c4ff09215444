import { tableOf } from '../../base/own.ts';
/**
 * The types of a Pod: one line per struct, `field:type`. `[]` is a list, `map:` a map, `~` a string with a type name of its own;
 * a capitalized name is a struct of this table or a value with its own parser: Quantity, Time, IntOrString.
 */
export const podStructs: Readonly<Record<string, string>> = tableOf({
  AWSElasticBlockStoreVolumeSource: 'fsType:string partition:int32 readOnly:bool volumeID:string',
  Affinity: 'nodeAffinity:NodeAffinity podAffinity:PodAffinity podAntiAffinity:PodAntiAffinity',
  AppArmorProfile: 'localhostProfile:string type:~AppArmorProfileType',
  AzureDiskVolumeSource:
    'cachingMode:string diskName:string diskURI:string fsType:string kind:string readOnly:bool',
  AzureFileVolumeSource: 'readOnly:bool secretName:string shareName:string',
  CSIVolumeSource:
    'driver:string fsType:string nodePublishSecretRef:LocalObjectReference readOnly:bool ' +
    'volumeAttributes:map:string',
  Capabilities: 'add:[]~Capability drop:[]~Capability',
  CephFSVolumeSource:
    'monitors:[]string path:string readOnly:bool secretFile:string secretRef:LocalObjectReference ' +
    'user:string',
  CinderVolumeSource: 'fsType:string readOnly:bool secretRef:LocalObjectReference volumeID:string',
  ClusterTrustBundleProjection:
    'labelSelector:LabelSelector name:string optional:bool path:string signerName:string',
  ConfigMapEnvSource: 'name:string optional:bool',
  ConfigMapKeySelector: 'key:string name:string optional:bool',
  ConfigMapProjection: 'items:[]KeyToPath name:string optional:bool',
  ConfigMapVolumeSource: 'defaultMode:int32 items:[]KeyToPath name:string optional:bool',
  Container:
    'args:[]string command:[]string env:[]EnvVar envFrom:[]EnvFromSource image:string ' +
    'imagePullPolicy:~PullPolicy lifecycle:Lifecycle livenessProbe:Probe name:string ' +
    'ports:[]ContainerPort readinessProbe:Probe resizePolicy:[]ContainerResizePolicy ' +
    'resources:ResourceRequirements restartPolicy:~ContainerRestartPolicy ' +
    'restartPolicyRules:[]ContainerRestartRule securityContext:SecurityContext startupProbe:Probe ' +
    'stdin:bool stdinOnce:bool terminationMessagePath:string ' +
    'terminationMessagePolicy:~TerminationMessagePolicy tty:bool volumeDevices:[]VolumeDevice ' +
    'volumeMounts:[]VolumeMount workingDir:string',
  ContainerExtendedResourceRequest: 'containerName:string requestName:string resourceName:string',
  ContainerPort: 'containerPort:int32 hostIP:string hostPort:int32 name:string protocol:~Protocol',
  ContainerResizePolicy: 'resourceName:~ResourceName restartPolicy:~ResourceResizeRestartPolicy',
  ContainerRestartRule: 'action:~ContainerRestartRuleAction exitCodes:ContainerRestartRuleOnExitCodes',
  ContainerRestartRuleOnExitCodes: 'operator:string values:[]int32',
  ContainerState:
    'running:ContainerStateRunning terminated:ContainerStateTerminated waiting:ContainerStateWaiting',
  ContainerStateRunning: 'startedAt:Time',
  ContainerStateTerminated:
    'containerID:string exitCode:int32 finishedAt:Time message:string reason:string signal:int32 ' +
    'startedAt:Time',
  ContainerStateWaiting: 'message:string reason:string',
  ContainerStatus:
    'allocatedResources:map:Quantity allocatedResourcesStatus:[]ResourceStatus containerID:string ' +
    'image:string imageID:string lastState:ContainerState name:string ready:bool ' +
    'resources:ResourceRequirements restartCount:int32 started:bool state:ContainerState ' +
    'stopSignal:string user:ContainerUser volumeMounts:[]VolumeMountStatus',
  ContainerUser: 'linux:LinuxContainerUser',
  ResourceClaim: 'name:string request:string',
  DownwardAPIProjection: 'items:[]DownwardAPIVolumeFile',
  DownwardAPIVolumeFile:
    'fieldRef:ObjectFieldSelector mode:int32 path:string resourceFieldRef:ResourceFieldSelector',
  DownwardAPIVolumeSource: 'defaultMode:int32 items:[]DownwardAPIVolumeFile',
  EmptyDirVolumeSource: 'medium:~StorageMedium sizeLimit:Quantity',
  EnvFromSource: 'configMapRef:ConfigMapEnvSource prefix:string secretRef:SecretEnvSource',
  EnvVar: 'name:string value:string valueFrom:EnvVarSource',
  EnvVarSource:
    'configMapKeyRef:ConfigMapKeySelector fieldRef:ObjectFieldSelector fileKeyRef:FileKeySelector ' +
    'resourceFieldRef:ResourceFieldSelector secretKeyRef:SecretKeySelector',
  EphemeralContainer:
    'args:[]string command:[]string env:[]EnvVar envFrom:[]EnvFromSource image:string ' +
    'imagePullPolicy:~PullPolicy lifecycle:Lifecycle livenessProbe:Probe name:string ' +
    'ports:[]ContainerPort readinessProbe:Probe resizePolicy:[]ContainerResizePolicy ' +
    'resources:ResourceRequirements restartPolicy:~ContainerRestartPolicy ' +
    'restartPolicyRules:[]ContainerRestartRule securityContext:SecurityContext startupProbe:Probe ' +
    'stdin:bool stdinOnce:bool targetContainerName:string terminationMessagePath:string ' +
    'terminationMessagePolicy:~TerminationMessagePolicy tty:bool volumeDevices:[]VolumeDevice ' +
    'volumeMounts:[]VolumeMount workingDir:string',
  EphemeralVolumeSource: 'volumeClaimTemplate:PersistentVolumeClaimTemplate',
  ExecAction: 'command:[]string',
  FCVolumeSource: 'fsType:string lun:int32 readOnly:bool targetWWNs:[]string wwids:[]string',
  FileKeySelector: 'key:string optional:bool path:string volumeName:string',
  FlexVolumeSource:
    'driver:string fsType:string options:map:string readOnly:bool secretRef:LocalObjectReference',
  FlockerVolumeSource: 'datasetName:string datasetUUID:string',
  GCEPersistentDiskVolumeSource: 'fsType:string partition:int32 pdName:string readOnly:bool',
  GRPCAction: 'port:int32 service:string',
  GitRepoVolumeSource: 'directory:string repository:string revision:string',
  GlusterfsVolumeSource: 'endpoints:string path:string readOnly:bool',
  HTTPGetAction: 'host:string httpHeaders:[]HTTPHeader path:string port:IntOrString scheme:~URIScheme',
  HTTPHeader: 'name:string value:string',
  HostAlias: 'hostnames:[]string ip:string',
  HostIP: 'ip:string',
  HostPathVolumeSource: 'path:string type:~HostPathType',
  ISCSIVolumeSource:
    'chapAuthDiscovery:bool chapAuthSession:bool fsType:string initiatorName:string iqn:string ' +
    'iscsiInterface:string lun:int32 portals:[]string readOnly:bool secretRef:LocalObjectReference ' +
    'targetPortal:string',
  ImageVolumeSource: 'pullPolicy:~PullPolicy reference:string',
  ImageVolumeStatus: 'imageRef:string',
  KeyToPath: 'key:string mode:int32 path:string',
  LabelSelector: 'matchExpressions:[]LabelSelectorRequirement matchLabels:map:string',
  LabelSelectorRequirement: 'key:string operator:string values:[]string',
  Lifecycle: 'postStart:LifecycleHandler preStop:LifecycleHandler stopSignal:~Signal',
  LifecycleHandler: 'exec:ExecAction httpGet:HTTPGetAction sleep:SleepAction tcpSocket:TCPSocketAction',
  LinuxContainerUser: 'gid:int64 supplementalGroups:[]int64 uid:int64',
  LocalObjectReference: 'name:string',
  ManagedFieldsEntry:
    'apiVersion:string fieldsType:string fieldsV1:any manager:string operation:string ' +
    'subresource:string time:Time',
  NFSVolumeSource: 'path:string readOnly:bool server:string',
  NodeAffinity:
    'preferredDuringSchedulingIgnoredDuringExecution:[]PreferredSchedulingTerm ' +
    'requiredDuringSchedulingIgnoredDuringExecution:NodeSelector',
  NodeAllocatableResourceClaimStatus: 'containers:[]string resourceClaimName:string resources:map:Quantity',
  NodeSelector: 'nodeSelectorTerms:[]NodeSelectorTerm',
  NodeSelectorRequirement: 'key:string operator:~NodeSelectorOperator values:[]string',
  NodeSelectorTerm: 'matchExpressions:[]NodeSelectorRequirement matchFields:[]NodeSelectorRequirement',
  ObjectFieldSelector: 'apiVersion:string fieldPath:string',
  ObjectMeta:
    'annotations:map:string creationTimestamp:Time deletionGracePeriodSeconds:int64 ' +
    'deletionTimestamp:Time finalizers:[]string generateName:string generation:int64 ' +
    'labels:map:string managedFields:[]ManagedFieldsEntry name:string namespace:string ' +
    'ownerReferences:[]OwnerReference resourceVersion:string selfLink:string uid:~types.UID',
  OwnerReference:
    'apiVersion:string blockOwnerDeletion:bool controller:bool kind:string name:string uid:~types.UID',
  PersistentVolumeClaimSpec:
    'accessModes:[]string dataSource:TypedLocalObjectReference dataSourceRef:TypedObjectReference ' +
    'resources:VolumeResourceRequirements selector:LabelSelector storageClassName:string ' +
    'volumeAttributesClassName:string volumeMode:string volumeName:string',
  PersistentVolumeClaimTemplate: 'metadata:ObjectMeta spec:PersistentVolumeClaimSpec',
  PersistentVolumeClaimVolumeSource: 'claimName:string readOnly:bool',
  PhotonPersistentDiskVolumeSource: 'fsType:string pdID:string',
  Pod: 'apiVersion:string kind:string metadata:ObjectMeta spec:PodSpec status:PodStatus',
  PodAffinity:
    'preferredDuringSchedulingIgnoredDuringExecution:[]WeightedPodAffinityTerm ' +
    'requiredDuringSchedulingIgnoredDuringExecution:[]PodAffinityTerm',
  PodAffinityTerm:
    'labelSelector:LabelSelector matchLabelKeys:[]string mismatchLabelKeys:[]string ' +
    'namespaceSelector:LabelSelector namespaces:[]string topologyKey:string',
  PodAntiAffinity:
    'preferredDuringSchedulingIgnoredDuringExecution:[]WeightedPodAffinityTerm ' +
    'requiredDuringSchedulingIgnoredDuringExecution:[]PodAffinityTerm',
  PodCertificateProjection:
    'certificateChainPath:string credentialBundlePath:string keyPath:string keyType:string ' +
    'maxExpirationSeconds:int32 signerName:string userAnnotations:map:string',
  PodCondition:
    'lastProbeTime:Time lastTransitionTime:Time message:string observedGeneration:int64 reason:string ' +
    'status:~ConditionStatus type:~PodConditionType',
  PodDNSConfig: 'nameservers:[]string options:[]PodDNSConfigOption searches:[]string',
  PodDNSConfigOption: 'name:string value:string',
  PodExtendedResourceClaimStatus:
    'requestMappings:[]ContainerExtendedResourceRequest resourceClaimName:string',
  PodIP: 'ip:string',
  PodList: 'apiVersion:string kind:string items:[]Pod',
  PodOS: 'name:~OSName',
  PodReadinessGate: 'conditionType:~PodConditionType',
  PodResourceClaim: 'name:string resourceClaimName:string resourceClaimTemplateName:string',
  PodResourceClaimStatus: 'name:string resourceClaimName:string',
  PodSchedulingGate: 'name:string',
  PodSchedulingGroup: 'podGroupName:string',
  PodSecurityContext:
    'appArmorProfile:AppArmorProfile fsGroup:int64 fsGroupChangePolicy:~PodFSGroupChangePolicy ' +
    'runAsGroup:int64 runAsNonRoot:bool runAsUser:int64 seLinuxChangePolicy:string ' +
    'seLinuxOptions:SELinuxOptions seccompProfile:SeccompProfile supplementalGroups:[]int64 ' +
    'supplementalGroupsPolicy:~SupplementalGroupsPolicy sysctls:[]Sysctl ' +
    'windowsOptions:WindowsSecurityContextOptions',
  PodSpec:
    'activeDeadlineSeconds:int64 affinity:Affinity automountServiceAccountToken:bool ' +
    'containers:[]Container dnsConfig:PodDNSConfig dnsPolicy:~DNSPolicy enableServiceLinks:bool ' +
    'ephemeralContainers:[]EphemeralContainer hostAliases:[]HostAlias hostIPC:bool hostNetwork:bool ' +
    'hostPID:bool hostUsers:bool hostname:string hostnameOverride:string ' +
    'imagePullSecrets:[]LocalObjectReference initContainers:[]Container nodeName:string ' +
    'nodeSelector:map:string os:PodOS overhead:map:Quantity preemptionPolicy:~PreemptionPolicy ' +
    'priority:int32 priorityClassName:string readinessGates:[]PodReadinessGate ' +
    'resourceClaims:[]PodResourceClaim resources:ResourceRequirements restartPolicy:~RestartPolicy ' +
    'runtimeClassName:string schedulerName:string schedulingGates:[]PodSchedulingGate ' +
    'schedulingGroup:PodSchedulingGroup securityContext:PodSecurityContext serviceAccount:string ' +
    'serviceAccountName:string setHostnameAsFQDN:bool shareProcessNamespace:bool subdomain:string ' +
    'terminationGracePeriodSeconds:int64 tolerations:[]Toleration ' +
    'topologySpreadConstraints:[]TopologySpreadConstraint volumes:[]Volume',
  PodStatus:
    'allocatedResources:map:Quantity conditions:[]PodCondition containerStatuses:[]ContainerStatus ' +
    'ephemeralContainerStatuses:[]ContainerStatus ' +
    'extendedResourceClaimStatus:PodExtendedResourceClaimStatus hostIP:string hostIPs:[]HostIP ' +
    'initContainerStatuses:[]ContainerStatus message:string ' +
    'nodeAllocatableResourceClaimStatuses:[]NodeAllocatableResourceClaimStatus ' +
    'nominatedNodeName:string observedGeneration:int64 phase:~PodPhase podIP:string podIPs:[]PodIP ' +
    'qosClass:~PodQOSClass reason:string resize:string resourceClaimStatuses:[]PodResourceClaimStatus ' +
    'resources:ResourceRequirements startTime:Time',
  PortworxVolumeSource: 'fsType:string readOnly:bool volumeID:string',
  PreferredSchedulingTerm: 'preference:NodeSelectorTerm weight:int32',
  Probe:
    'exec:ExecAction failureThreshold:int32 grpc:GRPCAction httpGet:HTTPGetAction ' +
    'initialDelaySeconds:int32 periodSeconds:int32 successThreshold:int32 tcpSocket:TCPSocketAction ' +
    'terminationGracePeriodSeconds:int64 timeoutSeconds:int32',
  ProjectedVolumeSource: 'defaultMode:int32 sources:[]VolumeProjection',
  QuobyteVolumeSource: 'group:string readOnly:bool registry:string tenant:string user:string volume:string',
  RBDVolumeSource:
    'fsType:string image:string keyring:string monitors:[]string pool:string readOnly:bool ' +
    'secretRef:LocalObjectReference user:string',
  ResourceFieldSelector: 'containerName:string divisor:Quantity resource:string',
  ResourceHealth: 'health:string message:string resourceID:string',
  ResourceRequirements: 'claims:[]ResourceClaim limits:map:Quantity requests:map:Quantity',
  ResourceStatus: 'name:string resources:[]ResourceHealth',
  SELinuxOptions: 'level:string role:string type:string user:string',
  ScaleIOVolumeSource:
    'fsType:string gateway:string protectionDomain:string readOnly:bool ' +
    'secretRef:LocalObjectReference sslEnabled:bool storageMode:string storagePool:string ' +
    'system:string volumeName:string',
  SeccompProfile: 'localhostProfile:string type:~SeccompProfileType',
  SecretEnvSource: 'name:string optional:bool',
  SecretKeySelector: 'key:string name:string optional:bool',
  SecretProjection: 'items:[]KeyToPath name:string optional:bool',
  SecretVolumeSource: 'defaultMode:int32 items:[]KeyToPath optional:bool secretName:string',
  SecurityContext:
    'allowPrivilegeEscalation:bool appArmorProfile:AppArmorProfile capabilities:Capabilities ' +
    'privileged:bool procMount:~ProcMountType readOnlyRootFilesystem:bool runAsGroup:int64 ' +
    'runAsNonRoot:bool runAsUser:int64 seLinuxOptions:SELinuxOptions seccompProfile:SeccompProfile ' +
    'windowsOptions:WindowsSecurityContextOptions',
  ServiceAccountTokenProjection: 'audience:string expirationSeconds:int64 path:string',
  SleepAction: 'seconds:int64',
  StorageOSVolumeSource:
    'fsType:string readOnly:bool secretRef:LocalObjectReference volumeName:string ' +
    'volumeNamespace:string',
  Sysctl: 'name:string value:string',
  TCPSocketAction: 'host:string port:IntOrString',
  Toleration:
    'effect:~TaintEffect key:string operator:~TolerationOperator tolerationSeconds:int64 value:string',
  TopologySpreadConstraint:
    'labelSelector:LabelSelector matchLabelKeys:[]string maxSkew:int32 minDomains:int32 ' +
    'nodeAffinityPolicy:string nodeTaintsPolicy:string topologyKey:string ' +
    'whenUnsatisfiable:~UnsatisfiableConstraintAction',
  TypedLocalObjectReference: 'apiGroup:string kind:string name:string',
  TypedObjectReference: 'apiGroup:string kind:string name:string namespace:string',
  Volume:
    'awsElasticBlockStore:AWSElasticBlockStoreVolumeSource azureDisk:AzureDiskVolumeSource ' +
    'azureFile:AzureFileVolumeSource cephfs:CephFSVolumeSource cinder:CinderVolumeSource ' +
    'configMap:ConfigMapVolumeSource csi:CSIVolumeSource downwardAPI:DownwardAPIVolumeSource ' +
    'emptyDir:EmptyDirVolumeSource ephemeral:EphemeralVolumeSource fc:FCVolumeSource ' +
    'flexVolume:FlexVolumeSource flocker:FlockerVolumeSource ' +
    'gcePersistentDisk:GCEPersistentDiskVolumeSource gitRepo:GitRepoVolumeSource ' +
    'glusterfs:GlusterfsVolumeSource hostPath:HostPathVolumeSource image:ImageVolumeSource ' +
    'iscsi:ISCSIVolumeSource name:string nfs:NFSVolumeSource ' +
    'persistentVolumeClaim:PersistentVolumeClaimVolumeSource ' +
    'photonPersistentDisk:PhotonPersistentDiskVolumeSource portworxVolume:PortworxVolumeSource ' +
    'projected:ProjectedVolumeSource quobyte:QuobyteVolumeSource rbd:RBDVolumeSource ' +
    'scaleIO:ScaleIOVolumeSource secret:SecretVolumeSource storageos:StorageOSVolumeSource ' +
    'vsphereVolume:VsphereVirtualDiskVolumeSource',
  VolumeDevice: 'devicePath:string name:string',
  VolumeMount:
    'mountPath:string mountPropagation:~MountPropagationMode name:string readOnly:bool ' +
    'recursiveReadOnly:~RecursiveReadOnlyMode subPath:string subPathExpr:string',
  VolumeMountStatus:
    'mountPath:string name:string readOnly:bool recursiveReadOnly:string volumeStatus:VolumeStatus',
  VolumeProjection:
    'clusterTrustBundle:ClusterTrustBundleProjection configMap:ConfigMapProjection ' +
    'downwardAPI:DownwardAPIProjection podCertificate:PodCertificateProjection ' +
    'secret:SecretProjection serviceAccountToken:ServiceAccountTokenProjection',
  VolumeResourceRequirements: 'limits:map:Quantity requests:map:Quantity',
  VolumeStatus: 'image:ImageVolumeStatus',
  VsphereVirtualDiskVolumeSource:
    'fsType:string storagePolicyID:string storagePolicyName:string volumePath:string',
  WeightedPodAffinityTerm: 'podAffinityTerm:PodAffinityTerm weight:int32',
  WindowsSecurityContextOptions:
    'gmsaCredentialSpec:string gmsaCredentialSpecName:string hostProcess:bool runAsUserName:string',
});
