import { goFloat } from '../../go/go-float.ts';
import { tableOf } from '../../base/own.ts';
import { goQuote } from '../../go/go-quote.ts';
import type { KubeletConfiguration } from './kubelet-configuration.ts';
import { gate, nanosOf, type Rule, second, when } from './rule.ts';

const topologyPolicies: readonly string[] = ['none', 'best-effort', 'restricted', 'single-numa-node'];

const tooShort = (span: string): boolean => {
  const nanos = nanosOf(span);
  return nanos !== 0n && nanos < second;
};

const critical = (c: KubeletConfiguration): string => c.shutdownGracePeriodCriticalPods;
const hasShutdown = (c: KubeletConfiguration): boolean =>
  nanosOf(c.shutdownGracePeriod) > 0n || nanosOf(critical(c)) > 0n;

/** Rules for topology, shutdown, swap, back-off and node allocatable: the second part of the kubelet's validation, in its order. */
export const resourceRules: readonly Rule[] = [
  when(
    'topologyManagerPolicy',
    (c) => !topologyPolicies.includes(c.topologyManagerPolicy),
    (c) =>
      `topologyManagerPolicy (--topology-manager-policy) ${goQuote(c.topologyManagerPolicy)} must be one of: [${topologyPolicies.map(goQuote).join(' ')}]`,
  ),
  when(
    'topologyManagerScope',
    (c) => !['container', 'pod'].includes(c.topologyManagerScope),
    (c) =>
      `topologyManagerScope (--topology-manager-scope) ${goQuote(c.topologyManagerScope)} must be one of: "container", or "pod"`,
  ),
  when(
    'shutdownGracePeriodCriticalPods',
    (c) => gate(c, 'GracefulNodeShutdown') && nanosOf(critical(c)) > nanosOf(c.shutdownGracePeriod),
    (c) =>
      `shutdownGracePeriodCriticalPods {${critical(c)}} must be <= shutdownGracePeriod {${c.shutdownGracePeriod}}`,
  ),
  when(
    'shutdownGracePeriod',
    (c) => gate(c, 'GracefulNodeShutdown') && tooShort(c.shutdownGracePeriod),
    (c) => `shutdownGracePeriod {${c.shutdownGracePeriod}} must be either zero or otherwise >= 1 sec`,
  ),
  when(
    'shutdownGracePeriodCriticalPods',
    (c) => gate(c, 'GracefulNodeShutdown') && tooShort(critical(c)),
    (c) => `shutdownGracePeriodCriticalPods {${critical(c)}} must be either zero or otherwise >= 1 sec`,
  ),
  when(
    'shutdownGracePeriod',
    (c) => hasShutdown(c) && !gate(c, 'GracefulNodeShutdown'),
    'specifying shutdownGracePeriod or shutdownGracePeriodCriticalPods requires feature gate GracefulNodeShutdown',
  ),
  when(
    'shutdownGracePeriodByPodPriority',
    (c) =>
      gate(c, 'GracefulNodeShutdownBasedOnPodPriority') &&
      (c.shutdownGracePeriodByPodPriority ?? []).length > 0 &&
      hasShutdown(c),
    'Cannot specify both shutdownGracePeriodByPodPriority and shutdownGracePeriod at the same time',
  ),
  when(
    'shutdownGracePeriodByPodPriority',
    (c) =>
      !gate(c, 'GracefulNodeShutdownBasedOnPodPriority') &&
      (c.shutdownGracePeriodByPodPriority ?? []).length > 0,
    'Specifying shutdownGracePeriodByPodPriority requires feature gate GracefulNodeShutdownBasedOnPodPriority',
  ),
  when(
    'memorySwap.swapBehavior',
    (c) => !['', 'LimitedSwap', 'NoSwap'].includes(c.memorySwap.swapBehavior ?? ''),
    (c) =>
      `memorySwap.swapBehavior ${goQuote(c.memorySwap.swapBehavior ?? '')} must be one of: "", "LimitedSwap" or "NoSwap"`,
  ),
  {
    path: 'crashLoopBackOff.maxContainerRestartPeriod',
    broken: (config) => crashLoopFault(config),
  },
  { path: 'enforceNodeAllocatable', broken: (config) => allocatableFaults(config) },
  when(
    'hairpinMode',
    (c) => !['none', 'hairpin-veth', 'promiscuous-bridge'].includes(c.hairpinMode),
    (c) =>
      `option ${goQuote(c.hairpinMode)} specified for hairpinMode (--hairpin-mode). Valid options are "none", "hairpin-veth" or "promiscuous-bridge"`,
  ),
];

function crashLoopFault(config: KubeletConfiguration): string | undefined {
  const nanos = nanosOf(config.crashLoopBackOff.maxContainerRestartPeriod);
  if (nanos >= second && nanos / 1_000_000n <= 300_000n) return undefined;
  return `invalid configuration: CrashLoopBackOff.MaxContainerRestartPeriod (got: ${goFloat(Number(nanos) / 1e9)} seconds) must be set between 1s and 300s`;
}

const flag = 'enforceNodeAllocatable (--enforce-node-allocatable)';

/** The reserved cgroup setting that each enforcement requires. */
const enforcements: Readonly<Record<string, 'systemReserved' | 'kubeReserved' | undefined>> = tableOf({
  pods: undefined,
  'system-reserved': 'systemReserved',
  'system-reserved-compressible': 'systemReserved',
  'kube-reserved': 'kubeReserved',
  'kube-reserved-compressible': 'kubeReserved',
});

function allocatableFaults(config: KubeletConfiguration): string[] {
  const enforced = config.enforceNodeAllocatable;
  const both = (['system-reserved', 'kube-reserved'] as const)
    .filter((name) => enforced.includes(name) && enforced.includes(`${name}-compressible`))
    .map((name) => `both "${name}" and "${name}-compressible" cannot be specified together in ${flag}`);
  const each = enforced.flatMap((value, i) =>
    enforced.indexOf(value) < i
      ? [`duplicated enforcements ${goQuote(value)} in ${flag}`]
      : enforcementFaults(value, config),
  );
  return [...both, ...each].map((text) => `invalid configuration: ${text}`);
}

function enforcementFaults(value: string, config: KubeletConfiguration): string[] {
  if (value === 'none')
    return config.enforceNodeAllocatable.length > 1
      ? [`${flag} may not contain additional enforcements when "none" is specified`]
      : [];
  if (!Object.hasOwn(enforcements, value))
    return [
      `option ${goQuote(value)} specified for ${flag}. Valid options are "pods", "system-reserved", "system-reserved-compressible", "kube-reserved", "kube-reserved-compressible" or "none"`,
    ];
  const reserved = enforcements[value];
  const faults: string[] = [];
  if (reserved && !config[`${reserved}Cgroup`]) {
    const name = reserved === 'systemReserved' ? 'system-reserved' : 'kube-reserved';
    faults.push(
      `${reserved}Cgroup (--${name}-cgroup) must be specified when "${name}" or "${name}-compressible" included in ${flag}`,
    );
  }
  if (!config.cgroupsPerQOS)
    faults.push(
      `cgroupsPerQOS (--cgroups-per-qos) must be set to true when ${goQuote(value)} contained in ${flag}`,
    );
  return faults;
}
