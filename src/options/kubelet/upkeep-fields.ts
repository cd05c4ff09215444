import type { Field } from '../field.ts';
import {
  crashLoopBackOffType,
  loggingType,
  memorySwapType,
  registerWithTaintsType,
  reservedMemoryType,
  shutdownGracePeriodByPodPriorityType,
  tracingType,
  userNamespacesType,
} from './nested-fields.ts';

/** The settings in this table. */
type UpkeepSetting =
  | 'evictionHard'
  | 'evictionSoft'
  | 'evictionSoftGracePeriod'
  | 'evictionPressureTransitionPeriod'
  | 'evictionMaxPodGracePeriod'
  | 'evictionMinimumReclaim'
  | 'mergeDefaultEvictionSettings'
  | 'podsPerCore'
  | 'enableControllerAttachDetach'
  | 'protectKernelDefaults'
  | 'makeIPTablesUtilChains'
  | 'iptablesMasqueradeBit'
  | 'iptablesDropBit'
  | 'featureGates'
  | 'failSwapOn'
  | 'memorySwap'
  | 'containerLogMaxSize'
  | 'containerLogMaxFiles'
  | 'containerLogMaxWorkers'
  | 'containerLogMonitorInterval'
  | 'configMapAndSecretChangeDetectionStrategy'
  | 'systemReserved'
  | 'kubeReserved'
  | 'reservedSystemCPUs'
  | 'showHiddenMetricsForVersion'
  | 'systemReservedCgroup'
  | 'kubeReservedCgroup'
  | 'enforceNodeAllocatable'
  | 'allowedUnsafeSysctls'
  | 'volumePluginDir'
  | 'providerID'
  | 'kernelMemcgNotification'
  | 'logging'
  | 'enableSystemLogHandler'
  | 'enableSystemLogQuery'
  | 'shutdownGracePeriod'
  | 'shutdownGracePeriodCriticalPods'
  | 'shutdownGracePeriodByPodPriority'
  | 'reservedMemory'
  | 'enableProfilingHandler'
  | 'enableDebugFlagsHandler'
  | 'seccompDefault'
  | 'memoryThrottlingFactor'
  | 'memoryReservationPolicy'
  | 'registerWithTaints'
  | 'registerNode'
  | 'tracing'
  | 'localStorageCapacityIsolation'
  | 'containerRuntimeEndpoint'
  | 'imageServiceEndpoint'
  | 'failCgroupV1'
  | 'userNamespaces'
  | 'crashLoopBackOff';

