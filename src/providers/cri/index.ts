/** Containers in a CRI runtime such as containerd: `podtender/providers/cri`. Re-exports only. */
export { runtimeHealthOf, runtimeVersionText } from './health.ts';
export {
  cgroupDriverOf,
  featuresOf,
  handlersOf,
  nodeImagesOf,
  validateCri,
  type HandlerFeatures,
  type NodeImage,
} from './node.ts';
export { podEventsOf, watchPodEvents, type PodEventsDeps } from './pod-events.ts';
export { connectCri, type CriCalls, type CriDeps, type CriOptions, type CriRuntime } from './runtime.ts';
