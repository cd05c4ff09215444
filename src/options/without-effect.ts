/**
 * Settings of the kubelet that are read and checked, so that one file serves both, but change nothing here; by path, with the reason. A
 * path stands for all below it.
 */
export const withoutEffect: Readonly<Record<string, string>> = {
  configMapAndSecretChangeDetectionStrategy: 'objects that pods name are always watched',
  containerLogMaxWorkers: 'logs are rotated by one loop',
  cpuManagerPolicy: 'containers share the processors, as with none',
  cpuManagerPolicyOptions: 'containers share the processors, as with none',
  cpuManagerReconcilePeriod: 'containers share the processors, as with none',
  enableContentionProfiling: 'profiles are of Go programs',
  enableDebugFlagsHandler: '/debug/flags/v is not served',
  enableSystemLogQuery: '/logs/ serves files, no queries',
  hairpinMode: 'the CNI plugins decide, as with any CRI runtime',
  iptablesDropBit: 'no iptables rules are made',
  iptablesMasqueradeBit: 'no iptables rules are made',
  kernelMemcgNotification: 'memory is looked at every 10 s',
  'logging.flushFrequency': 'each line is written at once',
  'logging.format': 'lines are JSON',
  'logging.options': 'lines are JSON, on stderr',
  'logging.vmodule': 'there is one level for all',
  makeIPTablesUtilChains: 'no iptables rules are made',
  maxOpenFiles: 'Node.js cannot raise its limit; the service manager can (LimitNOFILE)',
  memoryManagerPolicy: 'memory is not bound to NUMA nodes, as with None',
  protectKernelDefaults: 'kernel settings are left as they are',
  qosReserved: 'nothing is kept from lower classes',
  reservedMemory: 'memory is not bound to NUMA nodes',
  runOnce: 'the kubelet has dropped it, too',
  showHiddenMetricsForVersion: 'no metrics are hidden',
  topologyManagerPolicy: 'resources are not aligned, as with none',
  topologyManagerPolicyOptions: 'resources are not aligned, as with none',
  topologyManagerScope: 'resources are not aligned, as with none',
  volumePluginDir: 'there are no FlexVolume plugins',
};

/** Why a setting changes nothing here; nothing when it does. */
export function whyWithoutEffect(path: string): string | undefined {
  const known = Object.keys(withoutEffect).find((one) => path === one || path.startsWith(`${one}.`));
  return known === undefined ? undefined : withoutEffect[known];
}
