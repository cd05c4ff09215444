import type { EciSettings } from './settings.ts';

/** What of a Node the provider decides: the agent merges it into the Node that it registers. */
export interface EciNode {
  readonly labels: Readonly<Record<string, string>>;
  /** Labels of virtual-kubelet that a kubelet's identity may not set; others may. */
  readonly optionalLabels: Readonly<Record<string, string>>;
  readonly taints: readonly { readonly key: string; readonly value: string; readonly effect: 'NoSchedule' }[];
  readonly capacity: Readonly<Record<string, string>>;
}

/** eciNode is the node of an account: virtual-kubelet's labels and taint, topology, and the quota as its capacity. */
export function eciNode(nodeName: string, { region, zone, quota = {} }: EciSettings): EciNode {
  return {
    labels: {
      type: 'virtual-kubelet',
      'kubernetes.io/hostname': nodeName,
      'kubernetes.io/os': 'linux',
      'kubernetes.io/arch': 'amd64',
      'beta.kubernetes.io/os': 'linux',
      'node.kubernetes.io/exclude-from-external-load-balancers': 'true',
      'node.kubernetes.io/instance-type': 'eci',
      'topology.kubernetes.io/region': region,
      ...(zone !== undefined && { 'topology.kubernetes.io/zone': zone }),
    },
    optionalLabels: {
      'kubernetes.io/role': 'agent',
      'alpha.service-controller.kubernetes.io/exclude-balancer': 'true',
    },
    taints: [{ key: 'virtual-kubelet.io/provider', value: 'alibabacloud', effect: 'NoSchedule' }],
    capacity: {
      cpu: quota.cpu ?? '1000',
      memory: quota.memory ?? '4Ti',
      pods: quota.pods ?? '1000',
      'ephemeral-storage': '40Ti',
    },
  };
}
