import type { Mounter } from '../../src/containers/volumes/mounter.ts';

/** A mounter that mounts nothing and lists no mounts; a test replaces the members that it checks. */
export const quietMounter: Mounter = {
  mountTmpfs: async () => undefined,
  mountHugePages: async () => undefined,
  mountNfs: async () => undefined,
  bindMount: async () => undefined,
  unmount: async () => undefined,
  isMountPoint: () => false,
  mountsUnder: () => [],
};
