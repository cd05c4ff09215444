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

/** CPU shares (cgroup v1) of a request in milli CPU: 2 to 262144 (kubelet `MilliCPUToShares`). */
export function milliCpuToShares(milliCpu: number): number {
  if (milliCpu === 0) return minShares;
  return Math.min(maxShares, Math.max(minShares, Math.trunc((milliCpu * 1024) / 1000)));
}

/** CFS quota in microseconds per period of a limit in milli CPU: 0 for none, else at least 1000 (kubelet `MilliCPUToQuota`). */
export function milliCpuToQuota(milliCpu: number, periodMicros: number): number {
  if (milliCpu === 0) return 0;
  return Math.max(minQuota, Math.trunc((milliCpu * periodMicros) / 1000));
}

/** Milli CPU that shares stand for, rounded up. */
export const sharesToMilliCpu = (shares: number): number =>
  shares >= minShares ? Math.ceil((shares * 1000) / 1024) : 0;

/** Milli CPU that a quota stands for; -1 (none) is 0. */
export const quotaToMilliCpu = (quotaMicros: number, periodMicros: number): number =>
  quotaMicros === -1 ? 0 : Math.trunc((quotaMicros * 1000) / periodMicros);

/** The cpu.weight (cgroup v2) of shares: 2…262144 laid over 1…10000 (kubelet `getCPUWeight`). */
export const sharesToWeight = (shares: number): number =>
  shares === 0
    ? 0
    : Math.trunc(1 + ((Math.min(shares, maxShares) - minShares) * 9999) / (maxShares - minShares));

/** The shares that a cpu.weight stands for (kubelet `cpuWeightToCPUShares`). */
export const weightToShares = (weight: number): number =>
  Math.trunc(((weight - 1) * (maxShares - minShares)) / 9999) + minShares;

/** How cgroups are named and made: by directory, or as systemd slices. */
export type CgroupDriver = 'cgroupfs' | 'systemd';

/** A cgroup as its path components, independent of the driver; the root is the empty list. */
export type CgroupName = readonly string[];

const qosFolder: Readonly<Record<QosClass, readonly string[]>> = {
  Guaranteed: [],
  Burstable: ['burstable'],
  BestEffort: ['besteffort'],
};

/** The cgroup under which all pods live: `kubepods` below the given root, or the root itself without cgroups per QoS. */
export const kubepodsCgroup = (root: CgroupName, cgroupsPerQos: boolean): CgroupName =>
  cgroupsPerQos ? [...root, 'kubepods'] : root;

/** The cgroup of a QoS class below the cgroup of all pods. */
export const qosCgroup = (kubepods: CgroupName, qos: QosClass): CgroupName => [
  ...kubepods,
  ...qosFolder[qos],
];

/** The cgroup of a pod (kubelet `GetPodContainerName`). */
export const podCgroup = (kubepods: CgroupName, pod: Pod): CgroupName => [
  ...qosCgroup(kubepods, qosClassOf(pod)),
  `pod${uidOf(pod)}`,
];

/** The path below the cgroup mount that a driver uses for a name. */
export function cgroupPath(name: CgroupName, driver: CgroupDriver): string {
  return driver === 'cgroupfs' ? posix.join('/', ...name) : `/${systemdSlices(name).join('/')}`;
}

/** As a CRI runtime with the systemd driver wants a pod's parent: the last slice alone. */
export const systemdSlice = (name: CgroupName): string => systemdSlices(name).at(-1) ?? '-.slice';

/** Each slice carries its parents' names; dashes in a part are written as underscores. */
function systemdSlices(name: CgroupName): string[] {
  const parts = name.map((part) => part.replaceAll('-', '_'));
  return parts.map((_, i) => `${parts.slice(0, i + 1).join('-')}.slice`);
}

/** A name from a path of the cgroupfs driver. */
export const cgroupFromPath = (path: string): CgroupName => path.split('/').filter((part) => part !== '');

/** A name from a path of the systemd driver: the parts of its last slice. */
export function cgroupFromSlice(path: string): CgroupName {
  const slice = (path.split('/').at(-1) ?? '').replace(/\.slice$/, '');
  return slice === '' || slice === '-' ? [] : slice.split('-').map((part) => part.replaceAll('_', '-'));
}

/** A name as Go prints it. */
export const cgroupNameText = (name: CgroupName): string => `[${name.map(goQuote).join(' ')}]`;

/** Whether a path was made by the systemd driver. */
export const isSystemdStyle = (path: string): boolean => path.endsWith('.slice');

/** The UID of the pod whose cgroup this is; `undefined` when it is none. */
export function podUidOfCgroup(name: CgroupName): string | undefined {
  const last = name.at(-1) ?? '';
  return last.startsWith('pod') && last.length > 3 ? last.slice(3) : undefined;
}

/** What a pod's cgroup is set to; an absent member is left as the kernel has it. */
export interface PodCgroupConfig {
  readonly cpuShares: number;
  /** Microseconds of CPU per period; -1 is unlimited. */
  readonly cpuQuota?: number;
  /** Microseconds. */
  readonly cpuPeriod?: number;
  /** Bytes. */
  readonly memory?: number;
  /** Bytes allowed by page size in bytes. */
  readonly hugePageLimit: Readonly<Record<string, number>>;
}

/**
 * The cgroup settings of a whole pod. A burstable pod is limited only in what each of its containers (or the pod as a whole) limits.
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

/** Whether each container, or the pod as a whole, limits a resource; an init step counts together with the sidecars that it starts beside. */
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

/** Huge pages are never overcommitted: what is requested is the limit. */
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
