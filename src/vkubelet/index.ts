/** virtual-kubelet's contract for those who write providers: `podtender/vkubelet`. Re-exports only. */
export * from './contract.ts';
export * from './errors.ts';
export * from './reasons.ts';
