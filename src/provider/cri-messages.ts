/**
 * The messages of CRI v1 (`runtime.v1`) as plain TypeScript values: the vocabulary of {@link ContainerRuntime}.
 *
 * Field names are the proto's in camelCase; every field may be absent and then stands for the proto3 zero value.
 * 64-bit integers are `number`: instants in ns since the epoch lose their last 8 bits (256 ns), which orders containers well enough.
 * Made by scripts/generate-cri.mjs from src/providers/cri/cri.proto.
 */

export const SecurityProfileProfileType: {
  readonly RuntimeDefault: 0;
  readonly Unconfined: 1;
  readonly Localhost: 2;
} = {
  RuntimeDefault: 0,
  Unconfined: 1,
  Localhost: 2,
};
export type SecurityProfileProfileType = (typeof SecurityProfileProfileType)[keyof typeof SecurityProfileProfileType];

export const Protocol: {
  readonly TCP: 0;
  readonly UDP: 1;
  readonly SCTP: 2;
} = {
  TCP: 0,
  UDP: 1,
  SCTP: 2,
};
export type Protocol = (typeof Protocol)[keyof typeof Protocol];

export const MountPropagation: {
  readonly PROPAGATION_PRIVATE: 0;
  readonly PROPAGATION_HOST_TO_CONTAINER: 1;
  readonly PROPAGATION_BIDIRECTIONAL: 2;
} = {
  PROPAGATION_PRIVATE: 0,
  PROPAGATION_HOST_TO_CONTAINER: 1,
  PROPAGATION_BIDIRECTIONAL: 2,
};
export type MountPropagation = (typeof MountPropagation)[keyof typeof MountPropagation];

export const NamespaceMode: {
  readonly POD: 0;
  readonly CONTAINER: 1;
  readonly NODE: 2;
  readonly TARGET: 3;
} = {
  POD: 0,
  CONTAINER: 1,
  NODE: 2,
  TARGET: 3,
};
export type NamespaceMode = (typeof NamespaceMode)[keyof typeof NamespaceMode];

export const SupplementalGroupsPolicy: {
  readonly Merge: 0;
  readonly Strict: 1;
} = {
  Merge: 0,
  Strict: 1,
};
export type SupplementalGroupsPolicy = (typeof SupplementalGroupsPolicy)[keyof typeof SupplementalGroupsPolicy];

export const PodSandboxState: {
  readonly SANDBOX_READY: 0;
  readonly SANDBOX_NOTREADY: 1;
} = {
  SANDBOX_READY: 0,
  SANDBOX_NOTREADY: 1,
};
export type PodSandboxState = (typeof PodSandboxState)[keyof typeof PodSandboxState];

