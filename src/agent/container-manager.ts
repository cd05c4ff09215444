import { AgentError, messageOf } from '../base/errors.ts';
import type { Logger } from '../base/logger.ts';
import { cgroupFromPath } from '../kube/cgroup.ts';
import type { Pod } from '../kube/types.ts';
import type { PodVolumes } from '../containers/volumes/pod-volumes.ts';
import type { PodCgroupAccess } from '../containers/kuberuntime/helper.ts';
import type { MeasuredMachine } from '../containers/stats/machine-info.ts';
import { hostPrograms } from '../base/programs.ts';
import type { PodsController } from '../pods/pods-controller.ts';
import type { AgentOptions } from './agent-options.ts';
import type { CommonParts } from './common-parts.ts';
import { CgroupReadings } from '../containers/stats/cgroup-readings.ts';
import { CgroupStats } from '../containers/stats/cgroup-stats.ts';
import { NodeCgroups } from '../containers/cm/node-cgroups.ts';
import {
  enforceOnPods,
  enforceReserved,
  keepEnforced,
  type TellOfEnforcement,
} from '../containers/cm/enforcement.ts';
import { kernelCgroupFiles } from '../containers/cm/files.ts';
import { type CgroupHost, detectCgroups } from '../containers/cm/host.ts';
import { strayProcesses, type SystemCgroupSettings, systemCgroups } from '../containers/cm/system.ts';
import { CgroupTree } from '../containers/cm/tree.ts';
import { SystemdUnits } from '../containers/cm/units.ts';
import { nodeRefOf } from './evictions.ts';
import { allPodsLimits } from './node-setters.ts';
import type { PodHost } from '../pods/pod-host.ts';
import { kernelProcessFiles } from '../containers/cm/process-files.ts';

/** The interface of the pods' cgroups to the other subsystems of an agent. */
export interface NodePodCgroups {
  /** The members of the pod host that manage cgroups; empty when pods have no cgroups. */
  readonly pods: Partial<Pick<PodHost, 'cgroups' | 'cleanupNode' | 'podCgroupConfig'>>;
  readonly cgroupParent: (pod: Pod) => string;
  readonly podCgroup?: PodCgroupAccess;
  readonly stats?: CgroupStats;
  readonly readings?: CgroupReadings;
  /** Enforces the cgroups above the pods until `signal` aborts. */
  readonly keepEnforced?: (signal: AbortSignal) => Promise<void>;
}

/**
 * Moves processes into a cgroup. When the kernel refuses, logs it and leaves the process where it is. Kubelet
 * `ensureProcessInContainerWithOOMScore`.
 */
function moveInto(tree: CgroupTree, path: string, pids: readonly number[], logger: Logger): void {
  const name = cgroupFromPath(path);
  const attempt = (act: () => void, pid?: number): void => {
    try {
      act();
    } catch (reason) {
      const hasEnded = pid !== undefined && kernelProcessFiles.read(`/proc/${pid}/stat`) === undefined;
      if (!hasEnded)
        logger.error('process could not be moved into cgroup', { cgroup: path, pid, err: messageOf(reason) });
    }
  };
  attempt(() => {
    tree.create(name);
  });
  for (const pid of pids)
    attempt(() => {
      tree.add(name, pid);
    }, pid);
}

/** Moves the agent and the processes without a cgroup into the configured cgroups, and sets the agent's `oom_score_adj`. */
function settle(tree: CgroupTree, settings: SystemCgroupSettings, logger: Logger): void {
  const { kubelet, misc, oomScoreAdj } = settings;
  if (kubelet !== undefined) moveInto(tree, kubelet, [process.pid], logger);
  if (misc !== undefined) moveInto(tree, misc, strayProcesses(tree, kernelProcessFiles), logger);
  if (oomScoreAdj === undefined) return;
  try {
    kernelCgroupFiles.write('/proc/self/oom_score_adj', String(oomScoreAdj));
  } catch (reason) {
    logger.info('oom_score_adj of the agent could not be set', { oomScoreAdj, err: messageOf(reason) });
  }
}

