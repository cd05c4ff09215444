/** The entry point `podtender/middleware`: hooks on a pod's way, and those that ship with podtender. Re-exports only. */
export type * from '../provider/middleware.ts';
export type { MiddlewareContext, PodSelection } from './context.ts';
export * from './config-render.ts';
export * from './env-import.ts';
export * from './image-allow-list.ts';
export * from './pod-certificates.ts';
export * from './resource-filter.ts';
export { makeShipped, shippedMiddleware } from './shipped.ts';