export const Signal: {
  readonly RUNTIME_DEFAULT: 0;
  readonly SIGABRT: 1;
  readonly SIGALRM: 2;
  readonly SIGBUS: 3;
  readonly SIGCHLD: 4;
  readonly SIGCLD: 5;
  readonly SIGCONT: 6;
  readonly SIGFPE: 7;
  readonly SIGHUP: 8;
  readonly SIGILL: 9;
  readonly SIGINT: 10;
  readonly SIGIO: 11;
  readonly SIGIOT: 12;
  readonly SIGKILL: 13;
  readonly SIGPIPE: 14;
  readonly SIGPOLL: 15;
  readonly SIGPROF: 16;
  readonly SIGPWR: 17;
  readonly SIGQUIT: 18;
  readonly SIGSEGV: 19;
  readonly SIGSTKFLT: 20;
  readonly SIGSTOP: 21;
  readonly SIGSYS: 22;
  readonly SIGTERM: 23;
  readonly SIGTRAP: 24;
  readonly SIGTSTP: 25;
  readonly SIGTTIN: 26;
  readonly SIGTTOU: 27;
  readonly SIGURG: 28;
  readonly SIGUSR1: 29;
  readonly SIGUSR2: 30;
  readonly SIGVTALRM: 31;
  readonly SIGWINCH: 32;
  readonly SIGXCPU: 33;
  readonly SIGXFSZ: 34;
  readonly SIGRTMIN: 35;
  readonly SIGRTMINPLUS1: 36;
  readonly SIGRTMINPLUS2: 37;
  readonly SIGRTMINPLUS3: 38;
  readonly SIGRTMINPLUS4: 39;
  readonly SIGRTMINPLUS5: 40;
  readonly SIGRTMINPLUS6: 41;
  readonly SIGRTMINPLUS7: 42;
  readonly SIGRTMINPLUS8: 43;
  readonly SIGRTMINPLUS9: 44;
  readonly SIGRTMINPLUS10: 45;
  readonly SIGRTMINPLUS11: 46;
  readonly SIGRTMINPLUS12: 47;
  readonly SIGRTMINPLUS13: 48;
  readonly SIGRTMINPLUS14: 49;
  readonly SIGRTMINPLUS15: 50;
  readonly SIGRTMAXMINUS14: 51;
  readonly SIGRTMAXMINUS13: 52;
  readonly SIGRTMAXMINUS12: 53;
  readonly SIGRTMAXMINUS11: 54;
  readonly SIGRTMAXMINUS10: 55;
  readonly SIGRTMAXMINUS9: 56;
  readonly SIGRTMAXMINUS8: 57;
  readonly SIGRTMAXMINUS7: 58;
  readonly SIGRTMAXMINUS6: 59;
  readonly SIGRTMAXMINUS5: 60;
  readonly SIGRTMAXMINUS4: 61;
  readonly SIGRTMAXMINUS3: 62;
  readonly SIGRTMAXMINUS2: 63;
  readonly SIGRTMAXMINUS1: 64;
  readonly SIGRTMAX: 65;
} = {
  RUNTIME_DEFAULT: 0,
  SIGABRT: 1,
  SIGALRM: 2,
  SIGBUS: 3,
  SIGCHLD: 4,
  SIGCLD: 5,
  SIGCONT: 6,
  SIGFPE: 7,
  SIGHUP: 8,
  SIGILL: 9,
  SIGINT: 10,
  SIGIO: 11,
  SIGIOT: 12,
  SIGKILL: 13,
  SIGPIPE: 14,
  SIGPOLL: 15,
  SIGPROF: 16,
  SIGPWR: 17,
  SIGQUIT: 18,
  SIGSEGV: 19,
  SIGSTKFLT: 20,
  SIGSTOP: 21,
  SIGSYS: 22,
  SIGTERM: 23,
  SIGTRAP: 24,
  SIGTSTP: 25,
  SIGTTIN: 26,
  SIGTTOU: 27,
  SIGURG: 28,
  SIGUSR1: 29,
  SIGUSR2: 30,
  SIGVTALRM: 31,
  SIGWINCH: 32,
  SIGXCPU: 33,
  SIGXFSZ: 34,
  SIGRTMIN: 35,
  SIGRTMINPLUS1: 36,
  SIGRTMINPLUS2: 37,
  SIGRTMINPLUS3: 38,
  SIGRTMINPLUS4: 39,
  SIGRTMINPLUS5: 40,
  SIGRTMINPLUS6: 41,
  SIGRTMINPLUS7: 42,
  SIGRTMINPLUS8: 43,
  SIGRTMINPLUS9: 44,
  SIGRTMINPLUS10: 45,
  SIGRTMINPLUS11: 46,
  SIGRTMINPLUS12: 47,
  SIGRTMINPLUS13: 48,
  SIGRTMINPLUS14: 49,
  SIGRTMINPLUS15: 50,
  SIGRTMAXMINUS14: 51,
  SIGRTMAXMINUS13: 52,
  SIGRTMAXMINUS12: 53,
  SIGRTMAXMINUS11: 54,
  SIGRTMAXMINUS10: 55,
  SIGRTMAXMINUS9: 56,
  SIGRTMAXMINUS8: 57,
  SIGRTMAXMINUS7: 58,
  SIGRTMAXMINUS6: 59,
  SIGRTMAXMINUS5: 60,
  SIGRTMAXMINUS4: 61,
  SIGRTMAXMINUS3: 62,
  SIGRTMAXMINUS2: 63,
  SIGRTMAXMINUS1: 64,
  SIGRTMAX: 65,
};
export type Signal = (typeof Signal)[keyof typeof Signal];

export const ContainerState: {
  readonly CONTAINER_CREATED: 0;
  readonly CONTAINER_RUNNING: 1;
  readonly CONTAINER_EXITED: 2;
  readonly CONTAINER_UNKNOWN: 3;
} = {
  CONTAINER_CREATED: 0,
  CONTAINER_RUNNING: 1,
  CONTAINER_EXITED: 2,
  CONTAINER_UNKNOWN: 3,
};
export type ContainerState = (typeof ContainerState)[keyof typeof ContainerState];

