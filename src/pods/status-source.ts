import { uidOf } from '../kube/names.ts';
import type { Node, Pod, PodStatus } from '../kube/types.ts';
import type { ProbeManager } from '../prober/probe-manager.ts';
import type { RuntimePodStatus } from '../provider/runtime-pod.ts';
import { primaryFamilyOf } from '../kube/address-family.ts';
import { generateApiPodStatus } from '../status/generate.ts';
import type { PodCgroupConfig } from '../status/pod-resources.ts';
import type { StatusManager } from '../status/status-manager.ts';
import type { ActiveDeadline } from './active-deadline.ts';

export interface StatusSourceDeps {
  readonly nodeIPs: readonly string[];
  readonly nodeGetter: () => Node | undefined;
  readonly statusManager: Pick<StatusManager, 'getPodStatus' | 'resizes'>;
  readonly probeManager: Pick<ProbeManager, 'updatePodStatus' | 'probeNow'>;
  readonly deadline: Pick<ActiveDeadline, 'shouldEvict'>;
  /** The settings of the pod's cgroup; absent when pods have no cgroups. */
  readonly podCgroupConfig?: (pod: Pod) => PodCgroupConfig;
  /** Whether the pod's runtime handler supports recursive read-only mounts; absent when none does. */
  readonly supportsRecursiveReadOnly?: (pod: Pod) => boolean;
  /** What runs the pods' probes. */
  readonly provider?: { readonly probedBy?: 'agent' | 'provider' };
  readonly reasons: {
    get(uid: string, container: string): { readonly reason: string; readonly message: string } | undefined;
  };
}

/** Makes the function that generates a pod's status from its runtime status. It collects the inputs; `status` computes the result. */
export function statusSource(
  deps: StatusSourceDeps,
): (pod: Pod, runtime: RuntimePodStatus, podIsTerminal: boolean) => PodStatus {
  const { nodeIPs, statusManager, probeManager, deadline, reasons } = deps;
  return (pod, runtime, podIsTerminal) => {
    const uid = uidOf(pod);
    const { status, probeNow } = generateApiPodStatus({
      pod,
      runtime,
      podIsTerminal,
      cached: statusManager.getPodStatus(uid),
      evict: deadline.shouldEvict(pod),
      resizeConditions: statusManager.resizes.conditions(uid),
      // used only for pods that are Running in the API
      cgroup: pod.status?.phase === 'Running' ? deps.podCgroupConfig?.(pod) : undefined,
      hostIps: nodeIPs,
      probedByAgent: deps.provider?.probedBy !== 'provider',
      primaryFamily: primaryFamilyOf(nodeIPs),
      supportsRecursiveReadOnly: () => deps.supportsRecursiveReadOnly?.(pod) ?? false,
      startFailureOf: (container) => reasons.get(uid, container),
      withProbeResults: (target, unprobed) => probeManager.updatePodStatus(target, unprobed),
    });
    probeManager.probeNow(uid, probeNow);
    return status;
  };
}
