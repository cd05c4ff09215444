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
  /** With the systemd driver: systemd. */
  readonly units?: SliceUnits;
  readonly clock: Pick<Clock, 'sleep'>;
  readonly logger: Logger;
  /** Pods that may run: what burstable pods weigh together depends on them. */
  readonly activePods: () => readonly Pod[];
  /** Ends a process at once; one that has ended is no error. Default: SIGKILL. */
  readonly kill?: (pid: number) => void;
}

export interface NodeCgroupsOptions extends PodLimitSettings {
  /** Kubelet `cgroupRoot`; default: the root of all cgroups. */
  readonly root?: CgroupName;
  readonly driver: CgroupDriver;
  /** Sizes of huge pages that the host offers, like `2MB`. */
  readonly hugePageSizes?: readonly string[];
  /** All pods together are limited to what the node's reservations leave (`enforceNodeAllocatable: [pods]`); default: to what there is. */
  readonly enforceAllocatable?: boolean;
  /** Cgroups of daemons that are held to what is reserved for them. */
  readonly reserved?: readonly ReservedCgroup[];
  /** Cgroups of the node that are not of pods: statistics tell of them. */
  readonly system?: SystemCgroupSettings;
}

/** The pods' cgroups at one moment, by UID. */
export type PodCgroupSnapshot = ReadonlyMap<string, readonly CgroupName[]>;

const classes: readonly QosClass[] = ['Guaranteed', 'Burstable', 'BestEffort'];
const killAttempts = 5;
const removeAttempts = 5;
const firstPauseMs = 10;

/**
 * A cgroup for each pod, below one for its quality of service, below one for all pods.
 *
 * Follows kubelet `podContainerManagerImpl` and `qosContainerManagerImpl` (pkg/kubelet/cm).
 */
export class NodeCgroups {
  readonly tree: CgroupTree;
  /** Makes and sets them. */
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
   * Makes the cgroups above the pods; {@link enforce} holds the pods to their limits.
   *
   * @param limits of all pods together
   * @throws {AgentError} `failed_precondition` when the host cannot limit pods
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
   * Holds all pods together to their limits.
   *
   * @returns what the kernel says against it: pods that run on may use more than that now
   */
  async enforce(): Promise<string | undefined> {
    try {
      await this.driven.set(this.kubepods, this.#limits);
      return undefined;
    } catch (reason) {
      return messageOf(reason);
    }
  }

  /** Brings the cgroups above the pods up to date; kubelet does so each minute and before it makes a pod's. */
  async updateQos(): Promise<void> {
    const settings = qosSettings(this.#deps.activePods(), this.#options);
    await this.driven.set(this.kubepods, settings.kubepods);
    await this.driven.set(qosCgroup(this.kubepods, 'Burstable'), settings.burstable);
    await this.driven.set(qosCgroup(this.kubepods, 'BestEffort'), settings.bestEffort);
  }

  exists(pod: Pod): boolean {
    return this.tree.exists(podCgroup(this.kubepods, pod));
  }

  /** @throws {AgentError} `failed_precondition` with what the kernel refused */
  async ensure(pod: Pod): Promise<void> {
    await this.updateQos();
    if (!this.exists(pod))
      await this.driven.create(podCgroup(this.kubepods, pod), podSettings(pod, this.#options));
  }

  /** What the pod's cgroup is set to. */
  config(pod: Pod): CgroupConfig {
    return cgroupConfigOf(this.#reading(pod), this.#deps.host.version);
  }

  /** What the pod's cgroup is set to, and what it has to be for the pod's spec. */
  limits(pod: Pod): { readonly current: CgroupConfig; readonly desired: CgroupConfig } {
    const { memory = -1, ...cpu } = this.config(pod);
    return {
      current: { ...cpu, ...(memory >= 0 && { memory }) },
      desired: podSettings(pod, this.#options),
    };
  }

  /** Sets a part of the pod's cgroup anew. @throws {AgentError} `failed_precondition` with what the kernel refused */
  set(pod: Pod, limits: CgroupConfig): Promise<void> {
    return this.driven.set(podCgroup(this.kubepods, pod), limits);
  }

  /** Bytes; absent: it cannot be read. */
  memoryUsage(pod: Pod): number | undefined {
    return usageOf(this.#reading(pod), this.#deps.host.version).memory?.usageBytes;
  }

  #reading(pod: Pod): (controller: string, file: string) => string | undefined {
    const name = podCgroup(this.kubepods, pod);
    return (controller, file) => this.tree.read(name, controller, file);
  }

  /** @throws {AgentError} `unavailable` when some process does not end: try again */
  destroy(pod: Pod): Promise<void> {
    return this.#destroy(podCgroup(this.kubepods, pod));
  }

  /** As runtimes want it: a path, or with systemd the name of the pod's slice. */
  cgroupParent(pod: Pod): string {
    const name = podCgroup(this.kubepods, pod);
    return this.#options.driver === 'systemd' ? systemdSlice(name) : cgroupPath(name, 'cgroupfs');
  }

  /** The cgroups of pods that are there now (kubelet `GetAllPodsFromCgroups`); to be asked before the pods are (R67). */
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
   * Removes what is left of pods that cannot run any more (R79); a failure is logged and tried again next time.
   *
   * @param hasVolumes whether any volume of the pod is still there: then its cgroup stays, at the least weight, and what runs in it may end
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
    if (this.#options.driver === 'cgroupfs' && this.tree.removeEmpty(name)) return; // as runtimes leave it: nobody has to be looked for
    this.#endProcesses(name);
    await this.driven.end(name);
    for (let attempt = 1, pauseMs = firstPauseMs; ; attempt++, pauseMs *= 2) {
      try {
        this.tree.remove(name);
        return;
      } catch (reason) {
        // the kernel keeps a cgroup busy until the last of its processes is reaped
        if (attempt === removeAttempts) throw reason;
      }
      await this.#deps.clock.sleep(pauseMs);
    }
  }

  /** A process may start another before it ends, so look again. */
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
