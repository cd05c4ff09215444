import type { Field } from '../field.ts';

/** The settings in this table. */
type ResourceSetting =
  | 'cgroupsPerQOS'
  | 'cgroupDriver'
  | 'cpuManagerPolicy'
  | 'singleProcessOOMKill'
  | 'cpuManagerPolicyOptions'
  | 'cpuManagerReconcilePeriod'
  | 'memoryManagerPolicy'
  | 'topologyManagerPolicy'
  | 'topologyManagerScope'
  | 'topologyManagerPolicyOptions'
  | 'qosReserved'
  | 'runtimeRequestTimeout'
  | 'hairpinMode'
  | 'maxPods'
  | 'podCIDR'
  | 'podPidsLimit'
  | 'resolvConf'
  | 'runOnce'
  | 'cpuCFSQuota'
  | 'cpuCFSQuotaPeriod'
  | 'nodeStatusMaxImages'
  | 'maxOpenFiles'
  | 'contentType'
  | 'kubeAPIQPS'
  | 'kubeAPIBurst'
  | 'serializeImagePulls'
  | 'maxParallelImagePulls';

/** Settings of cgroups, resource managers and pods. */
export const resourceFields: Readonly<Record<ResourceSetting, Field>> = {
  cgroupsPerQOS: {
    type: 'bool',
    default: true,
    zeroIsSet: true,
    flag: 'cgroups-per-qos',
    about: 'Create one cgroup per QoS class.',
  },
  cgroupDriver: {
    type: 'string',
    default: 'cgroupfs',
    flag: 'cgroup-driver',
    allowed: 'cgroupfs, systemd',
    about: 'Cgroup driver, if the runtime does not report its own.',
  },
  cpuManagerPolicy: {
    type: 'string',
    default: 'none',
    flag: 'cpu-manager-policy',
    allowed: 'none, static',
    about: 'Policy for assigning CPUs to containers.',
  },
  singleProcessOOMKill: {
    type: 'bool',
    zeroIsSet: true,
    allowed: 'cgroup v1: not false',
    about: 'Kill a single process of a container, not all of them, when it runs out of memory.',
  },
  cpuManagerPolicyOptions: {
    type: 'map[string]string',
    flag: 'cpu-manager-policy-options',
    about: "Options of the CPU manager's policy.",
  },
  cpuManagerReconcilePeriod: {
    type: 'duration',
    default: '10s',
    flag: 'cpu-manager-reconcile-period',
    about: 'Interval between checks of the CPU assignment.',
  },
  memoryManagerPolicy: {
    type: 'string',
    default: 'None',
    flag: 'memory-manager-policy',
    allowed: 'None, Static',
    about: 'Policy for assigning memory to containers.',
  },
  topologyManagerPolicy: {
    type: 'string',
    default: 'none',
    flag: 'topology-manager-policy',
    allowed: 'none, best-effort, restricted, single-numa-node',
    about: 'Policy for merging NUMA hints.',
  },
  topologyManagerScope: {
    type: 'string',
    default: 'container',
    flag: 'topology-manager-scope',
    allowed: 'container, pod',
    about: 'Scope of NUMA alignment.',
  },
  topologyManagerPolicyOptions: {
    type: 'map[string]string',
    flag: 'topology-manager-policy-options',
    about: "Options of the topology manager's policy.",
  },
  qosReserved: {
    type: 'map[string]string',
    flag: 'qos-reserved',
    allowed: 'memory: percent',
    about: 'Percentage of requested resources that is reserved from lower QoS classes.',
  },
  runtimeRequestTimeout: {
    type: 'duration',
    default: '2m0s',
    flag: 'runtime-request-timeout',
    about: 'Timeout of runtime requests except pull, logs, exec and attach.',
  },
  hairpinMode: {
    type: 'string',
    default: 'promiscuous-bridge',
    flag: 'hairpin-mode',
    allowed: 'promiscuous-bridge, hairpin-veth, none',
    about: 'How a pod reaches itself through its Service.',
  },
  maxPods: {
    type: 'int32',
    default: 110,
    flag: 'max-pods',
    allowed: '0 or more',
    about: 'Maximum number of pods on this node.',
  },
  podCIDR: {
    type: 'string',
    flag: 'pod-cidr',
    about: 'Pod addresses when the agent runs without an API server.',
  },
  podPidsLimit: {
    type: 'int64',
    default: -1,
    zeroIsSet: true,
    flag: 'pod-max-pids',
    allowed: "-1 (the node's limit) or more",
    about: 'Maximum number of processes in a pod.',
  },
  resolvConf: {
    type: 'string',
    default: '/etc/resolv.conf',
    zeroIsSet: true,
    flag: 'resolv-conf',
    about: 'Resolver configuration on which the DNS settings of pods are based; empty: none.',
  },
  runOnce: { type: 'bool', flag: 'runonce', allowed: 'false', about: 'No longer supported by the kubelet.' },
  cpuCFSQuota: {
    type: 'bool',
    default: true,
    zeroIsSet: true,
    flag: 'cpu-cfs-quota',
    about: 'Enforce CPU limits.',
  },
  cpuCFSQuotaPeriod: {
    type: 'duration',
    default: '100ms',
    zeroIsSet: true,
    flag: 'cpu-cfs-quota-period',
    allowed: '1ms to 1s',
    about: 'CPU CFS quota period.',
  },
  nodeStatusMaxImages: {
    type: 'int32',
    default: 50,
    zeroIsSet: true,
    flag: 'node-status-max-images',
    allowed: '-1 (all) or more',
    about: 'Maximum number of images in the node status.',
  },
  maxOpenFiles: {
    type: 'int64',
    default: 1000000,
    flag: 'max-open-files',
    allowed: '0 or more',
    about: 'Maximum number of open files of the agent.',
  },
  contentType: {
    type: 'string',
    default: 'application/vnd.kubernetes.protobuf',
    flag: 'kube-api-content-type',
    about: 'Content type of the kubelet’s API requests; podtender always uses JSON.',
  },
  kubeAPIQPS: {
    type: 'int32',
    default: 50,
    zeroIsSet: true,
    flag: 'kube-api-qps',
    allowed: '0 or more',
    about: 'Requests per second to the API server.',
  },
  kubeAPIBurst: {
    type: 'int32',
    default: 100,
    flag: 'kube-api-burst',
    allowed: '0 or more',
    about: 'Burst above kubeAPIQPS.',
  },
  serializeImagePulls: {
    type: 'bool',
    default: true,
    zeroIsSet: true,
    flag: 'serialize-image-pulls',
    about: 'Pull one image at a time; defaults to false if maxParallelImagePulls is greater than 1.',
  },
  maxParallelImagePulls: {
    type: 'int32',
    zeroIsSet: true,
    allowed: '1 or more, 1 with serializeImagePulls',
    about: 'Maximum number of concurrent image pulls.',
  },
};
