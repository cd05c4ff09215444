/** Pods as records in memory, for tests and scale runs: `podtender/providers/memory`. Re-exports only. */
export { behaviourOf, memoryAnnotation, type MemoryBehaviour } from './behaviour.ts';
export { MemoryProvider, type MemoryCall, type MemoryProviderDeps } from './memory-provider.ts';
export { kubeletBackOff, type RestartBackOff } from './restart-back-off.ts';
