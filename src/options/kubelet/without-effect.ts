import { tableOf } from '../../base/own.ts';
import { isDeepStrictEqual } from 'node:util';
import { valueAt } from '../decode.ts';
import { withDefaults } from '../defaults.ts';
import { isHonoured } from './feature-gates.ts';
import type { KubeletConfiguration } from './kubelet-configuration.ts';
import type { OptionFault } from '../options-error.ts';

/**
 * Settings of the kubelet that are read and checked, so that one file serves both, but change nothing here; by path, with the reason. A
 * path stands for all below it.
 */
export const withoutEffect: Readonly<Record<string, string>> = tableOf({
  configMapAndSecretChangeDetectionStrategy: 'objects that pods name are always watched',
  containerLogMaxWorkers: 'logs are rotated by one loop',
  cpuManagerPolicy: 'containers share the processors, as with none',
  cpuManagerPolicyOptions: 'containers share the processors, as with none',
  cpuManagerReconcilePeriod: 'containers share the processors, as with none',
  enableContentionProfiling: 'profiles are of Go programs',
  enableSystemLogQuery: '/logs/ serves files, no queries',
  hairpinMode: 'the CNI plugins decide, as with any CRI runtime',
  iptablesDropBit: 'no iptables rules are made',
  iptablesMasqueradeBit: 'no iptables rules are made',
  kernelMemcgNotification: 'memory is looked at every 10 s',
  'logging.flushFrequency': 'each line is written at once',
  'logging.options': 'all lines go to one place',
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
});

/** Why a setting changes nothing here; nothing when it does. */
export function whyWithoutEffect(path: string): string | undefined {
  const known = Object.keys(withoutEffect).find((one) => path === one || path.startsWith(`${one}.`));
  return known === undefined ? undefined : withoutEffect[known];
}

/** What is set to something else than its default, but changes nothing here; and gates that nothing asks for. */
export function idleSettings(kubelet: KubeletConfiguration): readonly OptionFault[] {
  const defaults = withDefaults({});
  const settings = Object.entries(withoutEffect)
    .filter(([path]) => !isDeepStrictEqual(valueAt(kubelet, path), valueAt(defaults, path)))
    .map(([path, why]) => ({ path, message: `it changes nothing here: ${why}` }));
  const gates = Object.keys(kubelet.featureGates ?? {}).filter((gate) => !isHonoured(gate));
  return [
    ...settings,
    ...gates.map((gate) => ({
      path: `featureGates.${gate}`,
      message: 'it changes nothing here: docs/options.md names the gates that do',
    })),
  ];
}
