import type { Mounter } from '../../src/containers/volumes/mounter.ts';

/** Mounts nothing, and knows of no mount: what a test looks at it puts in the place of a member. */
export const quietMounter: Mounter = {
  mountTmpfs: async () => undefined,
  mountHugePages: async () => undefined,
  mountNfs: async () => undefined,
  bindMount: async () => undefined,
  unmount: async () => undefined,
  isMountPoint: () => false,
  mountsUnder: () => [],
};
