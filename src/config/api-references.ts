import type { Container, Pod, PodSpec, Volume } from '../kube/types.ts';

type Projection = NonNullable<NonNullable<Volume['projected']>['sources']>[number];

/** What needs the API server, in the order in which it is looked for. The text names it. */
const references: readonly (readonly [(spec: PodSpec) => boolean, string])[] = [
  [(spec) => Boolean(spec.serviceAccountName), 'serviceaccounts'],
  [needsSecret, 'secrets'],
  [needsConfigMap, 'configmaps'],
  [(spec) => (spec.resourceClaims ?? []).length > 0, 'resourceclaims'],
];

/** Volumes that need something else of the API server. */
const volumeReferences: readonly (readonly [keyof Volume, string])[] = [
  ['csi', 'csidrivers (via CSI volumes)'],
  ['glusterfs', 'endpoints (via glusterFS volumes)'],
  ['persistentVolumeClaim', 'persistentvolumeclaims'],
  ['ephemeral', 'persistentvolumeclaims (via ephemeral volumes)'],
];

const projectedReferences: readonly (readonly [keyof Projection, string])[] = [
  ['serviceAccountToken', 'serviceaccounts (via projected volumes)'],
  ['clusterTrustBundle', 'clustertrustbundles'],
  ['podCertificate', 'podcertificates'],
];

/** Projected sources that a static pod has, or is refused for before. */
const harmlessProjections: readonly (keyof Projection)[] = ['secret', 'configMap', 'downwardAPI'];

/**
 * Why a pod needs the API server, in the kubelet's words: a static pod must do without (R23); nothing when it does.
 *
 * Follows Kubernetes `HasAPIObjectReference`.
 */
export function apiReferenceFault({ spec }: Pod): string | undefined {
  if (!spec) return undefined;
  const kind = references.find(([needs]) => needs(spec))?.[1];
  return kind === undefined ? volumeReferenceFault(spec.volumes ?? []) : refused(kind);
}

const refused = (kind: string): string => `static pods may not reference ${kind}`;

function volumeReferenceFault(volumes: readonly Volume[]): string | undefined {
  for (const volume of volumes) {
    const own = volumeReferences.find(([source]) => volume[source] !== undefined);
    if (own) return refused(own[1]);
    for (const source of projectionsOf(volume)) {
      const found = projectedReferences.find(([kind]) => source[kind] !== undefined);
      if (found) return refused(found[1]);
      if (!harmlessProjections.some((kind) => source[kind] !== undefined))
        return `unknown source for projected volume "${volume.name}"`;
    }
  }
  return undefined;
}

const containersOf = (spec: PodSpec): readonly Pick<Container, 'env' | 'envFrom'>[] => [
  ...(spec.initContainers ?? []),
  ...spec.containers,
  ...(spec.ephemeralContainers ?? []),
];

const projectionsOf = (volume: Volume): readonly Projection[] => volume.projected?.sources ?? [];

function needsSecret(spec: PodSpec): boolean {
  return (
    (spec.imagePullSecrets ?? []).some(({ name = '' }) => name !== '') ||
    containersOf(spec).some(
      ({ env = [], envFrom = [] }) =>
        envFrom.some(({ secretRef }) => secretRef) || env.some(({ valueFrom }) => valueFrom?.secretKeyRef),
    ) ||
    (spec.volumes ?? []).some(hasSecret)
  );
}

/** Volume sources with a reference to a secret. */
const secretSources = ['cephfs', 'cinder', 'flexVolume', 'iscsi', 'rbd', 'scaleIO', 'storageos'] as const;

function hasSecret(volume: Volume): boolean {
  return (
    volume.secret !== undefined ||
    volume.azureFile !== undefined ||
    volume.csi?.nodePublishSecretRef !== undefined ||
    secretSources.some((source) => volume[source]?.secretRef !== undefined) ||
    projectionsOf(volume).some(({ secret }) => secret)
  );
}

function needsConfigMap(spec: PodSpec): boolean {
  return (
    containersOf(spec).some(
      ({ env = [], envFrom = [] }) =>
        envFrom.some(({ configMapRef }) => configMapRef) ||
        env.some(({ valueFrom }) => valueFrom?.configMapKeyRef),
    ) ||
    (spec.volumes ?? []).some(
      (volume) => volume.configMap !== undefined || projectionsOf(volume).some(({ configMap }) => configMap),
    )
  );
}