export const ContainerEventType: {
  readonly CONTAINER_CREATED_EVENT: 0;
  readonly CONTAINER_STARTED_EVENT: 1;
  readonly CONTAINER_STOPPED_EVENT: 2;
  readonly CONTAINER_DELETED_EVENT: 3;
} = {
  CONTAINER_CREATED_EVENT: 0,
  CONTAINER_STARTED_EVENT: 1,
  CONTAINER_STOPPED_EVENT: 2,
  CONTAINER_DELETED_EVENT: 3,
};
export type ContainerEventType = (typeof ContainerEventType)[keyof typeof ContainerEventType];

export const MetricType: {
  readonly COUNTER: 0;
  readonly GAUGE: 1;
} = {
  COUNTER: 0,
  GAUGE: 1,
};
export type MetricType = (typeof MetricType)[keyof typeof MetricType];

export const CgroupDriver: {
  readonly SYSTEMD: 0;
  readonly CGROUPFS: 1;
} = {
  SYSTEMD: 0,
  CGROUPFS: 1,
};
export type CgroupDriver = (typeof CgroupDriver)[keyof typeof CgroupDriver];

export interface VersionRequest {
  readonly version?: string;
}

export interface VersionResponse {
  readonly version?: string;
  readonly runtimeName?: string;
  readonly runtimeVersion?: string;
  readonly runtimeApiVersion?: string;
}

export interface DNSConfig {
  readonly servers?: readonly string[];
  readonly searches?: readonly string[];
  readonly options?: readonly string[];
}

export interface PortMapping {
  readonly protocol?: Protocol;
  readonly containerPort?: number;
  readonly hostPort?: number;
  readonly hostIp?: string;
}

export interface Mount {
  readonly containerPath?: string;
  readonly hostPath?: string;
  readonly readonly?: boolean;
  readonly selinuxRelabel?: boolean;
  readonly propagation?: MountPropagation;
  readonly uidMappings?: readonly IDMapping[];
  readonly gidMappings?: readonly IDMapping[];
  readonly recursiveReadOnly?: boolean;
  readonly image?: ImageSpec;
  readonly imageSubPath?: string;
}

export interface IDMapping {
  readonly hostId?: number;
  readonly containerId?: number;
  readonly length?: number;
}

export interface UserNamespace {
  readonly mode?: NamespaceMode;
  readonly uids?: readonly IDMapping[];
  readonly gids?: readonly IDMapping[];
}

export interface NamespaceOption {
  readonly network?: NamespaceMode;
  readonly pid?: NamespaceMode;
  readonly ipc?: NamespaceMode;
  readonly targetId?: string;
  readonly usernsOptions?: UserNamespace;
}

export interface Int64Value {
  readonly value?: number;
}

export interface LinuxSandboxSecurityContext {
  readonly namespaceOptions?: NamespaceOption;
  readonly selinuxOptions?: SELinuxOption;
  readonly runAsUser?: Int64Value;
  readonly runAsGroup?: Int64Value;
  readonly readonlyRootfs?: boolean;
  readonly supplementalGroups?: readonly number[];
  readonly supplementalGroupsPolicy?: SupplementalGroupsPolicy;
  readonly privileged?: boolean;
  readonly seccomp?: SecurityProfile;
  readonly apparmor?: SecurityProfile;
  readonly seccompProfilePath?: string;
}

export interface SecurityProfile {
  readonly profileType?: SecurityProfileProfileType;
  readonly localhostRef?: string;
}

export interface LinuxPodSandboxConfig {
  readonly cgroupParent?: string;
  readonly securityContext?: LinuxSandboxSecurityContext;
  readonly sysctls?: Readonly<Record<string, string>>;
  readonly overhead?: LinuxContainerResources;
  readonly resources?: LinuxContainerResources;
}

export interface PodSandboxMetadata {
  readonly name?: string;
  readonly uid?: string;
  readonly namespace?: string;
  readonly attempt?: number;
}

export interface PodSandboxConfig {
  readonly metadata?: PodSandboxMetadata;
  readonly hostname?: string;
  readonly logDirectory?: string;
  readonly dnsConfig?: DNSConfig;
  readonly portMappings?: readonly PortMapping[];
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly linux?: LinuxPodSandboxConfig;
  readonly windows?: WindowsPodSandboxConfig;
}

export interface RunPodSandboxRequest {
  readonly config?: PodSandboxConfig;
  readonly runtimeHandler?: string;
}

export interface RunPodSandboxResponse {
  readonly podSandboxId?: string;
}

export interface StopPodSandboxRequest {
  readonly podSandboxId?: string;
}

export type StopPodSandboxResponse = Readonly<Record<string, never>>;

export interface RemovePodSandboxRequest {
  readonly podSandboxId?: string;
}

