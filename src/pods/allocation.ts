import { safeSysctlsOf, SysctlAllowlist } from '../admission/sysctl.ts';
import { AllocationManager } from '../allocation/allocation-manager.ts';
import { nodeResource } from '../api/resources.ts';
import type { Node, Pod, PodStatus } from '../kube/types.ts';
import type { PodWorkers } from '../podworkers/pod-workers.ts';
import type { StatusManager } from '../status/status-manager.ts';
import { type AdmissionDeps, admitPod } from '../admission/admission-chain.ts';
import type { EngineMetrics } from './metrics/agent-metrics.ts';
import type { EnginesOptions } from './engine-options.ts';
import type { PodHost } from './pod-host.ts';
import type { PodManager } from './pod-manager.ts';
import { isActivePod } from './sync-handler.ts';
import { type KillPodDeps, killPodNow } from '../podworkers/kill-pod.ts';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import { terminatedByKubelet } from '../kube/disruption.ts';
import { keyOf } from '../kube/names.ts';
import { messageOf } from '../base/errors.ts';

/** The dependencies of the allocation manager besides the workers. */
export interface AllocationParts {
  readonly podManager: PodManager;
  readonly statusManager: StatusManager;
  readonly host: PodHost;
  readonly metrics: Pick<EngineMetrics, 'pods'>;
}

/** Makes the allocation manager. @param workers a getter, because the workers in turn depend on the allocation manager */
export function makeAllocationManager(
  options: EnginesOptions,
  parts: AllocationParts,
  workers: () => PodWorkers,
): AllocationManager {
  const { clock, logger, recorder, sourcesReady, allocations } = options;
  const { podManager, statusManager } = parts;
  const manager: AllocationManager = new AllocationManager({
    clock,
    logger,
    recorder,
    resizes: statusManager.resizes,
    admit: (pod, otherPods, operation) => admitPod(admission, pod, { operation, otherPods }),
    activePods: () => {
      const deps = { workers: workers(), statuses: statusManager };
      return podManager.getPods().filter((pod) => isActivePod(deps, pod));
    },
    podByUid: (uid) => podManager.getPodByUID(uid),
    syncPod: (pod) => {
      const mirrorPod = podManager.getMirrorPodByPod(pod);
      workers().updatePod({ type: 'sync', pod, ...(mirrorPod && { mirrorPod }) });
    },
    deferredAccepted: parts.metrics.pods.deferredAccepted,
    sourcesReady,
    ...(allocations && { keeper: allocations }),
  });
  const admission: AdmissionDeps = {
    ...admissionOf(options, parts, workers),
    allocatedPod: (pod) => manager.allocatedPod(pod),
    isSettled: () => manager.isSettled,
  };
  return manager;
}

function admissionOf(
  { clock, logger, recorder, provider, nodeName, kubeClient, nodeGetter }: EnginesOptions,
  { podManager, host, metrics }: AllocationParts,
  workers: () => PodWorkers,
): Omit<AdmissionDeps, 'allocatedPod' | 'isSettled'> {
  return {
    getNode: nodeGetter,
    ledger: podManager.ledger,
    ...(kubeClient && { refetchNode: () => kubeClient.get<Node>(nodeResource, { name: nodeName }) }),
    pressure: host.pressure,
    sysctls: new SysctlAllowlist([...safeSysctlsOf(host.kernelVersion), ...host.allowedUnsafeSysctls]),
    appArmorFault: host.appArmorFault,
    isShuttingDown: host.isShuttingDown,
    storageFault: host.storageFault,
    preempt: (victim: Pod, missing: string) => {
      const preempted = (): void => {
        metrics.pods.preempted(missing);
      };
      return preemptPod({ clock, logger, recorder, workers: workers(), preempted }, victim);
    },
    infeasible: metrics.pods.infeasible,
    provider,
    recorder,
  };
}

const message = 'Preempted in order to admit critical pod';

/**
 * Preempts a pod for a critical one, with the victim's own grace period (R135). Resolves when the victim has stopped, or when it has not
 * stopped in time: its worker then keeps trying.
 *
 * Follows kubelet `CriticalPodAdmissionHandler.evictPodsToFreeRequests`.
 */
export async function preemptPod(
  deps: KillPodDeps & {
    readonly clock: Pick<Clock, 'now'>;
    readonly logger: Logger;
    /** Called when the victim has stopped, for metrics. */
    readonly preempted?: () => void;
  },
  victim: Pod,
): Promise<void> {
  deps.recorder.event(victim, 'Warning', 'Preempting', message);
  const termination = {
    message: 'Pod was preempted by Kubelet to accommodate a critical pod.',
    now: deps.clock.now(),
  };
  const statusFn = (status: PodStatus): PodStatus => ({
    ...terminatedByKubelet(status, victim, termination),
    phase: 'Failed',
    reason: 'Preempting',
    message,
  });
  try {
    await killPodNow(deps, victim, { evict: true, statusFn });
    deps.preempted?.();
  } catch (err) {
    deps.logger.error('preempted pod has not stopped', { pod: keyOf(victim), err: messageOf(err) });
  }
}
