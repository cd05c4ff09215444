import type { Container, EphemeralContainer, Pod, PodSpec, Volume } from '../types.ts';

/** Feature gates whose fields the API server drops while they are off. Absent means off, the default of Kubernetes 1.36. */
export interface PodFeatures {
  /** `lifecycle.stopSignal` (gate ContainerStopSignals). */
  readonly containerStopSignals?: boolean;
  /** `podCertificate` sources of projected volumes (gate PodCertificateRequest). */
  readonly podCertificates?: boolean;
  /** `clusterTrustBundle` sources of projected volumes (gate ClusterTrustBundleProjection). */
  readonly trustBundles?: boolean;
}

/**
 * Returns a pod without the fields of features that are off; fields that the stored pod already uses may stay (`keeps`).
 *
 * Follows Kubernetes `DropDisabledPodFields`.
 */
export function dropDisabledFields(pod: Pod, features: PodFeatures = {}, keeps: PodFeatures = {}): Pod {
  if (!pod.spec) return pod;
  const signals = [features, keeps].some((set) => set.containerStopSignals === true);
  const certificates = [features, keeps].some((set) => set.podCertificates === true);
  const bundles = [features, keeps].some((set) => set.trustBundles === true);
  const { schedulingGroup: _group, ...grouped } = pod.spec as PodSpec & {
    readonly schedulingGroup?: unknown;
  };
  const unsignalled = signals ? grouped : withoutStopSignals(grouped);
  const { volumes } = unsignalled;
  if ((certificates && bundles) || !volumes) return { ...pod, spec: unsignalled };
  const remaining = bundles ? volumes : volumes.map((volume) => withoutSource(volume, 'clusterTrustBundle'));
  const certified = certificates
    ? remaining
    : remaining.map((volume) => withoutSource(volume, 'podCertificate'));
  return { ...pod, spec: { ...unsignalled, volumes: certified } };
}

function withoutStopSignals(spec: PodSpec): PodSpec {
  const { initContainers, ephemeralContainers } = spec;
  return {
    ...spec,
    containers: spec.containers.map(withoutStopSignal),
    ...(initContainers && { initContainers: initContainers.map(withoutStopSignal) }),
    ...(ephemeralContainers && { ephemeralContainers: ephemeralContainers.map(withoutStopSignal) }),
  };
}

function withoutStopSignal<T extends Container | EphemeralContainer>(container: T): T {
  if (container.lifecycle?.stopSignal === undefined) return container;
  const { stopSignal: _signal, ...lifecycle } = container.lifecycle;
  if (Object.keys(lifecycle).length > 0) return { ...container, lifecycle };
  const { lifecycle: _lifecycle, ...rest } = container;
  return rest as T;
}

/** Returns a volume without sources of one kind; the entry stays, if empty. */
function withoutSource(volume: Volume, kind: 'clusterTrustBundle' | 'podCertificate'): Volume {
  const sources = volume.projected?.sources;
  if (!sources) return volume;
  const remaining = sources.map(({ [kind]: _dropped, ...source }) => source);
  return { ...volume, projected: { ...volume.projected, sources: remaining } };
}
