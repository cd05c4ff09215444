/** The entry point `podtender/provider`, the API for authors of providers. Re-exports only. */
export * from './cri-messages.ts';
export type * from './container-runtime.ts';
export * from './capabilities.ts';
export type * from './hooks.ts';
export * from './logs.ts';
export type * from './middleware.ts';
export type * from './powers.ts';
export type * from './provider.ts';
export type * from './refs.ts';
export type * from './resolution.ts';
export type * from './reported.ts';
export * from './runtime-pod.ts';
export type * from './usage.ts';
export { createProvider, registerProvider, type ProviderFactory } from './registry.ts';
