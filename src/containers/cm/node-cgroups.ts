import type { Clock } from '../../base/clock.ts';
import { AgentError, messageOf } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';
import type { Members } from '../../base/members.ts';
import {
  type CgroupDriver,
  type CgroupName,
  cgroupPath,
  kubepodsCgroup,
  podCgroup,
  podUidOfCgroup,
  qosCgroup,
  systemdSlice,
} from '../../kube/cgroup.ts';
import type { QosClass } from '../../kube/resources/resources.ts';
import type { Pod } from '../../kube/types.ts';
import { DrivenCgroups } from './driven.ts';
import type { ReservedCgroup } from './enforcement.ts';
import { type CgroupFiles, codeOf } from './files.ts';
import { type CgroupHost, missingControllers } from './host.ts';
import { leastShares, type PodLimitSettings, podSettings, qosSettings } from './pod-settings.ts';
import { type CgroupConfig, cgroupConfigOf, type CgroupSettings } from './settings.ts';
import type { SystemCgroupSettings } from './system.ts';
import { CgroupTree } from './tree.ts';
import type { SliceUnits } from './units.ts';
import { usageOf } from './usage.ts';

export interface NodeCgroupsDeps {
  readonly files: CgroupFiles;
  readonly host: CgroupHost;
  /** systemd; set with the `systemd` driver only. */
  readonly units?: SliceUnits;
  readonly clock: Pick<Clock, 'sleep'>;
  readonly logger: Logger;
  /** Returns the pods that may run; the CPU weight of the burstable cgroup is computed from them. */
  readonly activePods: () => readonly Pod[];
  /** Kills a process; succeeds when it has exited already. Default: SIGKILL. */
  readonly kill?: (pid: number) => void;
}

export interface NodeCgroupsOptions extends PodLimitSettings {
  /** Kubelet `cgroupRoot`; default: the root of all cgroups. */
  readonly root?: CgroupName;
  readonly driver: CgroupDriver;
  /** Huge page sizes of the host, such as `2MB`. */
  readonly hugePageSizes?: readonly string[];
  /** Limits all pods together to the node's allocatable amounts (`enforceNodeAllocatable: [pods]`); default: to the capacity. */
  readonly enforceAllocatable?: boolean;
  /** Cgroups of daemons to be limited to their reservations. */
  readonly reserved?: readonly ReservedCgroup[];
  /** Cgroups of the node other than those of pods; they appear in the statistics. */
  readonly system?: SystemCgroupSettings;
}

/** Pod cgroups that existed when the snapshot was taken, by pod UID. */
export type PodCgroupSnapshot = ReadonlyMap<string, readonly CgroupName[]>;

const classes: readonly QosClass[] = ['Guaranteed', 'Burstable', 'BestEffort'];
const killAttempts = 5;
const removeAttempts = 5;
const firstPauseMs = 10;

/**
 * NodeCgroups manages one cgroup per pod, below the cgroup of the pod's QoS class, below the cgroup of all pods.
 *
 * Follows kubelet `podContainerManagerImpl` and `qosContainerManagerImpl` (pkg/kubelet/cm).
 */
export class NodeCgroups {
  readonly tree: CgroupTree;
  /** Creates and updates cgroups through the configured driver. */
  readonly driven: DrivenCgroups;
  /** The cgroup of all pods. */
  readonly kubepods: CgroupName;
  readonly #deps: NodeCgroupsDeps;
  readonly #options: NodeCgroupsOptions;
  #limits: CgroupSettings = {};

  constructor(deps: NodeCgroupsDeps, options: NodeCgroupsOptions) {
    this.#deps = deps;
    this.#options = options;
    this.tree = new CgroupTree({ ...deps, ...options });
    this.driven = new DrivenCgroups(this.tree, deps.host.version, deps.units);
    this.kubepods = kubepodsCgroup(options.root ?? [], true);
  }

