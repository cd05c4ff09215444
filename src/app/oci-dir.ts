import { join } from 'node:path';

/** Returns the directory of the OCI provider in the agent's data directory. */
export const ociDir = (dataDir: string): string => join(dataDir, 'oci');
