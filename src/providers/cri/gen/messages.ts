// Made by scripts/generate-cri.mjs from cri.proto.

/** A field on the wire: its number, its name here, its kind. A list's kind starts with `[]`; `{}` is a map of strings. */
export type FieldRow = readonly [number: number, name: string, kind: string];

/** The fields of every message. */
export const messages: Readonly<Record<MessageName, readonly FieldRow[]>> = {
  VersionRequest: [[1, 'version', 'string']],
  VersionResponse: [[1, 'version', 'string'], [2, 'runtimeName', 'string'], [3, 'runtimeVersion', 'string'], [4, 'runtimeApiVersion', 'string']],
  DNSConfig: [[1, 'servers', '[]string'], [2, 'searches', '[]string'], [3, 'options', '[]string']],
  PortMapping: [[1, 'protocol', 'int32'], [2, 'containerPort', 'int32'], [3, 'hostPort', 'int32'], [4, 'hostIp', 'string']],
  Mount: [[1, 'containerPath', 'string'], [2, 'hostPath', 'string'], [3, 'readonly', 'bool'], [4, 'selinuxRelabel', 'bool'], [5, 'propagation', 'int32'], [6, 'uidMappings', '[]IDMapping'], [7, 'gidMappings', '[]IDMapping'], [8, 'recursiveReadOnly', 'bool'], [9, 'image', 'ImageSpec'], [10, 'imageSubPath', 'string']],
  IDMapping: [[1, 'hostId', 'uint32'], [2, 'containerId', 'uint32'], [3, 'length', 'uint32']],
  UserNamespace: [[1, 'mode', 'int32'], [2, 'uids', '[]IDMapping'], [3, 'gids', '[]IDMapping']],
  NamespaceOption: [[1, 'network', 'int32'], [2, 'pid', 'int32'], [3, 'ipc', 'int32'], [4, 'targetId', 'string'], [5, 'usernsOptions', 'UserNamespace']],
  Int64Value: [[1, 'value', 'int64']],
  LinuxSandboxSecurityContext: [[1, 'namespaceOptions', 'NamespaceOption'], [2, 'selinuxOptions', 'SELinuxOption'], [3, 'runAsUser', 'Int64Value'], [8, 'runAsGroup', 'Int64Value'], [4, 'readonlyRootfs', 'bool'], [5, 'supplementalGroups', '[]int64'], [11, 'supplementalGroupsPolicy', 'int32'], [6, 'privileged', 'bool'], [9, 'seccomp', 'SecurityProfile'], [10, 'apparmor', 'SecurityProfile'], [7, 'seccompProfilePath', 'string']],
  SecurityProfile: [[1, 'profileType', 'int32'], [2, 'localhostRef', 'string']],
  LinuxPodSandboxConfig: [[1, 'cgroupParent', 'string'], [2, 'securityContext', 'LinuxSandboxSecurityContext'], [3, 'sysctls', '{}'], [4, 'overhead', 'LinuxContainerResources'], [5, 'resources', 'LinuxContainerResources']],
  PodSandboxMetadata: [[1, 'name', 'string'], [2, 'uid', 'string'], [3, 'namespace', 'string'], [4, 'attempt', 'uint32']],
  PodSandboxConfig: [[1, 'metadata', 'PodSandboxMetadata'], [2, 'hostname', 'string'], [3, 'logDirectory', 'string'], [4, 'dnsConfig', 'DNSConfig'], [5, 'portMappings', '[]PortMapping'], [6, 'labels', '{}'], [7, 'annotations', '{}'], [8, 'linux', 'LinuxPodSandboxConfig'], [9, 'windows', 'WindowsPodSandboxConfig']],
  RunPodSandboxRequest: [[1, 'config', 'PodSandboxConfig'], [2, 'runtimeHandler', 'string']],
  RunPodSandboxResponse: [[1, 'podSandboxId', 'string']],
  StopPodSandboxRequest: [[1, 'podSandboxId', 'string']],
  StopPodSandboxResponse: [],
  RemovePodSandboxRequest: [[1, 'podSandboxId', 'string']],
  RemovePodSandboxResponse: [],
  PodSandboxStatusRequest: [[1, 'podSandboxId', 'string'], [2, 'verbose', 'bool']],
  PodIP: [[1, 'ip', 'string']],
  PodSandboxNetworkStatus: [[1, 'ip', 'string'], [2, 'additionalIps', '[]PodIP']],
  Namespace: [[2, 'options', 'NamespaceOption']],
  LinuxPodSandboxStatus: [[1, 'namespaces', 'Namespace']],
  PodSandboxStatus: [[1, 'id', 'string'], [2, 'metadata', 'PodSandboxMetadata'], [3, 'state', 'int32'], [4, 'createdAt', 'int64'], [5, 'network', 'PodSandboxNetworkStatus'], [6, 'linux', 'LinuxPodSandboxStatus'], [7, 'labels', '{}'], [8, 'annotations', '{}'], [9, 'runtimeHandler', 'string']],
  PodSandboxStatusResponse: [[1, 'status', 'PodSandboxStatus'], [2, 'info', '{}'], [3, 'containersStatuses', '[]ContainerStatus'], [4, 'timestamp', 'int64']],
  PodSandboxStateValue: [[1, 'state', 'int32']],
  PodSandboxFilter: [[1, 'id', 'string'], [2, 'state', 'PodSandboxStateValue'], [3, 'labelSelector', '{}']],
  ListPodSandboxRequest: [[1, 'filter', 'PodSandboxFilter']],
  PodSandbox: [[1, 'id', 'string'], [2, 'metadata', 'PodSandboxMetadata'], [3, 'state', 'int32'], [4, 'createdAt', 'int64'], [5, 'labels', '{}'], [6, 'annotations', '{}'], [7, 'runtimeHandler', 'string']],
  ListPodSandboxResponse: [[1, 'items', '[]PodSandbox']],
  StreamPodSandboxesRequest: [[1, 'filter', 'PodSandboxFilter']],
  StreamPodSandboxesResponse: [[1, 'podSandboxes', '[]PodSandbox']],
  PodSandboxStatsRequest: [[1, 'podSandboxId', 'string']],
  PodSandboxStatsResponse: [[1, 'stats', 'PodSandboxStats']],
  PodSandboxStatsFilter: [[1, 'id', 'string'], [2, 'labelSelector', '{}']],
  ListPodSandboxStatsRequest: [[1, 'filter', 'PodSandboxStatsFilter']],
  ListPodSandboxStatsResponse: [[1, 'stats', '[]PodSandboxStats']],
  StreamPodSandboxStatsRequest: [[1, 'filter', 'PodSandboxStatsFilter']],
  StreamPodSandboxStatsResponse: [[1, 'podSandboxStats', '[]PodSandboxStats']],
  PodSandboxAttributes: [[1, 'id', 'string'], [2, 'metadata', 'PodSandboxMetadata'], [3, 'labels', '{}'], [4, 'annotations', '{}']],
  PodSandboxStats: [[1, 'attributes', 'PodSandboxAttributes'], [2, 'linux', 'LinuxPodSandboxStats'], [3, 'windows', 'WindowsPodSandboxStats']],
  LinuxPodSandboxStats: [[1, 'cpu', 'CpuUsage'], [2, 'memory', 'MemoryUsage'], [3, 'network', 'NetworkUsage'], [4, 'process', 'ProcessUsage'], [5, 'containers', '[]ContainerStats'], [6, 'io', 'IoUsage']],
  WindowsPodSandboxStats: [[1, 'cpu', 'WindowsCpuUsage'], [2, 'memory', 'WindowsMemoryUsage'], [3, 'network', 'WindowsNetworkUsage'], [4, 'process', 'WindowsProcessUsage'], [5, 'containers', '[]WindowsContainerStats']],
  NetworkUsage: [[1, 'timestamp', 'int64'], [2, 'defaultInterface', 'NetworkInterfaceUsage'], [3, 'interfaces', '[]NetworkInterfaceUsage']],
  WindowsNetworkUsage: [[1, 'timestamp', 'int64'], [2, 'defaultInterface', 'WindowsNetworkInterfaceUsage'], [3, 'interfaces', '[]WindowsNetworkInterfaceUsage']],
  NetworkInterfaceUsage: [[1, 'name', 'string'], [2, 'rxBytes', 'UInt64Value'], [3, 'rxErrors', 'UInt64Value'], [4, 'txBytes', 'UInt64Value'], [5, 'txErrors', 'UInt64Value']],
  WindowsNetworkInterfaceUsage: [[1, 'name', 'string'], [2, 'rxBytes', 'UInt64Value'], [3, 'rxPacketsDropped', 'UInt64Value'], [4, 'txBytes', 'UInt64Value'], [5, 'txPacketsDropped', 'UInt64Value']],
  ProcessUsage: [[1, 'timestamp', 'int64'], [2, 'processCount', 'UInt64Value']],
  WindowsProcessUsage: [[1, 'timestamp', 'int64'], [2, 'processCount', 'UInt64Value']],
  ImageSpec: [[1, 'image', 'string'], [2, 'annotations', '{}'], [18, 'userSpecifiedImage', 'string'], [19, 'runtimeHandler', 'string'], [20, 'imageRef', 'string']],
  KeyValue: [[1, 'key', 'string'], [2, 'value', 'bytes']],
  LinuxContainerResources: [[1, 'cpuPeriod', 'int64'], [2, 'cpuQuota', 'int64'], [3, 'cpuShares', 'int64'], [4, 'memoryLimitInBytes', 'int64'], [5, 'oomScoreAdj', 'int64'], [6, 'cpusetCpus', 'string'], [7, 'cpusetMems', 'string'], [8, 'hugepageLimits', '[]HugepageLimit'], [9, 'unified', '{}'], [10, 'memorySwapLimitInBytes', 'int64']],
  HugepageLimit: [[1, 'pageSize', 'string'], [2, 'limit', 'uint64']],
  SELinuxOption: [[1, 'user', 'string'], [2, 'role', 'string'], [3, 'type', 'string'], [4, 'level', 'string']],
  Capability: [[1, 'addCapabilities', '[]string'], [2, 'dropCapabilities', '[]string'], [3, 'addAmbientCapabilities', '[]string']],
  LinuxContainerSecurityContext: [[1, 'capabilities', 'Capability'], [2, 'privileged', 'bool'], [3, 'namespaceOptions', 'NamespaceOption'], [4, 'selinuxOptions', 'SELinuxOption'], [5, 'runAsUser', 'Int64Value'], [12, 'runAsGroup', 'Int64Value'], [6, 'runAsUsername', 'string'], [7, 'readonlyRootfs', 'bool'], [8, 'supplementalGroups', '[]int64'], [17, 'supplementalGroupsPolicy', 'int32'], [11, 'noNewPrivs', 'bool'], [13, 'maskedPaths', '[]string'], [14, 'readonlyPaths', '[]string'], [15, 'seccomp', 'SecurityProfile'], [16, 'apparmor', 'SecurityProfile'], [9, 'apparmorProfile', 'string'], [10, 'seccompProfilePath', 'string']],
  LinuxContainerConfig: [[1, 'resources', 'LinuxContainerResources'], [2, 'securityContext', 'LinuxContainerSecurityContext']],
  LinuxContainerUser: [[1, 'uid', 'int64'], [2, 'gid', 'int64'], [3, 'supplementalGroups', '[]int64']],
  WindowsNamespaceOption: [[1, 'network', 'int32']],
  WindowsSandboxSecurityContext: [[1, 'runAsUsername', 'string'], [2, 'credentialSpec', 'string'], [3, 'hostProcess', 'bool'], [4, 'namespaceOptions', 'WindowsNamespaceOption']],
  WindowsPodSandboxConfig: [[1, 'securityContext', 'WindowsSandboxSecurityContext']],
  WindowsContainerSecurityContext: [[1, 'runAsUsername', 'string'], [2, 'credentialSpec', 'string'], [3, 'hostProcess', 'bool']],
  WindowsContainerConfig: [[1, 'resources', 'WindowsContainerResources'], [2, 'securityContext', 'WindowsContainerSecurityContext']],
  WindowsContainerResources: [[1, 'cpuShares', 'int64'], [2, 'cpuCount', 'int64'], [3, 'cpuMaximum', 'int64'], [4, 'memoryLimitInBytes', 'int64'], [5, 'rootfsSizeInBytes', 'int64'], [6, 'affinityCpus', '[]WindowsCpuGroupAffinity']],
  WindowsCpuGroupAffinity: [[1, 'cpuMask', 'uint64'], [2, 'cpuGroup', 'uint32']],
  ContainerMetadata: [[1, 'name', 'string'], [2, 'attempt', 'uint32']],
  Device: [[1, 'containerPath', 'string'], [2, 'hostPath', 'string'], [3, 'permissions', 'string']],
  CDIDevice: [[1, 'name', 'string']],
  ContainerConfig: [[1, 'metadata', 'ContainerMetadata'], [2, 'image', 'ImageSpec'], [3, 'command', '[]string'], [4, 'args', '[]string'], [5, 'workingDir', 'string'], [6, 'envs', '[]KeyValue'], [7, 'mounts', '[]Mount'], [8, 'devices', '[]Device'], [9, 'labels', '{}'], [10, 'annotations', '{}'], [11, 'logPath', 'string'], [12, 'stdin', 'bool'], [13, 'stdinOnce', 'bool'], [14, 'tty', 'bool'], [15, 'linux', 'LinuxContainerConfig'], [16, 'windows', 'WindowsContainerConfig'], [17, 'cdiDevices', '[]CDIDevice'], [18, 'stopSignal', 'int32']],
  CreateContainerRequest: [[1, 'podSandboxId', 'string'], [2, 'config', 'ContainerConfig'], [3, 'sandboxConfig', 'PodSandboxConfig']],
  CreateContainerResponse: [[1, 'containerId', 'string']],
  StartContainerRequest: [[1, 'containerId', 'string']],
  StartContainerResponse: [],
  StopContainerRequest: [[1, 'containerId', 'string'], [2, 'timeout', 'int64']],
  StopContainerResponse: [],
  RemoveContainerRequest: [[1, 'containerId', 'string']],
  RemoveContainerResponse: [],
  ContainerStateValue: [[1, 'state', 'int32']],
  ContainerFilter: [[1, 'id', 'string'], [2, 'state', 'ContainerStateValue'], [3, 'podSandboxId', 'string'], [4, 'labelSelector', '{}']],
  ListContainersRequest: [[1, 'filter', 'ContainerFilter']],
  Container: [[1, 'id', 'string'], [2, 'podSandboxId', 'string'], [3, 'metadata', 'ContainerMetadata'], [4, 'image', 'ImageSpec'], [5, 'imageRef', 'string'], [6, 'state', 'int32'], [7, 'createdAt', 'int64'], [8, 'labels', '{}'], [9, 'annotations', '{}'], [10, 'imageId', 'string']],
  ListContainersResponse: [[1, 'containers', '[]Container']],
  StreamContainersRequest: [[1, 'filter', 'ContainerFilter']],
  StreamContainersResponse: [[1, 'containers', '[]Container']],
  ContainerStatusRequest: [[1, 'containerId', 'string'], [2, 'verbose', 'bool']],
  ContainerStatus: [[1, 'id', 'string'], [2, 'metadata', 'ContainerMetadata'], [3, 'state', 'int32'], [4, 'createdAt', 'int64'], [5, 'startedAt', 'int64'], [6, 'finishedAt', 'int64'], [7, 'exitCode', 'int32'], [8, 'image', 'ImageSpec'], [9, 'imageRef', 'string'], [10, 'reason', 'string'], [11, 'message', 'string'], [12, 'labels', '{}'], [13, 'annotations', '{}'], [14, 'mounts', '[]Mount'], [15, 'logPath', 'string'], [16, 'resources', 'ContainerResources'], [17, 'imageId', 'string'], [18, 'user', 'ContainerUser'], [19, 'stopSignal', 'int32']],
  ContainerStatusResponse: [[1, 'status', 'ContainerStatus'], [2, 'info', '{}']],
  ContainerResources: [[1, 'linux', 'LinuxContainerResources'], [2, 'windows', 'WindowsContainerResources']],
  ContainerUser: [[1, 'linux', 'LinuxContainerUser']],
  UpdateContainerResourcesRequest: [[1, 'containerId', 'string'], [2, 'linux', 'LinuxContainerResources'], [3, 'windows', 'WindowsContainerResources'], [4, 'annotations', '{}']],
  UpdateContainerResourcesResponse: [],
  ExecSyncRequest: [[1, 'containerId', 'string'], [2, 'cmd', '[]string'], [3, 'timeout', 'int64']],
  ExecSyncResponse: [[1, 'stdout', 'bytes'], [2, 'stderr', 'bytes'], [3, 'exitCode', 'int32']],
  ExecRequest: [[1, 'containerId', 'string'], [2, 'cmd', '[]string'], [3, 'tty', 'bool'], [4, 'stdin', 'bool'], [5, 'stdout', 'bool'], [6, 'stderr', 'bool']],
  ExecResponse: [[1, 'url', 'string']],
  AttachRequest: [[1, 'containerId', 'string'], [2, 'stdin', 'bool'], [3, 'tty', 'bool'], [4, 'stdout', 'bool'], [5, 'stderr', 'bool']],
  AttachResponse: [[1, 'url', 'string']],
  PortForwardRequest: [[1, 'podSandboxId', 'string'], [2, 'port', '[]int32']],
  PortForwardResponse: [[1, 'url', 'string']],
  ImageFilter: [[1, 'image', 'ImageSpec']],
  ListImagesRequest: [[1, 'filter', 'ImageFilter']],
  Image: [[1, 'id', 'string'], [2, 'repoTags', '[]string'], [3, 'repoDigests', '[]string'], [4, 'size', 'uint64'], [5, 'uid', 'Int64Value'], [6, 'username', 'string'], [7, 'spec', 'ImageSpec'], [8, 'pinned', 'bool']],
  ListImagesResponse: [[1, 'images', '[]Image']],
  StreamImagesRequest: [[1, 'filter', 'ImageFilter']],
  StreamImagesResponse: [[1, 'images', '[]Image']],
  ImageStatusRequest: [[1, 'image', 'ImageSpec'], [2, 'verbose', 'bool']],
  ImageStatusResponse: [[1, 'image', 'Image'], [2, 'info', '{}']],
  AuthConfig: [[1, 'username', 'string'], [2, 'password', 'string'], [3, 'auth', 'string'], [4, 'serverAddress', 'string'], [5, 'identityToken', 'string'], [6, 'registryToken', 'string']],
  PullImageRequest: [[1, 'image', 'ImageSpec'], [2, 'auth', 'AuthConfig'], [3, 'sandboxConfig', 'PodSandboxConfig']],
  PullImageResponse: [[1, 'imageRef', 'string']],
  RemoveImageRequest: [[1, 'image', 'ImageSpec']],
  RemoveImageResponse: [],
  NetworkConfig: [[1, 'podCidr', 'string']],
  RuntimeConfig: [[1, 'networkConfig', 'NetworkConfig']],
  UpdateRuntimeConfigRequest: [[1, 'runtimeConfig', 'RuntimeConfig']],
  UpdateRuntimeConfigResponse: [],
  RuntimeCondition: [[1, 'type', 'string'], [2, 'status', 'bool'], [3, 'reason', 'string'], [4, 'message', 'string']],
  RuntimeStatus: [[1, 'conditions', '[]RuntimeCondition']],
  StatusRequest: [[1, 'verbose', 'bool']],
  RuntimeHandlerFeatures: [[1, 'recursiveReadOnlyMounts', 'bool'], [2, 'userNamespaces', 'bool']],
  RuntimeHandler: [[1, 'name', 'string'], [2, 'features', 'RuntimeHandlerFeatures']],
  RuntimeFeatures: [[1, 'supplementalGroupsPolicy', 'bool'], [2, 'userNamespacesHostNetwork', 'bool']],
  StatusResponse: [[1, 'status', 'RuntimeStatus'], [2, 'info', '{}'], [3, 'runtimeHandlers', '[]RuntimeHandler'], [4, 'features', 'RuntimeFeatures']],
  ImageFsInfoRequest: [],
  UInt64Value: [[1, 'value', 'uint64']],
  FilesystemIdentifier: [[1, 'mountpoint', 'string']],
  FilesystemUsage: [[1, 'timestamp', 'int64'], [2, 'fsId', 'FilesystemIdentifier'], [3, 'usedBytes', 'UInt64Value'], [4, 'inodesUsed', 'UInt64Value']],
  WindowsFilesystemUsage: [[1, 'timestamp', 'int64'], [2, 'fsId', 'FilesystemIdentifier'], [3, 'usedBytes', 'UInt64Value']],
  ImageFsInfoResponse: [[1, 'imageFilesystems', '[]FilesystemUsage'], [2, 'containerFilesystems', '[]FilesystemUsage']],
  ContainerStatsRequest: [[1, 'containerId', 'string']],
  ContainerStatsResponse: [[1, 'stats', 'ContainerStats']],
  ListContainerStatsRequest: [[1, 'filter', 'ContainerStatsFilter']],
  ContainerStatsFilter: [[1, 'id', 'string'], [2, 'podSandboxId', 'string'], [3, 'labelSelector', '{}']],
  ListContainerStatsResponse: [[1, 'stats', '[]ContainerStats']],
  StreamContainerStatsRequest: [[1, 'filter', 'ContainerStatsFilter']],
  StreamContainerStatsResponse: [[1, 'containerStats', '[]ContainerStats']],
  ContainerAttributes: [[1, 'id', 'string'], [2, 'metadata', 'ContainerMetadata'], [3, 'labels', '{}'], [4, 'annotations', '{}']],
  ContainerStats: [[1, 'attributes', 'ContainerAttributes'], [2, 'cpu', 'CpuUsage'], [3, 'memory', 'MemoryUsage'], [4, 'writableLayer', 'FilesystemUsage'], [5, 'swap', 'SwapUsage'], [6, 'io', 'IoUsage']],
  WindowsContainerStats: [[1, 'attributes', 'ContainerAttributes'], [2, 'cpu', 'WindowsCpuUsage'], [3, 'memory', 'WindowsMemoryUsage'], [4, 'writableLayer', 'WindowsFilesystemUsage']],
  PsiStats: [[1, 'Full', 'PsiData'], [2, 'Some', 'PsiData']],
  PsiData: [[1, 'Total', 'uint64'], [2, 'Avg10', 'double'], [3, 'Avg60', 'double'], [4, 'Avg300', 'double']],
  CpuUsage: [[1, 'timestamp', 'int64'], [2, 'usageCoreNanoSeconds', 'UInt64Value'], [3, 'usageNanoCores', 'UInt64Value'], [4, 'psi', 'PsiStats']],
  WindowsCpuUsage: [[1, 'timestamp', 'int64'], [2, 'usageCoreNanoSeconds', 'UInt64Value'], [3, 'usageNanoCores', 'UInt64Value']],
  MemoryUsage: [[1, 'timestamp', 'int64'], [2, 'workingSetBytes', 'UInt64Value'], [3, 'availableBytes', 'UInt64Value'], [4, 'usageBytes', 'UInt64Value'], [5, 'rssBytes', 'UInt64Value'], [6, 'pageFaults', 'UInt64Value'], [7, 'majorPageFaults', 'UInt64Value'], [8, 'psi', 'PsiStats']],
  IoUsage: [[1, 'timestamp', 'int64'], [2, 'psi', 'PsiStats']],
  SwapUsage: [[1, 'timestamp', 'int64'], [2, 'swapAvailableBytes', 'UInt64Value'], [3, 'swapUsageBytes', 'UInt64Value']],
  WindowsMemoryUsage: [[1, 'timestamp', 'int64'], [2, 'workingSetBytes', 'UInt64Value'], [3, 'availableBytes', 'UInt64Value'], [4, 'pageFaults', 'UInt64Value'], [5, 'commitMemoryBytes', 'UInt64Value']],
  ReopenContainerLogRequest: [[1, 'containerId', 'string']],
  ReopenContainerLogResponse: [],
  CheckpointContainerRequest: [[1, 'containerId', 'string'], [2, 'location', 'string'], [3, 'timeout', 'int64']],
  CheckpointContainerResponse: [],
  GetEventsRequest: [],
  ContainerEventResponse: [[1, 'containerId', 'string'], [2, 'containerEventType', 'int32'], [3, 'createdAt', 'int64'], [4, 'podSandboxStatus', 'PodSandboxStatus'], [5, 'containersStatuses', '[]ContainerStatus']],
  ListMetricDescriptorsRequest: [],
  ListMetricDescriptorsResponse: [[1, 'descriptors', '[]MetricDescriptor']],
  MetricDescriptor: [[1, 'name', 'string'], [2, 'help', 'string'], [3, 'labelKeys', '[]string']],
  ListPodSandboxMetricsRequest: [],
  ListPodSandboxMetricsResponse: [[1, 'podMetrics', '[]PodSandboxMetrics']],
  StreamPodSandboxMetricsRequest: [],
  StreamPodSandboxMetricsResponse: [[1, 'podSandboxMetrics', '[]PodSandboxMetrics']],
  PodSandboxMetrics: [[1, 'podSandboxId', 'string'], [2, 'metrics', '[]Metric'], [3, 'containerMetrics', '[]ContainerMetrics']],
  ContainerMetrics: [[1, 'containerId', 'string'], [2, 'metrics', '[]Metric']],
  Metric: [[1, 'name', 'string'], [2, 'timestamp', 'int64'], [3, 'metricType', 'int32'], [4, 'labelValues', '[]string'], [5, 'value', 'UInt64Value']],
  RuntimeConfigRequest: [],
  RuntimeConfigResponse: [[1, 'linux', 'LinuxRuntimeConfiguration']],
  LinuxRuntimeConfiguration: [[1, 'cgroupDriver', 'int32']],
  UpdatePodSandboxResourcesRequest: [[1, 'podSandboxId', 'string'], [2, 'overhead', 'LinuxContainerResources'], [3, 'resources', 'LinuxContainerResources']],
  UpdatePodSandboxResourcesResponse: [],
};

