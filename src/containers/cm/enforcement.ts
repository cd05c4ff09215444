import { isAborted } from '../../base/abort.ts';
import type { Clock } from '../../base/clock.ts';
import { AgentError, messageOf } from '../../base/errors.ts';
import { goQuote } from '../../go/go-quote.ts';
import type { Logger } from '../../base/logger.ts';
import {
  type CgroupDriver,
  cgroupFromPath,
  cgroupFromSlice,
  type CgroupName,
  cgroupNameText,
  milliCpuToShares,
} from '../../kube/cgroup.ts';
import { milliValueOf } from '../../kube/resources/quantity.ts';
import { amountsOf, type ResourceList } from '../../kube/resources/resources.ts';
import { cgroupLimits } from './allocatable.ts';
import type { DrivenCgroups } from './driven.ts';
import type { CgroupSettings } from './settings.ts';

/** A cgroup of daemons that is created outside the agent; its limits are set to the reservation for these daemons. */
export interface ReservedCgroup {
  readonly of: 'system' | 'kube';
  /** Path below the cgroup mount, as configured; with systemd its last element names a slice. */
  readonly cgroup: string;
  readonly amounts: ResourceList;
  /** Enforce CPU weight only, the resource that can be taken back without killing a process. */
  readonly isCompressible: boolean;
}

/** The kubelet settings that select where node allocatable is enforced. */
export interface EnforcementSettings {
  readonly enforceNodeAllocatable: readonly string[];
  readonly systemReserved?: ResourceList;
  readonly systemReservedCgroup?: string;
  readonly kubeReserved?: ResourceList;
  readonly kubeReservedCgroup?: string;
}

/** Returns the daemons' cgroups to be limited to their reservations, in the order in which the kubelet processes them. */
export function reservedCgroups(config: EnforcementSettings): readonly ReservedCgroup[] {
  const {
    systemReserved = {},
    systemReservedCgroup = '',
    kubeReserved = {},
    kubeReservedCgroup = '',
  } = config;
  const all = [
    ['system-reserved', 'system', systemReservedCgroup, systemReserved, false],
    ['kube-reserved', 'kube', kubeReservedCgroup, kubeReserved, false],
    ['system-reserved-compressible', 'system', systemReservedCgroup, systemReserved, true],
    ['kube-reserved-compressible', 'kube', kubeReservedCgroup, kubeReserved, true],
  ] as const;
  return all
    .filter(([key]) => config.enforceNodeAllocatable.includes(key))
    .map(([, of, cgroup, amounts, isCompressible]) => ({ of, cgroup, amounts, isCompressible }));
}

/** Reports the outcome of an enforcement; the caller records it as an Event of the node. */
export type TellOfEnforcement = (type: 'Normal' | 'Warning', message: string) => void;

/**
 * Limits the daemons' cgroups to their reservations (kubelet `enforceNodeAllocatableCgroups`).
 *
 * @throws {AgentError} `failed_precondition` when a cgroup does not exist or the kernel rejects a limit; the node does not start then
 */
export async function enforceReserved(
  cgroups: Pick<DrivenCgroups, 'missing' | 'set'>,
  driver: CgroupDriver,
  reserved: readonly ReservedCgroup[],
  tell: TellOfEnforcement,
): Promise<void> {
  for (const one of reserved) {
    const name = nameOf(one.cgroup, driver);
    try {
      const missing = cgroups.missing(name);
      if (missing !== undefined) throw new AgentError('failed_precondition', missing);
      await cgroups.set(name, limitsOf(one));
    } catch (reason) {
      const what = `${one.of === 'system' ? 'System' : 'Kube'} Reserved${one.isCompressible ? ' Compressible' : ''}`;
      const message = `Failed to enforce ${what} Cgroup Limits on ${goQuote(one.cgroup)}: ${messageOf(reason)}`;
      tell('Warning', message);
      throw new AgentError('failed_precondition', message, { cause: reason });
    }
    tell('Normal', `Updated limits on ${one.of} reserved cgroup ${one.cgroup}`);
  }
}

const nameOf = (cgroup: string, driver: CgroupDriver): CgroupName =>
  driver === 'systemd' ? cgroupFromSlice(cgroup) : cgroupFromPath(cgroup);

function limitsOf({ amounts, isCompressible }: ReservedCgroup): CgroupSettings {
  const { cpu, ...rest } = amountsOf(amounts);
  if (isCompressible) return cpu ? { cpuShares: milliCpuToShares(milliValueOf(cpu)) } : {};
  return { ...cgroupLimits({ ...rest, ...(cpu && { cpu }) }), hugePageLimit: {} };
}

/** The part of the node's cgroups that enforcement needs. */
interface PodsTogether {
  readonly kubepods: CgroupName;
  enforce(): Promise<string | undefined>;
  updateQos(): Promise<void>;
}

/** Sets the limits of the cgroup that holds all pods. @returns true when the kernel accepted them */
export async function enforceOnPods(node: PodsTogether, tell: TellOfEnforcement): Promise<boolean> {
  const fault = await node.enforce();
  if (fault === undefined) tell('Normal', 'Updated Node Allocatable limit across pods');
  else tell('Warning', `Failed to update Node Allocatable Limits ${cgroupNameText(node.kubepods)}: ${fault}`);
  return fault === undefined;
}

interface EnforcementDeps {
  readonly node: PodsTogether;
  readonly clock: Pick<Clock, 'sleep'>;
  readonly logger: Logger;
  readonly tell: TellOfEnforcement;
}

const keepPeriodMs = 60_000;

/**
 * Updates the QoS cgroups every minute, and retries the limits of all pods until the kernel accepts them. @param wasEnforced true when the
 * kernel already accepted them
 */
export async function keepEnforced(
  { node, clock, logger, tell }: EnforcementDeps,
  wasEnforced: boolean,
  signal: AbortSignal,
): Promise<void> {
  let isEnforced = wasEnforced;
  for (;;) {
    await clock.sleep(keepPeriodMs, signal).catch(() => undefined);
    if (isAborted(signal)) return;
    isEnforced ||= await enforceOnPods(node, tell);
    try {
      await node.updateQos();
    } catch (reason) {
      logger.warn('the cgroups above pods could not be updated', { err: messageOf(reason) });
    }
  }
}
