/** What is measured against a threshold. Names as in the settings `evictionHard` and `evictionSoft`. */
export type Signal =
  | 'memory.available'
  | 'allocatableMemory.available'
  | 'nodefs.available'
  | 'nodefs.inodesFree'
  | 'imagefs.available'
  | 'imagefs.inodesFree'
  | 'containerfs.available'
  | 'containerfs.inodesFree'
  | 'pid.available';

/** What a pod is evicted to free; the word that messages and Events use. */
export type StarvedResource = 'memory' | 'ephemeral-storage' | 'inodes' | 'pids';

/** The pressures that a node reports. */
export type PressureCondition = 'MemoryPressure' | 'DiskPressure' | 'PIDPressure';

interface SignalFacts {
  readonly resource: StarvedResource;
  readonly condition: PressureCondition;
}

/** What each signal is short of and which pressure it stands for (kubelet `signalToResource`, `signalToNodeCondition`). */
export const signalFacts: Readonly<Record<Signal, SignalFacts>> = {
  'memory.available': { resource: 'memory', condition: 'MemoryPressure' },
  'allocatableMemory.available': { resource: 'memory', condition: 'MemoryPressure' },
  'nodefs.available': { resource: 'ephemeral-storage', condition: 'DiskPressure' },
  'nodefs.inodesFree': { resource: 'inodes', condition: 'DiskPressure' },
  'imagefs.available': { resource: 'ephemeral-storage', condition: 'DiskPressure' },
  'imagefs.inodesFree': { resource: 'inodes', condition: 'DiskPressure' },
  'containerfs.available': { resource: 'ephemeral-storage', condition: 'DiskPressure' },
  'containerfs.inodesFree': { resource: 'inodes', condition: 'DiskPressure' },
  'pid.available': { resource: 'pids', condition: 'PIDPressure' },
};

/** Whether the text names a signal. */
export const isSignal = (text: string): text is Signal => Object.hasOwn(signalFacts, text);

/** Memory goes first when several thresholds are met: its shortage kills at once (kubelet `byEvictionPriority`). */
export const isMemorySignal = (signal: Signal): boolean => signalFacts[signal].resource === 'memory';
