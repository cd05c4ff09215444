import type { HostImage } from './images.ts';

/** Settings of the process provider. All paths are absolute. */
export interface ProcessSettings {
  /** The provider's directory for records, raw output and working directories. Nothing else may write there. */
  readonly dataDir: string;
  /** Address of pods, as they share the host's network. */
  readonly hostIp: string;
  /** Image name → host program, overriding {@link defaultImages}; `null` removes a default. */
  readonly images?: Readonly<Record<string, HostImage | null>>;
  /** The Node.js program for the image `node`; default: the one that runs the agent. */
  readonly nodePath?: string;
  /** PATH of containers that set none. */
  readonly path?: string;
  /** Shell for the supervisor and the launch scripts; POSIX is sufficient. */
  readonly shell?: string;
}

/** Shell when the settings have none. */
export const defaultShell = '/bin/sh';
