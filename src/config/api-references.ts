import { referencedConfigMaps, referencedSecrets } from '../kube/references.ts';
import type { Pod, Volume } from '../kube/types.ts';

type Projection = NonNullable<NonNullable<Volume['projected']>['sources']>[number];

/** What needs the API server, in the order in which it is looked for. The text names it. */
const references: readonly (readonly [(pod: Pod) => boolean, string])[] = [
  [({ spec }) => Boolean(spec?.serviceAccountName), 'serviceaccounts'],
  [(pod) => referencedSecrets(pod).size > 0, 'secrets'],
  [(pod) => referencedConfigMaps(pod).size > 0, 'configmaps'],
  [({ spec }) => (spec?.resourceClaims ?? []).length > 0, 'resourceclaims'],
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
export function apiReferenceFault(pod: Pod): string | undefined {
  const kind = references.find(([needs]) => needs(pod))?.[1];
  return kind === undefined ? volumeReferenceFault(pod.spec?.volumes ?? []) : refused(kind);
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

const projectionsOf = (volume: Volume): readonly Projection[] => volume.projected?.sources ?? [];
