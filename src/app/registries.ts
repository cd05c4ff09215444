import { machineAuthorities } from '../pki/authorities.ts';
import {
  endpointsIn,
  type FindEndpoints,
  registryItself,
  RegistryTransport,
} from '../providers/oci/index.ts';

/** How registries are reached. */
export interface Registries {
  /** The machine's architecture, in the words of Node.js. */
  readonly arch: string;
  readonly transport: RegistryTransport;
  readonly endpoints: FindEndpoints;
}

/**
 * Returns how this machine reaches registries: through the proxies of the environment, with the authorities that the machine trusts.
 *
 * @param dir directory of mirrors, in containerd's format; absent: registries have none
 */
export const registries = (dir?: string): Registries => ({
  arch: process.arch,
  transport: new RegistryTransport({ proxies: process.env, authorities: machineAuthorities }),
  endpoints: dir === undefined || dir === '' ? registryItself : endpointsIn(dir),
});
