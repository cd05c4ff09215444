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

/** One signal, as measured. */
export interface Observation {
  readonly available: Quantity;
  readonly capacity: Quantity;
  /** When it was measured, ms since the epoch; absent: not said. */
  readonly at?: number;
}

/** What was measured; a signal that is absent cannot be judged. */
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

/** The thresholds with those of the containers' file system, and a word on one that was set by hand and is replaced. */
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
 * Containers lie where images or the node's files lie, so the thresholds of that file system hold for theirs as well; what was set
 * for `containerfs` gives way. Where the source sets none, the copy is one that is never met.
 *
 * Follows kubelet `eviction.UpdateContainerFsThresholds`.
 */
export function withContainerFsThresholds(
  thresholds: readonly Threshold[],
  { dedicatedImageFs, splitContainerFs }: FileSystemLayout,
): ContainerFsThresholds {
  let result = thresholds;
  // a split without an image file system does not exist
  const source = dedicatedImageFs && !splitContainerFs ? 'imagefs' : 'nodefs';
  const known = dedicatedImageFs || !splitContainerFs;
  for (const { part, hard } of kinds) {
    const own = lastOf(thresholds, `containerfs.${part}`, hard);
    if (!known) continue;
    const copy = copyFor(`containerfs.${part}`, thresholds[lastOf(thresholds, `${source}.${part}`, hard)]);
    result = own >= 0 ? result.with(own, copy) : [...result, copy];
  }
  const given = thresholds.findLast(({ signal }) => signal.startsWith('containerfs.'));
  return { thresholds: result, ...(given && { ignored: ignoredText(given) }) };
}

const ignoredText = (given: Threshold): string =>
  `found ${given.signal} for ${isHardThreshold(given) ? 'hard' : 'soft'} eviction. ignoring`;

const lastOf = (thresholds: readonly Threshold[], signal: Signal, hard: boolean): number =>
  thresholds.findLastIndex((each) => each.signal === signal && isHardThreshold(each) === hard);

const copyFor = (signal: Signal, source: Threshold | undefined): Threshold =>
  source ? { ...source, signal } : { signal, value: {}, gracePeriodMs: 0 };
