import type { FileSystemLayout, Signal } from './signals.ts';
import { isHardThreshold, type Threshold } from './thresholds.ts';

/** The thresholds with those of the containers' file system, and a word on one that was set by hand and is replaced. */
export interface ContainerFsThresholds {
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