/** Settings of eviction, logs, shutdown, registration and the runtime. */
export const upkeepFields: Readonly<Record<UpkeepSetting, Field>> = {
  evictionHard: {
    type: 'map[string]string',
    flag: 'eviction-hard',
    about:
      "Thresholds that evict pods at once, e.g. memory.available: 100Mi. Unset: the kubelet's with cri, else none.",
  },
  evictionSoft: {
    type: 'map[string]string',
    flag: 'eviction-soft',
    about: 'Thresholds that evict pods after their grace period.',
  },
  evictionSoftGracePeriod: {
    type: 'map[string]string',
    flag: 'eviction-soft-grace-period',
    about: 'Grace period of each soft threshold.',
  },
  evictionPressureTransitionPeriod: {
    type: 'duration',
    default: '5m0s',
    flag: 'eviction-pressure-transition-period',
    about: "Time that a pressure must be over before the node's condition clears.",
  },
  evictionMaxPodGracePeriod: {
    type: 'int32',
    flag: 'eviction-max-pod-grace-period',
    about: 'Maximum grace period of a pod evicted by a soft threshold, s.',
  },
  evictionMinimumReclaim: {
    type: 'map[string]string',
    flag: 'eviction-minimum-reclaim',
    about: 'Amount to reclaim beyond each threshold.',
  },
  mergeDefaultEvictionSettings: {
    type: 'bool',
    default: false,
    zeroIsSet: true,
    about: 'Use the defaults for thresholds that are not set.',
  },
  podsPerCore: {
    type: 'int32',
    flag: 'pods-per-core',
    allowed: '0 (no limit) or more',
    about: 'Maximum number of pods per CPU core.',
  },
  enableControllerAttachDetach: {
    type: 'bool',
    default: true,
    zeroIsSet: true,
    flag: 'enable-controller-attach-detach',
    about: 'Let the attach/detach controller handle volumes of this node.',
  },
  protectKernelDefaults: {
    type: 'bool',
    flag: 'protect-kernel-defaults',
    about: 'Fail when kernel settings differ, instead of changing them.',
  },
  makeIPTablesUtilChains: {
    type: 'bool',
    default: true,
    zeroIsSet: true,
    flag: 'make-iptables-util-chains',
    about: "Create the kubelet's iptables chains.",
  },
  iptablesMasqueradeBit: {
    type: 'int32',
    default: 14,
    zeroIsSet: true,
    flag: 'iptables-masquerade-bit',
    allowed: '0 to 31',
    about: 'iptables mark bit for masquerading.',
  },
  iptablesDropBit: {
    type: 'int32',
    default: 15,
    zeroIsSet: true,
    flag: 'iptables-drop-bit',
    allowed: '0 to 31',
    about: 'iptables mark bit for dropping.',
  },
  featureGates: { type: 'map[string]bool', flag: 'feature-gates', about: 'Feature gates to turn on or off.' },
  failSwapOn: {
    type: 'bool',
    default: true,
    zeroIsSet: true,
    flag: 'fail-swap-on',
    about: 'Do not start on a machine with swap.',
  },
  memorySwap: { type: memorySwapType, about: 'How pods use swap.' },
  containerLogMaxSize: {
    type: 'string',
    default: '10Mi',
    flag: 'container-log-max-size',
    about: 'Size at which a container log is rotated.',
  },
  containerLogMaxFiles: {
    type: 'int32',
    default: 5,
    zeroIsSet: true,
    flag: 'container-log-max-files',
    allowed: '2 or more',
    about: 'Maximum number of log files per container.',
  },
  containerLogMaxWorkers: {
    type: 'int32',
    default: 1,
    zeroIsSet: true,
    allowed: '1 or more',
    about: 'Maximum number of concurrent log rotations.',
  },
  containerLogMonitorInterval: {
    type: 'duration',
    default: '10s',
    zeroIsSet: true,
    allowed: '3s or more',
    about: 'Interval between checks of container logs.',
  },
  configMapAndSecretChangeDetectionStrategy: {
    type: 'string',
    goType: 'v1beta1.ResourceChangeDetectionStrategy',
    default: 'Watch',
    allowed: 'Get, Cache, Watch',
    about: 'How changes of ConfigMaps and Secrets are detected.',
  },
  systemReserved: {
    type: 'map[string]string',
    flag: 'system-reserved',
    about: 'Resources reserved for the system.',
  },
  kubeReserved: {
    type: 'map[string]string',
    flag: 'kube-reserved',
    about: "Resources kept for Kubernetes' own daemons.",
  },
  reservedSystemCPUs: {
    type: 'string',
    flag: 'reserved-cpus',
    allowed: 'a CPU list: 0-3,8',
    about: 'CPUs reserved for the system.',
  },
  showHiddenMetricsForVersion: {
    type: 'string',
    flag: 'show-hidden-metrics-for-version',
    allowed: 'the previous minor version',
    about: 'Show metrics that were hidden since then.',
  },
  systemReservedCgroup: {
    type: 'string',
    flag: 'system-reserved-cgroup',
    about: 'Cgroup on which systemReserved is enforced.',
  },
  kubeReservedCgroup: {
    type: 'string',
    flag: 'kube-reserved-cgroup',
    about: 'Cgroup on which kubeReserved is enforced.',
  },
  enforceNodeAllocatable: {
    type: '[]string',
    default: ['pods'],
    flag: 'enforce-node-allocatable',
    allowed:
      'pods, system-reserved, system-reserved-compressible, kube-reserved, kube-reserved-compressible, none',
    about: 'Where node allocatable is enforced.',
  },
  allowedUnsafeSysctls: {
    type: '[]string',
    flag: 'allowed-unsafe-sysctls',
    about: 'Unsafe sysctls that pods may set, or patterns that end in *.',
  },
  volumePluginDir: {
    type: 'string',
    default: '/usr/libexec/kubernetes/kubelet-plugins/volume/exec/',
    flag: 'volume-plugin-dir',
    about: 'Directory of flexvolume plug-ins.',
  },
  providerID: { type: 'string', flag: 'provider-id', about: "The cloud's name of this machine." },
  kernelMemcgNotification: {
    type: 'bool',
    flag: 'kernel-memcg-notification',
    about: 'Use kernel notifications for memory thresholds.',
  },
  logging: { type: loggingType, about: 'Logging options.' },
  enableSystemLogHandler: { type: 'bool', default: true, zeroIsSet: true, about: 'Serve /logs/.' },
  enableSystemLogQuery: {
    type: 'bool',
    default: false,
    zeroIsSet: true,
    allowed: 'only with enableSystemLogHandler',
    about: 'Serve queries on /logs/.',
  },
  shutdownGracePeriod: {
    type: 'duration',
    about: 'Total shutdown grace period of all pods when the node shuts down.',
  },
  shutdownGracePeriodCriticalPods: {
    type: 'duration',
    allowed: 'at most shutdownGracePeriod',
    about: 'Final part of shutdownGracePeriod, reserved for critical pods.',
  },
  shutdownGracePeriodByPodPriority: {
    type: shutdownGracePeriodByPodPriorityType,
    allowed: 'not together with shutdownGracePeriod',
    about: 'Shutdown grace period by pod priority.',
  },
  reservedMemory: {
    type: reservedMemoryType,
    flag: 'reserved-memory',
    about: 'Memory reserved on each NUMA node.',
  },
  enableProfilingHandler: { type: 'bool', default: true, zeroIsSet: true, about: 'Serve /debug/pprof/.' },
  enableDebugFlagsHandler: { type: 'bool', default: true, zeroIsSet: true, about: 'Serve /debug/flags/v.' },
  seccompDefault: {
    type: 'bool',
    default: false,
    zeroIsSet: true,
    flag: 'seccomp-default',
    about: "Use the runtime's seccomp profile for containers without one.",
  },
  memoryThrottlingFactor: {
    type: 'float64',
    default: 0.9,
    zeroIsSet: true,
    allowed: 'more than 0, at most 1',
    about: 'Share of the memory limit at which a container is throttled.',
  },
  memoryReservationPolicy: {
    type: 'string',
    goType: 'v1beta1.MemoryReservationPolicy',
    default: 'None',
    allowed: 'None, TieredReservation',
    about: 'Policy for protecting memory requests.',
  },
  registerWithTaints: {
    type: registerWithTaintsType,
    flag: 'register-with-taints',
    about: 'Taints of the Node at registration.',
  },
  registerNode: {
    type: 'bool',
    default: true,
    zeroIsSet: true,
    flag: 'register-node',
    about: 'Register the Node with the API server.',
  },
  tracing: { type: tracingType, zeroIsSet: true, about: 'Tracing of the agent.' },
  localStorageCapacityIsolation: {
    type: 'bool',
    default: true,
    zeroIsSet: true,
    flag: 'local-storage-capacity-isolation',
    about: 'Track local ephemeral storage usage.',
  },
  containerRuntimeEndpoint: {
    type: 'string',
    default: 'unix:///run/containerd/containerd.sock',
    flag: 'container-runtime-endpoint',
    allowed: 'unix://, tcp:// or npipe: address',
    about: 'CRI runtime service.',
  },
  imageServiceEndpoint: {
    type: 'string',
    flag: 'image-service-endpoint',
    about: 'CRI image service, if it differs from containerRuntimeEndpoint.',
  },
  failCgroupV1: {
    type: 'bool',
    default: true,
    zeroIsSet: true,
    flag: 'fail-cgroupv1',
    about: 'Do not start on a machine with cgroup v1.',
  },
  userNamespaces: { type: userNamespacesType, zeroIsSet: true, about: 'User namespaces of pods.' },
  crashLoopBackOff: { type: crashLoopBackOffType, about: 'Back-off of crashing containers.' },
};