export type RemovePodSandboxResponse = Readonly<Record<string, never>>;

export interface PodSandboxStatusRequest {
  readonly podSandboxId?: string;
  readonly verbose?: boolean;
}

export interface PodIP {
  readonly ip?: string;
}

export interface PodSandboxNetworkStatus {
  readonly ip?: string;
  readonly additionalIps?: readonly PodIP[];
}

export interface Namespace {
  readonly options?: NamespaceOption;
}

export interface LinuxPodSandboxStatus {
  readonly namespaces?: Namespace;
}

export interface PodSandboxStatus {
  readonly id?: string;
  readonly metadata?: PodSandboxMetadata;
  readonly state?: PodSandboxState;
  readonly createdAt?: number;
  readonly network?: PodSandboxNetworkStatus;
  readonly linux?: LinuxPodSandboxStatus;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly runtimeHandler?: string;
}

export interface PodSandboxStatusResponse {
  readonly status?: PodSandboxStatus;
  readonly info?: Readonly<Record<string, string>>;
  readonly containersStatuses?: readonly ContainerStatus[];
  readonly timestamp?: number;
}

export interface PodSandboxStateValue {
  readonly state?: PodSandboxState;
}

export interface PodSandboxFilter {
  readonly id?: string;
  readonly state?: PodSandboxStateValue;
  readonly labelSelector?: Readonly<Record<string, string>>;
}

export interface ListPodSandboxRequest {
  readonly filter?: PodSandboxFilter;
}

export interface PodSandbox {
  readonly id?: string;
  readonly metadata?: PodSandboxMetadata;
  readonly state?: PodSandboxState;
  readonly createdAt?: number;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly runtimeHandler?: string;
}

export interface ListPodSandboxResponse {
  readonly items?: readonly PodSandbox[];
}

export interface StreamPodSandboxesRequest {
  readonly filter?: PodSandboxFilter;
}

export interface StreamPodSandboxesResponse {
  readonly podSandboxes?: readonly PodSandbox[];
}

export interface PodSandboxStatsRequest {
  readonly podSandboxId?: string;
}

export interface PodSandboxStatsResponse {
  readonly stats?: PodSandboxStats;
}

export interface PodSandboxStatsFilter {
  readonly id?: string;
  readonly labelSelector?: Readonly<Record<string, string>>;
}

export interface ListPodSandboxStatsRequest {
  readonly filter?: PodSandboxStatsFilter;
}

export interface ListPodSandboxStatsResponse {
  readonly stats?: readonly PodSandboxStats[];
}

export interface StreamPodSandboxStatsRequest {
  readonly filter?: PodSandboxStatsFilter;
}

export interface StreamPodSandboxStatsResponse {
  readonly podSandboxStats?: readonly PodSandboxStats[];
}

