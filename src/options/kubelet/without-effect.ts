import { tableOf } from '../../base/own.ts';
import { isDeepStrictEqual } from 'node:util';
import { valueAt } from '../decode.ts';
import { withDefaults } from '../defaults.ts';
import { isHonoured } from './feature-gates.ts';
import type { KubeletConfiguration } from './kubelet-configuration.ts';
import type { OptionFault } from '../options-error.ts';

/**
 * Kubelet settings that are parsed and validated, so that one file serves both, but have no effect here; by path, with the reason. A path
 * includes everything below it.
 */
export const withoutEffect: Readonly<Record<string, string>> = tableOf({
  configMapAndSecretChangeDetectionStrategy: 'objects that pods reference are always watched',
  containerLogMaxWorkers: 'one loop rotates all logs',
  cpuManagerPolicy: 'containers share the processors, as with none',
  cpuManagerPolicyOptions: 'containers share the processors, as with none',
  cpuManagerReconcilePeriod: 'containers share the processors, as with none',
  enableContentionProfiling: 'profiles are of Go programs',
  enableSystemLogQuery: '/logs/ serves files, not queries',
  hairpinMode: 'the CNI plugins decide, as with any CRI runtime',
  iptablesDropBit: 'no iptables rules are made',
  iptablesMasqueradeBit: 'no iptables rules are made',
  kernelMemcgNotification: 'memory is checked every 10 s',
  'logging.flushFrequency': 'each line is written at once',
  'logging.options': 'all lines go to one stream',
  'logging.vmodule': 'there is one level for all files',
  makeIPTablesUtilChains: 'no iptables rules are made',
  maxOpenFiles: 'Node.js cannot raise its limit; the service manager can (LimitNOFILE)',
  memoryManagerPolicy: 'memory is not bound to NUMA nodes, as with None',
  protectKernelDefaults: 'kernel settings are left as they are',
  qosReserved: 'nothing is reserved from lower classes',
  reservedMemory: 'memory is not bound to NUMA nodes',
  runOnce: 'the kubelet dropped it too',
  showHiddenMetricsForVersion: 'no metrics are hidden',
  topologyManagerPolicy: 'resources are not aligned, as with none',
  topologyManagerPolicyOptions: 'resources are not aligned, as with none',
  topologyManagerScope: 'resources are not aligned, as with none',
  volumePluginDir: 'there are no FlexVolume plugins',
});

/** Returns why a setting has no effect; undefined when it has one. */
export function whyWithoutEffect(path: string): string | undefined {
  const key = Object.keys(withoutEffect).find((one) => path === one || path.startsWith(`${one}.`));
  return key === undefined ? undefined : withoutEffect[key];
}

/** Returns the settings that differ from their default but have no effect, and feature gates that are not used. */
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
