import type { Field } from '../field.ts';

/** The settings of this table. */
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
    about: 'One cgroup for each QoS class.',
  },
  cgroupDriver: {
    type: 'string',
    default: 'cgroupfs',
    flag: 'cgroup-driver',
    allowed: 'cgroupfs, systemd',
    about: 'Who manages cgroups, where the runtime does not say.',
  },
  cpuManagerPolicy: {
    type: 'string',
    default: 'none',
    flag: 'cpu-manager-policy',
    allowed: 'none, static',
    about: 'How CPUs are given to containers.',
  },
  singleProcessOOMKill: {
    type: 'bool',
    zeroIsSet: true,
    allowed: 'cgroup v1: not false',
    about: 'Kill one process of a container, not all, when memory runs out.',
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
    about: 'Time between two checks of the CPU assignment.',
  },
  memoryManagerPolicy: {
    type: 'string',
    default: 'None',
    flag: 'memory-manager-policy',
    allowed: 'None, Static',
    about: 'How memory is given to containers.',
  },
  topologyManagerPolicy: {
    type: 'string',
    default: 'none',
    flag: 'topology-manager-policy',
    allowed: 'none, best-effort, restricted, single-numa-node',
    about: 'How NUMA hints are joined.',
  },
  topologyManagerScope: {
    type: 'string',
    default: 'container',
    flag: 'topology-manager-scope',
    allowed: 'container, pod',
    about: 'What NUMA hints are joined for.',
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
    about: 'Share of requested resources that lower QoS classes may not use.',
  },
  runtimeRequestTimeout: {
    type: 'duration',
    default: '2m0s',
    flag: 'runtime-request-timeout',
    about: 'Deadline of runtime requests other than pull, logs, exec and attach.',
  },
  hairpinMode: {
    type: 'string',
    default: 'promiscuous-bridge',
    flag: 'hairpin-mode',
    allowed: 'promiscuous-bridge, hairpin-veth, none',
    about: 'How a pod reaches itself through its service.',
  },
  maxPods: {
    type: 'int32',
    default: 110,
    flag: 'max-pods',
    allowed: '0 or more',
    about: 'Most pods on this node.',
  },
  podCIDR: {
    type: 'string',
    flag: 'pod-cidr',
    about: 'Addresses of pods where the agent runs without an API server.',
  },
  podPidsLimit: {
    type: 'int64',
    default: -1,
    zeroIsSet: true,
    flag: 'pod-max-pids',
    allowed: "-1 (the node's limit) or more",
    about: 'Most processes in a pod.',
  },
  resolvConf: {
    type: 'string',
    default: '/etc/resolv.conf',
    zeroIsSet: true,
    flag: 'resolv-conf',
    about: 'Resolver configuration that pods start from; empty: none.',
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
    about: 'Period of the CPU quota.',
  },
  nodeStatusMaxImages: {
    type: 'int32',
    default: 50,
    zeroIsSet: true,
    flag: 'node-status-max-images',
    allowed: '-1 (all) or more',
    about: 'Most images in the node status.',
  },
  maxOpenFiles: {
    type: 'int64',
    default: 1000000,
    flag: 'max-open-files',
    allowed: '0 or more',
    about: 'Most open files of the agent.',
  },
  contentType: {
    type: 'string',
    default: 'application/vnd.kubernetes.protobuf',
    flag: 'kube-api-content-type',
    about: 'Wire format that the kubelet asks of the API server; podtender always uses JSON.',
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
    about: 'Pull one image at a time; false when only maxParallelImagePulls is set to more than 1.',
  },
  maxParallelImagePulls: {
    type: 'int32',
    zeroIsSet: true,
    allowed: '1 or more, 1 with serializeImagePulls',
    about: 'Most image pulls at a time.',
  },
};