export interface PodSandboxAttributes {
  readonly id?: string;
  readonly metadata?: PodSandboxMetadata;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

export interface PodSandboxStats {
  readonly attributes?: PodSandboxAttributes;
  readonly linux?: LinuxPodSandboxStats;
  readonly windows?: WindowsPodSandboxStats;
}

export interface LinuxPodSandboxStats {
  readonly cpu?: CpuUsage;
  readonly memory?: MemoryUsage;
  readonly network?: NetworkUsage;
  readonly process?: ProcessUsage;
  readonly containers?: readonly ContainerStats[];
  readonly io?: IoUsage;
}

export interface WindowsPodSandboxStats {
  readonly cpu?: WindowsCpuUsage;
  readonly memory?: WindowsMemoryUsage;
  readonly network?: WindowsNetworkUsage;
  readonly process?: WindowsProcessUsage;
  readonly containers?: readonly WindowsContainerStats[];
}

export interface NetworkUsage {
  readonly timestamp?: number;
  readonly defaultInterface?: NetworkInterfaceUsage;
  readonly interfaces?: readonly NetworkInterfaceUsage[];
}

export interface WindowsNetworkUsage {
  readonly timestamp?: number;
  readonly defaultInterface?: WindowsNetworkInterfaceUsage;
  readonly interfaces?: readonly WindowsNetworkInterfaceUsage[];
}

export interface NetworkInterfaceUsage {
  readonly name?: string;
  readonly rxBytes?: UInt64Value;
  readonly rxErrors?: UInt64Value;
  readonly txBytes?: UInt64Value;
  readonly txErrors?: UInt64Value;
}

export interface WindowsNetworkInterfaceUsage {
  readonly name?: string;
  readonly rxBytes?: UInt64Value;
  readonly rxPacketsDropped?: UInt64Value;
  readonly txBytes?: UInt64Value;
  readonly txPacketsDropped?: UInt64Value;
}

export interface ProcessUsage {
  readonly timestamp?: number;
  readonly processCount?: UInt64Value;
}

export interface WindowsProcessUsage {
  readonly timestamp?: number;
  readonly processCount?: UInt64Value;
}

export interface ImageSpec {
  readonly image?: string;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly userSpecifiedImage?: string;
  readonly runtimeHandler?: string;
  readonly imageRef?: string;
}

export interface KeyValue {
  readonly key?: string;
  readonly value?: Uint8Array;
}

export interface LinuxContainerResources {
  readonly cpuPeriod?: number;
  readonly cpuQuota?: number;
  readonly cpuShares?: number;
  readonly memoryLimitInBytes?: number;
  readonly oomScoreAdj?: number;
  readonly cpusetCpus?: string;
  readonly cpusetMems?: string;
  readonly hugepageLimits?: readonly HugepageLimit[];
  readonly unified?: Readonly<Record<string, string>>;
  readonly memorySwapLimitInBytes?: number;
}

export interface HugepageLimit {
  readonly pageSize?: string;
  readonly limit?: number;
}

export interface SELinuxOption {
  readonly user?: string;
  readonly role?: string;
  readonly type?: string;
  readonly level?: string;
}

export interface Capability {
  readonly addCapabilities?: readonly string[];
  readonly dropCapabilities?: readonly string[];
  readonly addAmbientCapabilities?: readonly string[];
}

export interface LinuxContainerSecurityContext {
  readonly capabilities?: Capability;
  readonly privileged?: boolean;
  readonly namespaceOptions?: NamespaceOption;
  readonly selinuxOptions?: SELinuxOption;
  readonly runAsUser?: Int64Value;
  readonly runAsGroup?: Int64Value;
  readonly runAsUsername?: string;
  readonly readonlyRootfs?: boolean;
  readonly supplementalGroups?: readonly number[];
  readonly supplementalGroupsPolicy?: SupplementalGroupsPolicy;
  readonly noNewPrivs?: boolean;
  readonly maskedPaths?: readonly string[];
  readonly readonlyPaths?: readonly string[];
  readonly seccomp?: SecurityProfile;
  readonly apparmor?: SecurityProfile;
  readonly apparmorProfile?: string;
  readonly seccompProfilePath?: string;
}

export interface LinuxContainerConfig {
  readonly resources?: LinuxContainerResources;
  readonly securityContext?: LinuxContainerSecurityContext;
}

export interface LinuxContainerUser {
  readonly uid?: number;
  readonly gid?: number;
  readonly supplementalGroups?: readonly number[];
}

export interface WindowsNamespaceOption {
  readonly network?: NamespaceMode;
}

export interface WindowsSandboxSecurityContext {
  readonly runAsUsername?: string;
  readonly credentialSpec?: string;
  readonly hostProcess?: boolean;
  readonly namespaceOptions?: WindowsNamespaceOption;
}

export interface WindowsPodSandboxConfig {
  readonly securityContext?: WindowsSandboxSecurityContext;
}

export interface WindowsContainerSecurityContext {
  readonly runAsUsername?: string;
  readonly credentialSpec?: string;
  readonly hostProcess?: boolean;
}

export interface WindowsContainerConfig {
  readonly resources?: WindowsContainerResources;
  readonly securityContext?: WindowsContainerSecurityContext;
}

export interface WindowsContainerResources {
  readonly cpuShares?: number;
  readonly cpuCount?: number;
  readonly cpuMaximum?: number;
  readonly memoryLimitInBytes?: number;
  readonly rootfsSizeInBytes?: number;
  readonly affinityCpus?: readonly WindowsCpuGroupAffinity[];
}

export interface WindowsCpuGroupAffinity {
  readonly cpuMask?: number;
  readonly cpuGroup?: number;
}

export interface ContainerMetadata {
  readonly name?: string;
  readonly attempt?: number;
}

export interface Device {
  readonly containerPath?: string;
  readonly hostPath?: string;
  readonly permissions?: string;
}

export interface CDIDevice {
  readonly name?: string;
}

export interface ContainerConfig {
  readonly metadata?: ContainerMetadata;
  readonly image?: ImageSpec;
  readonly command?: readonly string[];
  readonly args?: readonly string[];
  readonly workingDir?: string;
  readonly envs?: readonly KeyValue[];
  readonly mounts?: readonly Mount[];
  readonly devices?: readonly Device[];
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly logPath?: string;
  readonly stdin?: boolean;
  readonly stdinOnce?: boolean;
  readonly tty?: boolean;
  readonly linux?: LinuxContainerConfig;
  readonly windows?: WindowsContainerConfig;
  readonly cdiDevices?: readonly CDIDevice[];
  readonly stopSignal?: Signal;
}

export interface CreateContainerRequest {
  readonly podSandboxId?: string;
  readonly config?: ContainerConfig;
  readonly sandboxConfig?: PodSandboxConfig;
}

export interface CreateContainerResponse {
  readonly containerId?: string;
}

export interface StartContainerRequest {
  readonly containerId?: string;
}

export type StartContainerResponse = Readonly<Record<string, never>>;

export interface StopContainerRequest {
  readonly containerId?: string;
  readonly timeout?: number;
}

export type StopContainerResponse = Readonly<Record<string, never>>;

export interface RemoveContainerRequest {
  readonly containerId?: string;
}

export type RemoveContainerResponse = Readonly<Record<string, never>>;

export interface ContainerStateValue {
  readonly state?: ContainerState;
}

export interface ContainerFilter {
  readonly id?: string;
  readonly state?: ContainerStateValue;
  readonly podSandboxId?: string;
  readonly labelSelector?: Readonly<Record<string, string>>;
}

export interface ListContainersRequest {
  readonly filter?: ContainerFilter;
}

export interface Container {
  readonly id?: string;
  readonly podSandboxId?: string;
  readonly metadata?: ContainerMetadata;
  readonly image?: ImageSpec;
  readonly imageRef?: string;
  readonly state?: ContainerState;
  readonly createdAt?: number;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly imageId?: string;
}

export interface ListContainersResponse {
  readonly containers?: readonly Container[];
}

export interface StreamContainersRequest {
  readonly filter?: ContainerFilter;
}

export interface StreamContainersResponse {
  readonly containers?: readonly Container[];
}

export interface ContainerStatusRequest {
  readonly containerId?: string;
  readonly verbose?: boolean;
}

export interface ContainerStatus {
  readonly id?: string;
  readonly metadata?: ContainerMetadata;
  readonly state?: ContainerState;
  readonly createdAt?: number;
  readonly startedAt?: number;
  readonly finishedAt?: number;
  readonly exitCode?: number;
  readonly image?: ImageSpec;
  readonly imageRef?: string;
  readonly reason?: string;
  readonly message?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly mounts?: readonly Mount[];
  readonly logPath?: string;
  readonly resources?: ContainerResources;
  readonly imageId?: string;
  readonly user?: ContainerUser;
  readonly stopSignal?: Signal;
}

export interface ContainerStatusResponse {
  readonly status?: ContainerStatus;
  readonly info?: Readonly<Record<string, string>>;
}

export interface ContainerResources {
  readonly linux?: LinuxContainerResources;
  readonly windows?: WindowsContainerResources;
}

export interface ContainerUser {
  readonly linux?: LinuxContainerUser;
}

export interface UpdateContainerResourcesRequest {
  readonly containerId?: string;
  readonly linux?: LinuxContainerResources;
  readonly windows?: WindowsContainerResources;
  readonly annotations?: Readonly<Record<string, string>>;
}

export type UpdateContainerResourcesResponse = Readonly<Record<string, never>>;

export interface ExecSyncRequest {
  readonly containerId?: string;
  readonly cmd?: readonly string[];
  readonly timeout?: number;
}

export interface ExecSyncResponse {
  readonly stdout?: Uint8Array;
  readonly stderr?: Uint8Array;
  readonly exitCode?: number;
}

export interface ExecRequest {
  readonly containerId?: string;
  readonly cmd?: readonly string[];
  readonly tty?: boolean;
  readonly stdin?: boolean;
  readonly stdout?: boolean;
  readonly stderr?: boolean;
}

export interface ExecResponse {
  readonly url?: string;
}

export interface AttachRequest {
  readonly containerId?: string;
  readonly stdin?: boolean;
  readonly tty?: boolean;
  readonly stdout?: boolean;
  readonly stderr?: boolean;
}

export interface AttachResponse {
  readonly url?: string;
}

export interface PortForwardRequest {
  readonly podSandboxId?: string;
  readonly port?: readonly number[];
}

export interface PortForwardResponse {
  readonly url?: string;
}

export interface ImageFilter {
  readonly image?: ImageSpec;
}

export interface ListImagesRequest {
  readonly filter?: ImageFilter;
}

export interface Image {
  readonly id?: string;
  readonly repoTags?: readonly string[];
  readonly repoDigests?: readonly string[];
  readonly size?: number;
  readonly uid?: Int64Value;
  readonly username?: string;
  readonly spec?: ImageSpec;
  readonly pinned?: boolean;
}

export interface ListImagesResponse {
  readonly images?: readonly Image[];
}

export interface StreamImagesRequest {
  readonly filter?: ImageFilter;
}

export interface StreamImagesResponse {
  readonly images?: readonly Image[];
}

export interface ImageStatusRequest {
  readonly image?: ImageSpec;
  readonly verbose?: boolean;
}

export interface ImageStatusResponse {
  readonly image?: Image;
  readonly info?: Readonly<Record<string, string>>;
}

export interface AuthConfig {
  readonly username?: string;
  readonly password?: string;
  readonly auth?: string;
  readonly serverAddress?: string;
  readonly identityToken?: string;
  readonly registryToken?: string;
}

export interface PullImageRequest {
  readonly image?: ImageSpec;
  readonly auth?: AuthConfig;
  readonly sandboxConfig?: PodSandboxConfig;
}

export interface PullImageResponse {
  readonly imageRef?: string;
}

export interface RemoveImageRequest {
  readonly image?: ImageSpec;
}

export type RemoveImageResponse = Readonly<Record<string, never>>;

export interface NetworkConfig {
  readonly podCidr?: string;
}

export interface RuntimeConfig {
  readonly networkConfig?: NetworkConfig;
}

export interface UpdateRuntimeConfigRequest {
  readonly runtimeConfig?: RuntimeConfig;
}

export type UpdateRuntimeConfigResponse = Readonly<Record<string, never>>;

export interface RuntimeCondition {
  readonly type?: string;
  readonly status?: boolean;
  readonly reason?: string;
  readonly message?: string;
}

export interface RuntimeStatus {
  readonly conditions?: readonly RuntimeCondition[];
}

export interface StatusRequest {
  readonly verbose?: boolean;
}

export interface RuntimeHandlerFeatures {
  readonly recursiveReadOnlyMounts?: boolean;
  readonly userNamespaces?: boolean;
}

export interface RuntimeHandler {
  readonly name?: string;
  readonly features?: RuntimeHandlerFeatures;
}

export interface RuntimeFeatures {
  readonly supplementalGroupsPolicy?: boolean;
  readonly userNamespacesHostNetwork?: boolean;
}

export interface StatusResponse {
  readonly status?: RuntimeStatus;
  readonly info?: Readonly<Record<string, string>>;
  readonly runtimeHandlers?: readonly RuntimeHandler[];
  readonly features?: RuntimeFeatures;
}

export type ImageFsInfoRequest = Readonly<Record<string, never>>;

export interface UInt64Value {
  readonly value?: number;
}

export interface FilesystemIdentifier {
  readonly mountpoint?: string;
}

export interface FilesystemUsage {
  readonly timestamp?: number;
  readonly fsId?: FilesystemIdentifier;
  readonly usedBytes?: UInt64Value;
  readonly inodesUsed?: UInt64Value;
}

export interface WindowsFilesystemUsage {
  readonly timestamp?: number;
  readonly fsId?: FilesystemIdentifier;
  readonly usedBytes?: UInt64Value;
}

export interface ImageFsInfoResponse {
  readonly imageFilesystems?: readonly FilesystemUsage[];
  readonly containerFilesystems?: readonly FilesystemUsage[];
}

export interface ContainerStatsRequest {
  readonly containerId?: string;
}

export interface ContainerStatsResponse {
  readonly stats?: ContainerStats;
}

export interface ListContainerStatsRequest {
  readonly filter?: ContainerStatsFilter;
}

export interface ContainerStatsFilter {
  readonly id?: string;
  readonly podSandboxId?: string;
  readonly labelSelector?: Readonly<Record<string, string>>;
}

export interface ListContainerStatsResponse {
  readonly stats?: readonly ContainerStats[];
}

export interface StreamContainerStatsRequest {
  readonly filter?: ContainerStatsFilter;
}

export interface StreamContainerStatsResponse {
  readonly containerStats?: readonly ContainerStats[];
}

export interface ContainerAttributes {
  readonly id?: string;
  readonly metadata?: ContainerMetadata;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

export interface ContainerStats {
  readonly attributes?: ContainerAttributes;
  readonly cpu?: CpuUsage;
  readonly memory?: MemoryUsage;
  readonly writableLayer?: FilesystemUsage;
  readonly swap?: SwapUsage;
  readonly io?: IoUsage;
}

export interface WindowsContainerStats {
  readonly attributes?: ContainerAttributes;
  readonly cpu?: WindowsCpuUsage;
  readonly memory?: WindowsMemoryUsage;
  readonly writableLayer?: WindowsFilesystemUsage;
}

export interface PsiStats {
  readonly Full?: PsiData;
  readonly Some?: PsiData;
}

export interface PsiData {
  readonly Total?: number;
  readonly Avg10?: number;
  readonly Avg60?: number;
  readonly Avg300?: number;
}

export interface CpuUsage {
  readonly timestamp?: number;
  readonly usageCoreNanoSeconds?: UInt64Value;
  readonly usageNanoCores?: UInt64Value;
  readonly psi?: PsiStats;
}

export interface WindowsCpuUsage {
  readonly timestamp?: number;
  readonly usageCoreNanoSeconds?: UInt64Value;
  readonly usageNanoCores?: UInt64Value;
}

export interface MemoryUsage {
  readonly timestamp?: number;
  readonly workingSetBytes?: UInt64Value;
  readonly availableBytes?: UInt64Value;
  readonly usageBytes?: UInt64Value;
  readonly rssBytes?: UInt64Value;
  readonly pageFaults?: UInt64Value;
  readonly majorPageFaults?: UInt64Value;
  readonly psi?: PsiStats;
}

export interface IoUsage {
  readonly timestamp?: number;
  readonly psi?: PsiStats;
}

export interface SwapUsage {
  readonly timestamp?: number;
  readonly swapAvailableBytes?: UInt64Value;
  readonly swapUsageBytes?: UInt64Value;
}

export interface WindowsMemoryUsage {
  readonly timestamp?: number;
  readonly workingSetBytes?: UInt64Value;
  readonly availableBytes?: UInt64Value;
  readonly pageFaults?: UInt64Value;
  readonly commitMemoryBytes?: UInt64Value;
}

export interface ReopenContainerLogRequest {
  readonly containerId?: string;
}

export type ReopenContainerLogResponse = Readonly<Record<string, never>>;

export interface CheckpointContainerRequest {
  readonly containerId?: string;
  readonly location?: string;
  readonly timeout?: number;
}

export type CheckpointContainerResponse = Readonly<Record<string, never>>;

export type GetEventsRequest = Readonly<Record<string, never>>;

export interface ContainerEventResponse {
  readonly containerId?: string;
  readonly containerEventType?: ContainerEventType;
  readonly createdAt?: number;
  readonly podSandboxStatus?: PodSandboxStatus;
  readonly containersStatuses?: readonly ContainerStatus[];
}

export type ListMetricDescriptorsRequest = Readonly<Record<string, never>>;

export interface ListMetricDescriptorsResponse {
  readonly descriptors?: readonly MetricDescriptor[];
}

export interface MetricDescriptor {
  readonly name?: string;
  readonly help?: string;
  readonly labelKeys?: readonly string[];
}

export type ListPodSandboxMetricsRequest = Readonly<Record<string, never>>;

export interface ListPodSandboxMetricsResponse {
  readonly podMetrics?: readonly PodSandboxMetrics[];
}

export type StreamPodSandboxMetricsRequest = Readonly<Record<string, never>>;

export interface StreamPodSandboxMetricsResponse {
  readonly podSandboxMetrics?: readonly PodSandboxMetrics[];
}

export interface PodSandboxMetrics {
  readonly podSandboxId?: string;
  readonly metrics?: readonly Metric[];
  readonly containerMetrics?: readonly ContainerMetrics[];
}

export interface ContainerMetrics {
  readonly containerId?: string;
  readonly metrics?: readonly Metric[];
}

export interface Metric {
  readonly name?: string;
  readonly timestamp?: number;
  readonly metricType?: MetricType;
  readonly labelValues?: readonly string[];
  readonly value?: UInt64Value;
}

export type RuntimeConfigRequest = Readonly<Record<string, never>>;

export interface RuntimeConfigResponse {
  readonly linux?: LinuxRuntimeConfiguration;
}

export interface LinuxRuntimeConfiguration {
  readonly cgroupDriver?: CgroupDriver;
}

export interface UpdatePodSandboxResourcesRequest {
  readonly podSandboxId?: string;
  readonly overhead?: LinuxContainerResources;
  readonly resources?: LinuxContainerResources;
}

export type UpdatePodSandboxResourcesResponse = Readonly<Record<string, never>>;
