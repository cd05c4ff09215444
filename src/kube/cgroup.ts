import { ownMember, setOwn } from '../base/own.ts';
import { posix } from 'node:path';
import { goQuote } from '../go/go-quote.ts';
import { uidOf } from './names.ts';
import { isZeroQuantity, milliValueOf, valueOf, zeroQuantity, type Quantity } from './resources/quantity.ts';
import {
  type Amounts,
  amountsOf,
  hasPodLevelResources,
  hugePageSizeOf,
  podLimits,
  podRequests,
  type QosClass,
  qosClassOf,
} from './resources/resources.ts';
import { isRestartableInitContainer } from './restart-policy.ts';
import type { Pod } from './types.ts';

const minShares = 2;
const maxShares = 262_144;
const minQuota = 1000;
/** The kernel's default CFS period in microseconds. */
export const defaultCpuPeriodMicros = 100_000;

/** Converts a CPU request in millicores to CPU shares (cgroup v1): 2 to 262144 (kubelet `MilliCPUToShares`). */
export function milliCpuToShares(milliCpu: number): number {
  if (milliCpu === 0) return minShares;
  return Math.min(maxShares, Math.max(minShares, Math.trunc((milliCpu * 1024) / 1000)));
}

/**
 * Converts a CPU limit in millicores to a CFS quota in microseconds per period: 0 without a limit, otherwise at least 1000 (kubelet
 * `MilliCPUToQuota`).
 */
export function milliCpuToQuota(milliCpu: number, periodMicros: number): number {
  if (milliCpu === 0) return 0;
  return Math.max(minQuota, Math.trunc((milliCpu * periodMicros) / 1000));
}

/** Converts CPU shares to millicores, rounded up. */
export const sharesToMilliCpu = (shares: number): number =>
  shares >= minShares ? Math.ceil((shares * 1000) / 1024) : 0;

/** Converts a CFS quota to millicores; -1 (no quota) gives 0. */
export const quotaToMilliCpu = (quotaMicros: number, periodMicros: number): number =>
  quotaMicros === -1 ? 0 : Math.trunc((quotaMicros * 1000) / periodMicros);

/** Converts CPU shares to cpu.weight (cgroup v2): maps 2…262144 to 1…10000 (kubelet `getCPUWeight`). */
export const sharesToWeight = (shares: number): number =>
  shares === 0
    ? 0
    : Math.trunc(1 + ((Math.min(shares, maxShares) - minShares) * 9999) / (maxShares - minShares));

/** Converts cpu.weight to CPU shares (kubelet `cpuWeightToCPUShares`). */
export const weightToShares = (weight: number): number =>
  Math.trunc(((weight - 1) * (maxShares - minShares)) / 9999) + minShares;

/** How cgroups are named and created: as directories, or as systemd slices. */
export type CgroupDriver = 'cgroupfs' | 'systemd';

/** A cgroup by its path components, independent of the driver; the root is the empty list. */
export type CgroupName = readonly string[];

const qosFolder: Readonly<Record<QosClass, readonly string[]>> = {
  Guaranteed: [],
  Burstable: ['burstable'],
  BestEffort: ['besteffort'],
};

/** Returns the cgroup of all pods: `kubepods` below the root, or the root itself without cgroups per QoS. */
export const kubepodsCgroup = (root: CgroupName, cgroupsPerQos: boolean): CgroupName =>
  cgroupsPerQos ? [...root, 'kubepods'] : root;

/** Returns the cgroup of a QoS class, below the cgroup of all pods. */
export const qosCgroup = (kubepods: CgroupName, qos: QosClass): CgroupName => [
  ...kubepods,
  ...qosFolder[qos],
];

/** Returns the cgroup of a pod (kubelet `GetPodContainerName`). */
export const podCgroup = (kubepods: CgroupName, pod: Pod): CgroupName => [
  ...qosCgroup(kubepods, qosClassOf(pod)),
  `pod${uidOf(pod)}`,
];

/** Returns a cgroup's path below the cgroup mount, as the driver spells it. */
export function cgroupPath(name: CgroupName, driver: CgroupDriver): string {
  return driver === 'cgroupfs' ? posix.join('/', ...name) : `/${systemdSlices(name).join('/')}`;
}

/** Returns the last slice only, the form in which CRI runtimes with the systemd driver expect a cgroup parent. */
export const systemdSlice = (name: CgroupName): string => systemdSlices(name).at(-1) ?? '-.slice';

