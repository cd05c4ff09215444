import type { NodeDescription } from '../../provider/provider.ts';
import type { KubernetesSettings } from './settings.ts';

/** The node of a backing cluster: virtual-kubelet's labels and taint, and the capacity of the settings. */
export function backingNode(
  nodeName: string,
  { capacity }: Pick<KubernetesSettings, 'capacity'>,
): NodeDescription {
  return {
    labels: {
      type: 'virtual-kubelet',
      'kubernetes.io/hostname': nodeName,
      'kubernetes.io/os': 'linux',
      'node.kubernetes.io/exclude-from-external-load-balancers': 'true',
      'node.kubernetes.io/instance-type': 'kubernetes',
    },
    optionalLabels: { 'kubernetes.io/role': 'agent' },
    taints: [{ key: 'virtual-kubelet.io/provider', value: 'kubernetes', effect: 'NoSchedule' }],
    capacity: { cpu: '1000', memory: '4Ti', pods: '1000', 'ephemeral-storage': '40Ti', ...capacity },
  };
}
