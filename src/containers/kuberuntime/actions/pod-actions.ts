import type { KillReason } from '../grace-period.ts';
import type { ResourceRequirements } from '../../../kube/types.ts';

/** Result of the last probe of a container; absent: no result yet. */
export type ProbeResult = 'Success' | 'Failure' | 'Unknown';

/** The latest results of one kind of probe by container id (`type://id`). */
export interface ProbeResults {
  get(containerId: string): ProbeResult | undefined;
}

/** Inputs of the decision besides the pod and its runtime status. */
export interface ActionInputs {
  readonly liveness: ProbeResults;
  readonly startup: ProbeResults;
  readonly actuated: ActuatedResources;
  readonly restartAllContainers?: boolean;
  /** Kubernetes feature gates that differ from their default (on, for those that matter here). */
  readonly features?: Readonly<Record<string, boolean>>;
}

/** A running (or possibly running) container to kill, and the text of its event. */
export interface ContainerToKill {
  readonly id: string;
  readonly name: string;
  readonly message: string;
  readonly reason: KillReason;
}

/** An instance to remove so that all containers start again; `kill` is true while it runs. */
export interface ContainerToReset {
  readonly id: string;
  readonly name: string;
  readonly kill: boolean;
}

/** The actions of a sync; indexes refer to the lists of the spec. Kubelet's `podActions`. */
export interface PodActions {
  killPod: boolean;
  createSandbox: boolean;
  /** The sandbox to use or to replace; empty: none. */
  sandboxId: string;
  attempt: number;
  initContainersToStart: number[];
  containersToStart: number[];
  ephemeralContainersToStart: number[];
  /** Containers to kill, by container id. */
  readonly containersToKill: Map<string, ContainerToKill>;
  /** In-place resizes by resource, decreases before increases. */
  readonly containersToUpdate: { cpu: ContainerUpdate[]; memory: ContainerUpdate[] };
  /** True when a resize by restart must also change the pod's cgroup. */
  updatePodResources: boolean;
  /** True when the pod-level resources changed. */
  updatePodLevelResources: boolean;
  containersToReset: ContainerToReset[];
}

/** ActuatedResources returns the resources last applied by the runtime, per container and for the pod. */
export interface ActuatedResources {
  container(podUid: string, name: string): ResourceRequirements | undefined;
  pod(podUid: string): ResourceRequirements | undefined;
}

/** CPU in millicores, memory in bytes; absent counts as 0. */
export interface ResourceNumbers {
  readonly memoryLimit: number;
  readonly memoryRequest: number;
  readonly cpuLimitMilli: number;
  readonly cpuRequestMilli: number;
}

/** A running container whose resources change. */
export interface ContainerUpdate {
  readonly id: string;
  readonly name: string;
  readonly desired: ResourceNumbers;
  readonly current: ResourceNumbers;
}
