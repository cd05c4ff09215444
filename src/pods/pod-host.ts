import type { Members } from '../base/members.ts';
import type { Pod, Secret } from '../kube/types.ts';
import type { PodResolution } from '../provider/resolution.ts';
import type { PodCgroupConfig } from '../status/pod-resources.ts';
import type { PodCgroups, PodVolumes, ReferencedObjects } from './sync-pod.ts';

/** PodHost provides what pods use on a node besides their containers: volumes, cgroups, secrets. */
export interface PodHost {
  readonly volumes: PodVolumes;
  readonly objects: ReferencedObjects;
  readonly cgroups: PodCgroups;
  /** The settings of the pod's cgroup; absent when pods have no cgroups. */
  readonly podCgroupConfig?: (pod: Pod) => PodCgroupConfig;
  /** Whether the pod's runtime handler supports recursive read-only mounts; absent when none does. */
  readonly supportsRecursiveReadOnly?: (pod: Pod) => boolean;
  /** Releases the user and group IDs of a pod with a user namespace (R160). */
  readonly releaseUsers: (uid: string) => void;
  /** Reads the pod's image pull secrets; those that cannot be read are omitted and reported (R148). */
  readonly pullSecrets: (pod: Pod) => Promise<readonly Secret[]>;
  /** Resolves the pod's references to API objects, for providers that send them elsewhere; absent without an API server. */
  readonly resolution?: (pod: Pod) => PodResolution;
  /** The pressure conditions in force, e.g. `MemoryPressure`. */
  readonly pressure: () => readonly string[];
  /** Removes what pods that are neither desired nor running left on the node (R73). */
  readonly cleanupOrphans: (desired: Members, running: Members) => Promise<void>;
  /** Removes cgroups and back-off entries of pods that cannot run (R79). The call records what exists (R67). */
  readonly cleanupNode: () => (possiblyRunning: Members) => Promise<void>;
  /** The network problem that keeps pods from starting; `undefined` when there is none (R143). */
  readonly networkError: () => string | undefined;
  readonly isShuttingDown: () => boolean;
  /** The problem with the agent's storage; no pod is admitted while there is one. */
  readonly storageFault: () => string | undefined;
  /** The kernel version, which decides the safe sysctls; `''` when unknown. */
  readonly kernelVersion: string;
  /** The unsafe sysctls that pods may set. */
  readonly allowedUnsafeSysctls: readonly string[];
  /** The problem with the pod's AppArmor profiles on this host; `undefined` when there is none. */
  readonly appArmorFault: (pod: Pod) => string | undefined;
}

const nothing = (): Promise<void> => Promise.resolve();

/** The host of an agent whose provider supplies everything that pods need. */
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
