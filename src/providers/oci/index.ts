/** Containers from images, without a container runtime: `podtender/providers/oci`. Re-exports only. */
export { admitOciPod, type OciAdmissionHost } from './admission.ts';
export { importImages, type ImportOptions } from './archive.ts';
export { type Delegation, type LimitController, limitControllers } from './delegation.ts';
export { detectIsolation, type Isolation, isolationKinds, type IsolationKind } from './isolation.ts';
export {
  delegatedHere,
  openOciRuntime,
  openStore,
  type OciRuntime,
  type OciRuntimeDeps,
  type OciSettings,
} from './oci-runtime.ts';
export type { ImagesInUse, ImageStore, StoredImage } from './store.ts';
export type { PullBlob, PullImage, PullOptions, PullProgress } from './image-service.ts';
export { pullInto, type PullDeps } from './pull.ts';
export {
  type Endpoint,
  type EndpointCapability,
  endpointsIn,
  type EndpointTls,
  type FindEndpoints,
  registryItself,
} from './registry-hosts.ts';
export {
  type RegistryRequest,
  type RegistryResponse,
  RegistryTransport,
  type TransportSettings,
} from './registry-transport.ts';