/** Makes the readers of cgroup statistics. */
function measuring(
  { tree, kubepods }: NodeCgroups,
  host: CgroupHost,
  settings: SystemCgroupSettings,
  { clock, logger }: Pick<CommonParts, 'clock' | 'logger'>,
): Required<Pick<NodePodCgroups, 'stats' | 'readings'>> {
  const plain = new CgroupTree({ files: kernelCgroupFiles, host, driver: 'cgroupfs' });
  settle(plain, settings, logger);
  const own = kernelCgroupFiles.read('/proc/self/cgroup') ?? '';
  const system = systemCgroups(settings, own, host.version);
  const meminfo = (): string | undefined => kernelCgroupFiles.read('/proc/meminfo');
  const measured = { tree, version: host.version, kubepods };
  return {
    stats: new CgroupStats({ ...measured, clock, meminfo, system: { tree: plain, cgroups: system } }),
    readings: new CgroupReadings({ ...measured, plain, system, files: kernelProcessFiles, root: '/' }),
  };
}

/** Connects to systemd. @throws {AgentError} `failed_precondition` when systemd does not run here */
function systemdUnits({ version }: CgroupHost): SystemdUnits {
  if (kernelCgroupFiles.exists('/run/systemd/system')) return new SystemdUnits(hostPrograms, version);
  const message = 'systemd not running on this host, cannot use systemd cgroups manager';
  throw new AgentError('failed_precondition', message);
}

/** Makes the pods' cgroups when the options request them; otherwise the runtime places containers. */
export async function buildPodCgroups(
  options: Pick<AgentOptions, 'cgroups' | 'node' | 'nodeName'>,
  common: Pick<CommonParts, 'clock' | 'logger' | 'recorder'>,
  machine: MeasuredMachine,
  controller: Pick<PodsController, 'startedEngines'>,
  volumes: Pick<PodVolumes, 'hasVolumes'>,
): Promise<NodePodCgroups> {
  const { nodeName } = options;
  const { clock, logger, recorder } = common;
  const cgroups = typeof options.cgroups === 'function' ? await options.cgroups() : options.cgroups;
  const host = cgroups && detectCgroups(kernelCgroupFiles);
  if (!host) return { pods: {}, cgroupParent: () => '' };
  const activePods = (): readonly Pod[] => controller.startedEngines?.allocationManager.allocatedPods() ?? [];
  const files = kernelCgroupFiles;
  const units = cgroups.driver === 'systemd' ? { units: systemdUnits(host) } : {};
  const node = new NodeCgroups({ files, host, clock, logger, activePods, ...units }, cgroups);
  const tell: TellOfEnforcement = (type, message) => {
    const reason = type === 'Normal' ? 'NodeAllocatableEnforced' : 'FailedNodeAllocatableEnforcement';
    recorder.event(nodeRefOf(nodeName), type, reason, message);
  };
  await node.start(allPodsLimits(machine, options.node ?? {}, cgroups.enforceAllocatable === true));
  const isEnforced = await enforceOnPods(node, tell);
  await enforceReserved(node.driven, cgroups.driver, cgroups.reserved ?? [], tell);
  return {
    keepEnforced: (signal) => keepEnforced({ node, clock, logger, tell }, isEnforced, signal),
    ...measuring(node, host, cgroups.system ?? {}, common),
    cgroupParent: (pod) => node.cgroupParent(pod),
    podCgroup: node,
    pods: {
      cgroups: node,
      podCgroupConfig: (pod) => node.config(pod),
      cleanupNode: () => {
        const found = node.snapshot();
        return (possiblyRunning) =>
          node.destroyOrphans(found, possiblyRunning, (uid) => volumes.hasVolumes(uid));
      },
    },
  };
}
