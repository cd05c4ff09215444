import type { KillReason } from '../grace-period.ts';
import type { ResourceRequirements } from '../../../kube/types.ts';

/** What the last probe of a container said; absent: no result yet. */
export type ProbeResult = 'Success' | 'Failure' | 'Unknown';

/** The latest results of one kind of probe by container id (`type://id`). */
export interface ProbeResults {
  get(containerId: string): ProbeResult | undefined;
}

/** What the decision reads besides the pod and its runtime status. */
export interface ActionInputs {
  readonly liveness: ProbeResults;
  readonly startup: ProbeResults;
  readonly actuated: ActuatedResources;
  readonly restartAllContainers?: boolean;
  /** Kubernetes feature gates that differ from their default (on, for those that matter here). */
  readonly features?: Readonly<Record<string, boolean>>;
}

/** A running (or perhaps running) container that must end, and what its event says. */
export interface ContainerToKill {
  readonly id: string;
  readonly name: string;
  readonly message: string;
  readonly reason: KillReason;
}

/** An instance to remove so that all containers start anew; `kill`: it still runs. */
export interface ContainerToReset {
  readonly id: string;
  readonly name: string;
  readonly kill: boolean;
}

/** What a sync must do; indexes point in the spec's lists. Kubelet's `podActions`. */
export interface PodActions {
  killPod: boolean;
  createSandbox: boolean;
  /** The sandbox to use, or the one that is replaced; empty: none. */
  sandboxId: string;
  attempt: number;
  initContainersToStart: number[];
  containersToStart: number[];
  ephemeralContainersToStart: number[];
  /** By container id. */
  readonly containersToKill: Map<string, ContainerToKill>;
  /** In-place resizes by resource, decreases before increases. */
  readonly containersToUpdate: { cpu: ContainerUpdate[]; memory: ContainerUpdate[] };
  /** A resize that needs a restart also changes the pod's cgroup. */
  updatePodResources: boolean;
  /** The pod's own (pod-level) resources changed. */
  updatePodLevelResources: boolean;
  containersToReset: ContainerToReset[];
}

/** The resources last handed to the runtime, per container and for the pod as a whole. */
export interface ActuatedResources {
  container(podUid: string, name: string): ResourceRequirements | undefined;
  pod(podUid: string): ResourceRequirements | undefined;
}

/** CPU in milli-cores, memory in bytes; absent counts as 0. */
export interface ResourceNumbers {
  readonly memoryLimit: number;
  readonly memoryRequest: number;
  readonly cpuLimitMilli: number;
  readonly cpuRequestMilli: number;
}

/** One container whose resources change while it runs. */
export interface ContainerUpdate {
  readonly id: string;
  readonly name: string;
  readonly desired: ResourceNumbers;
  readonly current: ResourceNumbers;
}
