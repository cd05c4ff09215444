import { between, gate, nanosOf, notNegative, type Rule, second, when } from './rule.ts';
import { isValidTaint } from './taint.ts';

const cfs = ({ cpuCFSQuotaPeriod }: { cpuCFSQuotaPeriod: string }): bigint => nanosOf(cpuCFSQuotaPeriod);

/** Rules for ports, rates, images, limits and taints: the first part of the kubelet's validation, in its order. */
export const nodeRules: readonly Rule[] = [
  when(
    'nodeLeaseDurationSeconds',
    (c) => c.nodeLeaseDurationSeconds <= 0,
    'nodeLeaseDurationSeconds must be greater than 0',
  ),
  when(
    'systemCgroups',
    (c) => Boolean(c.systemCgroups) && !c.cgroupRoot,
    'systemCgroups (--system-cgroups) was specified and cgroupRoot (--cgroup-root) was not specified',
  ),
  notNegative('eventBurst', 'event-burst'),
  notNegative('eventRecordQPS', 'event-qps'),
  { ...between('healthzPort', 'healthz-port', [1, 65535], { shown: 1 }) },
  when(
    'cpuCFSQuotaPeriod',
    (c) => !gate(c, 'CustomCPUCFSQuotaPeriod') && cfs(c) !== second / 10n,
    (c) =>
      `cpuCFSQuotaPeriod (--cpu-cfs-quota-period) {${c.cpuCFSQuotaPeriod}} requires feature gate CustomCPUCFSQuotaPeriod`,
  ),
  when(
    'cpuCFSQuotaPeriod',
    (c) => gate(c, 'CustomCPUCFSQuotaPeriod') && (cfs(c) < second / 1000n || cfs(c) > second),
    (c) =>
      `cpuCFSQuotaPeriod (--cpu-cfs-quota-period) {${c.cpuCFSQuotaPeriod}} must be between 1ms and 1sec, inclusive`,
  ),
  between('imageGCHighThresholdPercent', 'image-gc-high-threshold', [0, 100]),
  between('imageGCLowThresholdPercent', 'image-gc-low-threshold', [0, 100]),
  when(
    'imageGCLowThresholdPercent',
    (c) => c.imageGCLowThresholdPercent >= c.imageGCHighThresholdPercent,
    (c) =>
      `imageGCLowThresholdPercent (--image-gc-low-threshold) ${c.imageGCLowThresholdPercent} must be less than imageGCHighThresholdPercent (--image-gc-high-threshold) ${c.imageGCHighThresholdPercent}`,
  ),
  when(
    'imageMinimumGCAge',
    (c) => nanosOf(c.imageMinimumGCAge) < 0n,
    (c) => `imageMinimumGCAge ${c.imageMinimumGCAge} must not be negative`,
  ),
  when(
    'imageMaximumGCAge',
    (c) => nanosOf(c.imageMaximumGCAge) < 0n,
    (c) => `imageMaximumGCAge ${c.imageMaximumGCAge} must not be negative`,
  ),
  when(
    'imageMaximumGCAge',
    (c) => nanosOf(c.imageMaximumGCAge) > 0n && nanosOf(c.imageMaximumGCAge) <= nanosOf(c.imageMinimumGCAge),
    (c) =>
      `imageMaximumGCAge ${c.imageMaximumGCAge} must be greater than imageMinimumGCAge ${c.imageMinimumGCAge}`,
  ),
  between('iptablesDropBit', 'iptables-drop-bit', [0, 31]),
  between('iptablesMasqueradeBit', 'iptables-masquerade-bit', [0, 31]),
  notNegative('kubeAPIBurst', 'kube-api-burst'),
  notNegative('kubeAPIQPS', 'kube-api-qps'),
  when(
    'nodeStatusMaxImages',
    (c) => c.nodeStatusMaxImages < -1,
    (c) => `nodeStatusMaxImages (--node-status-max-images) ${c.nodeStatusMaxImages} must be -1 or greater`,
  ),
  notNegative('maxOpenFiles', 'max-open-files'),
  notNegative('maxPods', 'max-pods'),
  between('oomScoreAdj', 'oom-score-adj', [-1000, 1000]),
  notNegative('podsPerCore', 'pods-per-core'),
  between('port', 'port', [1, 65535]),
  between('readOnlyPort', 'read-only-port', [1, 65535], { shown: 0 }),
  notNegative('registryBurst', 'registry-burst'),
  notNegative('registryPullQPS', 'registry-qps'),
  when(
    'maxParallelImagePulls',
    (c) => c.maxParallelImagePulls !== undefined && c.maxParallelImagePulls < 1,
    (c) => `maxParallelImagePulls ${c.maxParallelImagePulls ?? 0} must be a positive number`,
  ),
  when(
    'maxParallelImagePulls',
    (c) => c.serializeImagePulls && (c.maxParallelImagePulls ?? 0) > 1,
    'maxParallelImagePulls cannot be larger than 1 unless SerializeImagePulls (--serialize-image-pulls) is set to false',
  ),
  when(
    'serverTLSBootstrap',
    (c) => Boolean(c.serverTLSBootstrap) && !gate(c, 'RotateKubeletServerCertificate'),
    'serverTLSBootstrap true requires feature gate RotateKubeletServerCertificate',
  ),
  when(
    'runOnce',
    (c) => Boolean(c.runOnce),
    'runOnce (--runOnce) true, Runonce mode has been deprecated and should not be set',
  ),
  {
    path: 'registerWithTaints',
    broken: (config) =>
      (config.registerWithTaints ?? []).flatMap((taint) => [
        ...(isValidTaint(taint)
          ? []
          : [
              `invalid taint: {${taint.key} ${taint.value ?? ''} ${taint.effect} ${taint.timeAdded ?? '<nil>'}}`,
            ]),
        ...(taint.timeAdded === undefined ? [] : ['invalid configuration: taint.TimeAdded is not nil']),
      ]),
  },
];
