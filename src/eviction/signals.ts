/** A signal that is compared with a threshold. Names as in the settings `evictionHard` and `evictionSoft`. */
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

/** The resource that an eviction frees, as in messages and Events. */
export type StarvedResource = 'memory' | 'ephemeral-storage' | 'inodes' | 'pids';

/** Pressure conditions of a node. */
export type PressureCondition = 'MemoryPressure' | 'DiskPressure' | 'PIDPressure';

interface SignalFacts {
  readonly resource: StarvedResource;
  readonly condition: PressureCondition;
}

/** Resource and pressure condition of each signal (kubelet `signalToResource`, `signalToNodeCondition`). */
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

/** True when a text is the name of a signal. */
export const isSignal = (text: string): text is Signal => Object.hasOwn(signalFacts, text);

/** True for memory signals, which come first when several thresholds are met, as OOM kills are immediate (kubelet `byEvictionPriority`). */
export const isMemorySignal = (signal: Signal): boolean => signalFacts[signal].resource === 'memory';