  /**
   * Creates the cgroups above the pods, without limits on all pods together; {@link enforce} sets those.
   *
   * @param limits of all pods together, applied by {@link enforce}
   * @throws {AgentError} `failed_precondition` when the host lacks a required controller
   */
  async start(limits: CgroupSettings = {}): Promise<void> {
    const missing = missingControllers(this.#deps.host);
    if (missing.length > 0)
      throw new AgentError(
        'failed_precondition',
        `the host lacks the cgroup controllers ${missing.join(', ')}; enable them, or set cgroupsPerQOS to false`,
      );
    this.#limits = limits;
    await this.driven.create(this.kubepods);
    await this.driven.create(qosCgroup(this.kubepods, 'Burstable'));
    await this.driven.create(qosCgroup(this.kubepods, 'BestEffort'));
    await this.updateQos();
  }

  /**
   * Applies the limits to the cgroup of all pods.
   *
   * @returns the kernel's error; pods that already run may exceed the limits then
   */
  async enforce(): Promise<string | undefined> {
    try {
      await this.driven.set(this.kubepods, this.#limits);
      return undefined;
    } catch (reason) {
      return messageOf(reason);
    }
  }

  /** Updates the QoS cgroups. The kubelet does this every minute and before it creates a pod cgroup. */
  async updateQos(): Promise<void> {
    const settings = qosSettings(this.#deps.activePods(), this.#options);
    await this.driven.set(this.kubepods, settings.kubepods);
    await this.driven.set(qosCgroup(this.kubepods, 'Burstable'), settings.burstable);
    await this.driven.set(qosCgroup(this.kubepods, 'BestEffort'), settings.bestEffort);
  }

  exists(pod: Pod): boolean {
    return this.tree.exists(podCgroup(this.kubepods, pod));
  }

  /** Creates the pod's cgroup when it does not exist. @throws {AgentError} `failed_precondition` with the kernel's error */
  async ensure(pod: Pod): Promise<void> {
    await this.updateQos();
    if (!this.exists(pod))
      await this.driven.create(podCgroup(this.kubepods, pod), podSettings(pod, this.#options));
  }

  /** Reads the current configuration of the pod's cgroup. */
  config(pod: Pod): CgroupConfig {
    return cgroupConfigOf(this.#reading(pod), this.#deps.host.version);
  }

  /** Returns the current configuration of the pod's cgroup and the one that its spec asks for. */
  limits(pod: Pod): { readonly current: CgroupConfig; readonly desired: CgroupConfig } {
    const { memory = -1, ...cpu } = this.config(pod);
    return {
      current: { ...cpu, ...(memory >= 0 && { memory }) },
      desired: podSettings(pod, this.#options),
    };
  }

  /** Updates a part of the pod cgroup's configuration. @throws {AgentError} `failed_precondition` with the kernel's error */
  set(pod: Pod, limits: CgroupConfig): Promise<void> {
    return this.driven.set(podCgroup(this.kubepods, pod), limits);
  }

  /** Memory usage of the pod in bytes; absent when it cannot be read. */
  memoryUsage(pod: Pod): number | undefined {
    return usageOf(this.#reading(pod), this.#deps.host.version).memory?.usageBytes;
  }

  #reading(pod: Pod): (controller: string, file: string) => string | undefined {
    const name = podCgroup(this.kubepods, pod);
    return (controller, file) => this.tree.read(name, controller, file);
  }

  /**
   * Kills the processes of the pod's cgroup and removes it. @throws {AgentError} `unavailable` when a process does not exit; the caller
   * retries
   */
  destroy(pod: Pod): Promise<void> {
    return this.#destroy(podCgroup(this.kubepods, pod));
  }

  /** Returns the cgroup parent in the form that runtimes expect: a path, or with systemd the name of the pod's slice. */
  cgroupParent(pod: Pod): string {
    const name = podCgroup(this.kubepods, pod);
    return this.#options.driver === 'systemd' ? systemdSlice(name) : cgroupPath(name, 'cgroupfs');
  }

  /**
   * Returns the pod cgroups that exist (kubelet `GetAllPodsFromCgroups`). Take the snapshot before listing pods, so that a new pod's cgroup
   * does not look orphaned (R67).
   */
  snapshot(): PodCgroupSnapshot {
    const found = new Map<string, CgroupName[]>();
    for (const qos of classes)
      for (const name of this.tree.children(qosCgroup(this.kubepods, qos))) {
        const uid = podUidOfCgroup(name);
        if (uid !== undefined) found.set(uid, [...(found.get(uid) ?? []), name]);
      }
    return found;
  }

  /**
   * Removes cgroups of pods that no longer run (R79). A failure is logged and retried in the next round.
   *
   * @param hasVolumes true while a volume of the pod exists; its cgroup is then kept with the lowest CPU weight until its processes exit
   */
  async destroyOrphans(
    snapshot: PodCgroupSnapshot,
    possiblyRunning: Members,
    hasVolumes: (uid: string) => boolean,
  ): Promise<void> {
    for (const [uid, names] of snapshot) {
      if (possiblyRunning.has(uid)) continue;
      for (const name of names)
        try {
          if (hasVolumes(uid)) await this.driven.set(name, { cpuShares: leastShares });
          else await this.#destroy(name);
        } catch (err) {
          this.#deps.logger.warn('orphaned pod cgroup could not be removed', { uid, err: messageOf(err) });
        }
    }
  }

  async #destroy(name: CgroupName): Promise<void> {
    if (this.#options.driver === 'cgroupfs' && this.tree.removeEmpty(name)) return; // the usual case: the runtime left no process
    this.#endProcesses(name);
    await this.driven.end(name);
    for (let attempt = 1, pauseMs = firstPauseMs; ; attempt++, pauseMs *= 2) {
      try {
        this.tree.remove(name);
        return;
      } catch (reason) {
        // The kernel reports EBUSY until the last process of the cgroup is reaped.
        if (attempt === removeAttempts) throw reason;
      }
      await this.#deps.clock.sleep(pauseMs);
    }
  }

  /** Kills until none is left, as a process may fork before it dies. */
  #endProcesses(name: CgroupName): void {
    const { kill = killNow } = this.#deps;
    for (let attempt = 0; attempt < killAttempts; attempt++) {
      const pids = this.tree.pids(name);
      if (pids.length === 0) return;
      for (const pid of pids) kill(pid);
    }
  }
}

function killNow(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (reason) {
    if (codeOf(reason) !== 'ESRCH') throw reason;
  }
}