/** Each slice name contains its parents' names; dashes in a component become underscores. */
function systemdSlices(name: CgroupName): string[] {
  const parts = name.map((part) => part.replaceAll('-', '_'));
  return parts.map((_, i) => `${parts.slice(0, i + 1).join('-')}.slice`);
}

/** Parses a path of the cgroupfs driver. */
export const cgroupFromPath = (path: string): CgroupName => path.split('/').filter((part) => part !== '');

/** Parses a path of the systemd driver: the components of its last slice. */
export function cgroupFromSlice(path: string): CgroupName {
  const slice = (path.split('/').at(-1) ?? '').replace(/\.slice$/, '');
  return slice === '' || slice === '-' ? [] : slice.split('-').map((part) => part.replaceAll('_', '-'));
}

/** Formats a cgroup name as Go prints it. */
export const cgroupNameText = (name: CgroupName): string => `[${name.map(goQuote).join(' ')}]`;

/** True when a path was created by the systemd driver. */
export const isSystemdStyle = (path: string): boolean => path.endsWith('.slice');

/** Returns the UID of the pod that a cgroup belongs to; `undefined` for other cgroups. */
export function podUidOfCgroup(name: CgroupName): string | undefined {
  const last = name.at(-1) ?? '';
  return last.startsWith('pod') && last.length > 3 ? last.slice(3) : undefined;
}

/** Settings of a pod's cgroup; an absent member is left unchanged. */
export interface PodCgroupConfig {
  readonly cpuShares: number;
  /** CPU quota per period in microseconds; -1 is unlimited. */
  readonly cpuQuota?: number;
  /** CPU period in microseconds. */
  readonly cpuPeriod?: number;
  /** Memory limit in bytes. */
  readonly memory?: number;
  /** Limit in bytes by huge page size in bytes. */
  readonly hugePageLimit: Readonly<Record<string, number>>;
}

/**
 * Returns the cgroup settings of a pod. A burstable pod is limited only in resources that each of its containers (or the pod as a whole)
 * limits.
 *
 * Follows kubelet `cm.ResourceConfigForPod`.
 */
export function podCgroupConfig(
  pod: Pod,
  enforceCpuLimits: boolean,
  cpuPeriodMicros: number = defaultCpuPeriodMicros,
): PodCgroupConfig {
  const qos = qosClassOf(pod);
  const limits = podLimits(pod);
  const requests = podRequests(pod);
  const hugePageLimit = hugePageLimits(requests);
  if (qos === 'BestEffort') return { cpuShares: minShares, hugePageLimit };
  const milli = (list: Amounts): number => milliValueOf(list['cpu'] ?? zeroQuantity);
  const cpu = {
    cpuQuota: enforceCpuLimits ? milliCpuToQuota(milli(limits), cpuPeriodMicros) : -1,
    cpuPeriod: cpuPeriodMicros,
  };
  const memory = valueOf(limits['memory'] ?? zeroQuantity);
  const limited = (resource: string): boolean => qos === 'Guaranteed' || isLimited(pod, resource);
  return {
    cpuShares: milliCpuToShares(milli(requests)),
    ...(limited('cpu') && cpu),
    ...(limited('memory') && { memory }),
    hugePageLimit,
  };
}

/**
 * True when each container, or the pod as a whole, limits a resource; an init container counts together with the sidecars started before
 * it.
 */
function isLimited(pod: Pod, resource: string): boolean {
  const limits = (list: Readonly<Record<string, string>> | undefined): boolean =>
    !isZeroQuantity(ownMember(amountsOf(list), resource) ?? zeroQuantity);
  if (hasPodLevelResources(pod) && limits(pod.spec?.resources?.limits)) return true;
  let sidecarLimited = false;
  const initLimited = (pod.spec?.initContainers ?? []).every((container) => {
    const own = limits(container.resources?.limits);
    const step = own || sidecarLimited;
    if (isRestartableInitContainer(container)) sidecarLimited ||= own;
    return step;
  });
  return (
    initLimited && (pod.spec?.containers ?? []).every((container) => limits(container.resources?.limits))
  );
}

/** Returns the huge page limits; they equal the requests, as huge pages are never overcommitted. */
function hugePageLimits(requests: Amounts): Readonly<Record<string, number>> {
  const sizes = Object.entries(requests).flatMap(([name, amount]): [Quantity, Quantity][] => {
    const size = hugePageSizeOf(name);
    return size ? [[size, amount]] : [];
  });
  const total: Record<string, number> = {};
  for (const [size, amount] of sizes) {
    const key = String(valueOf(size));
    setOwn(total, key, (ownMember(total, key) ?? 0) + valueOf(amount));
  }
  return total;
}