export type MessageName =
  | 'VersionRequest'
  | 'VersionResponse'
  | 'DNSConfig'
  | 'PortMapping'
  | 'Mount'
  | 'IDMapping'
  | 'UserNamespace'
  | 'NamespaceOption'
  | 'Int64Value'
  | 'LinuxSandboxSecurityContext'
  | 'SecurityProfile'
  | 'LinuxPodSandboxConfig'
  | 'PodSandboxMetadata'
  | 'PodSandboxConfig'
  | 'RunPodSandboxRequest'
  | 'RunPodSandboxResponse'
  | 'StopPodSandboxRequest'
  | 'StopPodSandboxResponse'
  | 'RemovePodSandboxRequest'
  | 'RemovePodSandboxResponse'
  | 'PodSandboxStatusRequest'
  | 'PodIP'
  | 'PodSandboxNetworkStatus'
  | 'Namespace'
  | 'LinuxPodSandboxStatus'
  | 'PodSandboxStatus'
  | 'PodSandboxStatusResponse'
  | 'PodSandboxStateValue'
  | 'PodSandboxFilter'
  | 'ListPodSandboxRequest'
  | 'PodSandbox'
  | 'ListPodSandboxResponse'
  | 'StreamPodSandboxesRequest'
  | 'StreamPodSandboxesResponse'
  | 'PodSandboxStatsRequest'
  | 'PodSandboxStatsResponse'
  | 'PodSandboxStatsFilter'
  | 'ListPodSandboxStatsRequest'
  | 'ListPodSandboxStatsResponse'
  | 'StreamPodSandboxStatsRequest'
  | 'StreamPodSandboxStatsResponse'
  | 'PodSandboxAttributes'
  | 'PodSandboxStats'
  | 'LinuxPodSandboxStats'
  | 'WindowsPodSandboxStats'
  | 'NetworkUsage'
  | 'WindowsNetworkUsage'
  | 'NetworkInterfaceUsage'
  | 'WindowsNetworkInterfaceUsage'
  | 'ProcessUsage'
  | 'WindowsProcessUsage'
  | 'ImageSpec'
  | 'KeyValue'
  | 'LinuxContainerResources'
  | 'HugepageLimit'
  | 'SELinuxOption'
  | 'Capability'
  | 'LinuxContainerSecurityContext'
  | 'LinuxContainerConfig'
  | 'LinuxContainerUser'
  | 'WindowsNamespaceOption'
  | 'WindowsSandboxSecurityContext'
  | 'WindowsPodSandboxConfig'
  | 'WindowsContainerSecurityContext'
  | 'WindowsContainerConfig'
  | 'WindowsContainerResources'
  | 'WindowsCpuGroupAffinity'
  | 'ContainerMetadata'
  | 'Device'
  | 'CDIDevice'
  | 'ContainerConfig'
  | 'CreateContainerRequest'
  | 'CreateContainerResponse'
  | 'StartContainerRequest'
  | 'StartContainerResponse'
  | 'StopContainerRequest'
  | 'StopContainerResponse'
  | 'RemoveContainerRequest'
  | 'RemoveContainerResponse'
  | 'ContainerStateValue'
  | 'ContainerFilter'
  | 'ListContainersRequest'
  | 'Container'
  | 'ListContainersResponse'
  | 'StreamContainersRequest'
  | 'StreamContainersResponse'
  | 'ContainerStatusRequest'
  | 'ContainerStatus'
  | 'ContainerStatusResponse'
  | 'ContainerResources'
  | 'ContainerUser'
  | 'UpdateContainerResourcesRequest'
  | 'UpdateContainerResourcesResponse'
  | 'ExecSyncRequest'
  | 'ExecSyncResponse'
  | 'ExecRequest'
  | 'ExecResponse'
  | 'AttachRequest'
  | 'AttachResponse'
  | 'PortForwardRequest'
  | 'PortForwardResponse'
  | 'ImageFilter'
  | 'ListImagesRequest'
  | 'Image'
  | 'ListImagesResponse'
  | 'StreamImagesRequest'
  | 'StreamImagesResponse'
  | 'ImageStatusRequest'
  | 'ImageStatusResponse'
  | 'AuthConfig'
  | 'PullImageRequest'
  | 'PullImageResponse'
  | 'RemoveImageRequest'
  | 'RemoveImageResponse'
  | 'NetworkConfig'
  | 'RuntimeConfig'
  | 'UpdateRuntimeConfigRequest'
  | 'UpdateRuntimeConfigResponse'
  | 'RuntimeCondition'
  | 'RuntimeStatus'
  | 'StatusRequest'
  | 'RuntimeHandlerFeatures'
  | 'RuntimeHandler'
  | 'RuntimeFeatures'
  | 'StatusResponse'
  | 'ImageFsInfoRequest'
  | 'UInt64Value'
  | 'FilesystemIdentifier'
  | 'FilesystemUsage'
  | 'WindowsFilesystemUsage'
  | 'ImageFsInfoResponse'
  | 'ContainerStatsRequest'
  | 'ContainerStatsResponse'
  | 'ListContainerStatsRequest'
  | 'ContainerStatsFilter'
  | 'ListContainerStatsResponse'
  | 'StreamContainerStatsRequest'
  | 'StreamContainerStatsResponse'
  | 'ContainerAttributes'
  | 'ContainerStats'
  | 'WindowsContainerStats'
  | 'PsiStats'
  | 'PsiData'
  | 'CpuUsage'
  | 'WindowsCpuUsage'
  | 'MemoryUsage'
  | 'IoUsage'
  | 'SwapUsage'
  | 'WindowsMemoryUsage'
  | 'ReopenContainerLogRequest'
  | 'ReopenContainerLogResponse'
  | 'CheckpointContainerRequest'
  | 'CheckpointContainerResponse'
  | 'GetEventsRequest'
  | 'ContainerEventResponse'
  | 'ListMetricDescriptorsRequest'
  | 'ListMetricDescriptorsResponse'
  | 'MetricDescriptor'
  | 'ListPodSandboxMetricsRequest'
  | 'ListPodSandboxMetricsResponse'
  | 'StreamPodSandboxMetricsRequest'
  | 'StreamPodSandboxMetricsResponse'
  | 'PodSandboxMetrics'
  | 'ContainerMetrics'
  | 'Metric'
  | 'RuntimeConfigRequest'
  | 'RuntimeConfigResponse'
  | 'LinuxRuntimeConfiguration'
  | 'UpdatePodSandboxResourcesRequest'
  | 'UpdatePodSandboxResourcesResponse';
