import { type Quantity, type QuantityFormat, quantityOf } from '../kube/resources/quantity.ts';
import type { Signal } from './signals.ts';
import type {
  FsStats,
  MemoryStats,
  RlimitStats,
  StatsSummary,
  FileSystemLayout,
} from '../kube/stats-summary.ts';
import { type Threshold, isHardThreshold } from './thresholds.ts';

/** A measured signal. */
export interface Observation {
  readonly available: Quantity;
  readonly capacity: Quantity;
  /** Time of the measurement, ms since the epoch; absent: unknown. */
  readonly at?: number;
}

/** Measured signals; absent ones cannot be evaluated. */
export type Observations = Readonly<Partial<Record<Signal, Observation>>>;

/** Reads the signals from a summary. Follows kubelet `eviction.makeSignalObservations`. */
export function observationsOf({ node }: StatsSummary): Observations {
  const pods = node.systemContainers?.find(({ name }) => name === 'pods');
  const fileSystems = {
    nodefs: node.fs,
    imagefs: node.runtime?.imageFs,
    containerfs: node.runtime?.containerFs,
  } as const;
  const found: [Signal, Observation | undefined][] = [
    ['memory.available', ofMemory(node.memory)],
    ['allocatableMemory.available', ofMemory(pods?.memory)],
    ['pid.available', ofProcesses(node.rlimit)],
  ];
  for (const name of ['nodefs', 'imagefs', 'containerfs'] as const) {
    found.push([`${name}.available`, ofBytes(fileSystems[name])]);
    found.push([`${name}.inodesFree`, ofInodes(fileSystems[name])]);
  }
  return Object.fromEntries(found.filter(([, observation]) => observation !== undefined));
}

function ofMemory(memory: MemoryStats | null | undefined): Observation | undefined {
  const { availableBytes, workingSetBytes, time } = memory ?? {};
  if (availableBytes == null || workingSetBytes == null) return undefined;
  return observed(availableBytes, availableBytes + workingSetBytes, { time, format: 'BinarySI' });
}

function ofBytes(fs: FsStats | null | undefined): Observation | undefined {
  const { availableBytes, capacityBytes, time } = fs ?? {};
  if (availableBytes == null || capacityBytes == null) return undefined;
  return observed(availableBytes, capacityBytes, { time, format: 'BinarySI' });
}

function ofInodes(fs: FsStats | null | undefined): Observation | undefined {
  const { inodesFree, inodes, time } = fs ?? {};
  if (inodesFree == null || inodes == null) return undefined;
  return observed(inodesFree, inodes, { time, format: 'DecimalSI' });
}

function ofProcesses(rlimit: RlimitStats | null | undefined): Observation | undefined {
  const { maxpid, curproc, time } = rlimit ?? {};
  if (maxpid == null || curproc == null) return undefined;
  return observed(maxpid - curproc, maxpid, { time, format: 'DecimalSI' });
}

function observed(
  available: number,
  capacity: number,
  { time, format }: { readonly time: string | null | undefined; readonly format: QuantityFormat },
): Observation {
  const at = time == null ? Number.NaN : Date.parse(time);
  return {
    available: quantityOf(Math.trunc(available), format),
    capacity: quantityOf(Math.trunc(capacity), format),
    ...(Number.isFinite(at) && { at }),
  };
}

/** Thresholds including those of the container file system, and a message about a configured one that is ignored. */
interface ContainerFsThresholds {
  readonly thresholds: readonly Threshold[];
  readonly ignored?: string;
}

const kinds = [
  { part: 'available', hard: true },
  { part: 'available', hard: false },
  { part: 'inodesFree', hard: true },
  { part: 'inodesFree', hard: false },
] as const;

/**
 * Adds thresholds of the container file system, copied from the file system on which containers are; configured `containerfs` thresholds
 * are ignored. Where the source has none, the copy is never met.
 *
 * Follows kubelet `eviction.UpdateContainerFsThresholds`.
 */
export function withContainerFsThresholds(
  thresholds: readonly Threshold[],
  { dedicatedImageFs, splitContainerFs }: FileSystemLayout,
): ContainerFsThresholds {
  let result = thresholds;
  // A split without an image file system does not exist.
  const source = dedicatedImageFs && !splitContainerFs ? 'imagefs' : 'nodefs';
  const isApplicable = dedicatedImageFs || !splitContainerFs;
  for (const { part, hard } of kinds) {
    const own = lastOf(thresholds, `containerfs.${part}`, hard);
    if (!isApplicable) continue;
    const copy = copyFor(`containerfs.${part}`, thresholds[lastOf(thresholds, `${source}.${part}`, hard)]);
    result = own >= 0 ? result.with(own, copy) : [...result, copy];
  }
  const configured = thresholds.findLast(({ signal }) => signal.startsWith('containerfs.'));
  return { thresholds: result, ...(configured && { ignored: ignoredText(configured) }) };
}

const ignoredText = (configured: Threshold): string =>
  `found ${configured.signal} for ${isHardThreshold(configured) ? 'hard' : 'soft'} eviction. ignoring`;

const lastOf = (thresholds: readonly Threshold[], signal: Signal, hard: boolean): number =>
  thresholds.findLastIndex((each) => each.signal === signal && isHardThreshold(each) === hard);

const copyFor = (signal: Signal, source: Threshold | undefined): Threshold =>
  source ? { ...source, signal } : { signal, value: {}, gracePeriodMs: 0 };
