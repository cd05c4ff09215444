import type { FileSystemLayout, Signal } from './signals.ts';

/** What the node itself can give up before a pod must go. */
export type NodeReclaim = 'deadContainers' | 'unusedImages';

/**
 * What to free on the node when `signal` is short, in order (R250). With images apart, the node's own file system holds nothing that
 * could be freed.
 *
 * Follows kubelet `buildSignalToNodeReclaimFuncs`.
 */
export function nodeReclaimsFor(signal: Signal, layout: FileSystemLayout): readonly NodeReclaim[] {
  const fileSystem = signal.split('.')[0];
  if (fileSystem !== 'nodefs' && fileSystem !== 'imagefs' && fileSystem !== 'containerfs') return [];
  return tableOf(layout)[fileSystem];
}

type FileSystemReclaims = Readonly<Record<'nodefs' | 'imagefs' | 'containerfs', readonly NodeReclaim[]>>;

const both = ['deadContainers', 'unusedImages'] as const;

const tables: Readonly<Record<'together' | 'images' | 'split', FileSystemReclaims>> = {
  together: { nodefs: both, imagefs: both, containerfs: both },
  images: { nodefs: [], imagefs: both, containerfs: both },
  split: { nodefs: ['deadContainers'], imagefs: ['unusedImages'], containerfs: ['deadContainers'] },
};

const tableOf = ({ dedicatedImageFs, splitContainerFs }: FileSystemLayout): FileSystemReclaims =>
  tables[dedicatedImageFs ? (splitContainerFs ? 'split' : 'images') : 'together'];
