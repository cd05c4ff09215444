import type { Members } from '../base/members.ts';
import type { Pod, Secret } from '../kube/types.ts';
import type { PodResolution } from '../provider/resolution.ts';
import type { PodCgroupConfig } from '../status/pod-resources.ts';
import type { PodCgroups, PodVolumes, ReferencedObjects } from './sync-pod.ts';

/** What pods find on a node besides their containers. */
export interface PodHost {
  readonly volumes: PodVolumes;
  readonly objects: ReferencedObjects;
  readonly cgroups: PodCgroups;
  /** What the pod's cgroup is set to; absent: pods have none of their own. */
  readonly podCgroupConfig?: (pod: Pod) => PodCgroupConfig;
  /** Whether the pod's runtime handler can make mounts read-only with all below them; absent: none can. */
  readonly supportsRecursiveReadOnly?: (pod: Pod) => boolean;
  /** Gives back the ids of a pod that had users of its own (R160). */
  readonly releaseUsers: (uid: string) => void;
  /** R148: those that cannot be had are left out and reported. */
  readonly pullSecrets: (pod: Pod) => Promise<readonly Secret[]>;
  /** Works out the pod's references for providers that send them elsewhere; absent: there is no API server to read objects from. */
  readonly resolution?: (pod: Pod) => PodResolution;
  /** Pressure conditions in force, e.g. `MemoryPressure`. */
  readonly pressure: () => readonly string[];
  /** R73: what is left on the node of pods that are neither wanted nor running. */
  readonly cleanupOrphans: (desired: Members, running: Members) => Promise<void>;
  /** R79: cgroups and back-offs of what cannot run; what there is is noted at the call (R67). */
  readonly cleanupNode: () => (possiblyRunning: Members) => Promise<void>;
  /** What is wrong with the pod's network before it can start; absent: nothing (R143). */
  readonly networkError: () => string | undefined;
  readonly isShuttingDown: () => boolean;
  /** What is wrong with where the agent keeps its things: no pods are taken meanwhile. */
  readonly storageFault: () => string | undefined;
  /** Which sysctls are safe depends on it; `''`: not known. */
  readonly kernelVersion: string;
  /** Sysctls beyond the safe ones that pods may set. */
  readonly allowedUnsafeSysctls: readonly string[];
  /** What is wrong with the pod's AppArmor profiles on this host; absent: nothing. */
  readonly appArmorFault: (pod: Pod) => string | undefined;
}

const nothing = (): Promise<void> => Promise.resolve();

/** The host of an agent whose provider brings all that pods need. */
export const bareHost: PodHost = {
  volumes: { mount: nothing, unmount: nothing },
  objects: { register: () => undefined, unregister: () => undefined },
  cgroups: { exists: () => true, ensure: nothing, destroy: nothing },
  releaseUsers: () => undefined,
  pullSecrets: () => Promise.resolve([]),
  pressure: () => [],
  cleanupOrphans: nothing,
  cleanupNode: () => nothing,
  networkError: () => undefined,
  isShuttingDown: () => false,
  storageFault: () => undefined,
  kernelVersion: '',
  allowedUnsafeSysctls: [],
  appArmorFault: () => undefined,
};
