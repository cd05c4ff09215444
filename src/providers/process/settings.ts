import type { HostImage } from './images.ts';

/** What the process provider is told. Every path is absolute. */
export interface ProcessSettings {
  /** Its own directory: records, raw output, working directories. Nothing else may write there. */
  readonly dataDir: string;
  /** The address that pods are given: they share the host's network. */
  readonly hostIp: string;
  /** Image name → host program, over {@link defaultImages}; `null` takes a default away. */
  readonly images?: Readonly<Record<string, HostImage | null>>;
  /** The Node.js program behind the image `node`; default: the one that runs the agent. */
  readonly nodePath?: string;
  /** PATH of a container that sets none. */
  readonly path?: string;
  /** The shell that runs the supervisor and what launches programs; POSIX is enough. */
  readonly shell?: string;
}

/** PATH where neither the container nor the settings say one: what most images have. */
export const defaultPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** The shell where the settings name none. */
export const defaultShell = '/bin/sh';
