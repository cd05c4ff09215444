/** Containers as local processes: `podtender/providers/process`. Re-exports only. */
export { admitProcessPod, type ProcessAdmissionHost } from './admission.ts';
export { defaultImages, findImage, imageTable, type HostImage } from './images.ts';
export { type ContainerRecord, readContainers, type ResolvedImage } from './record.ts';
export type { Ending, ExecPlace, LaunchContainer, Launcher, PreparedLaunch } from './launcher.ts';
export { processPowers, type ProcessPowers } from './powers.ts';
export { ProcessRuntime, type ProcessRuntimeDeps } from './runtime.ts';
export { type ProcessEvents } from './event-stream.ts';
export type { ProcessSettings } from './settings.ts';
