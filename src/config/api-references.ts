import { referencedConfigMaps, referencedSecrets } from '../kube/references.ts';
import type { Pod, Volume } from '../kube/types.ts';

type Projection = NonNullable<NonNullable<Volume['projected']>['sources']>[number];

/** The references to API objects, in the order of the check. The text names the kind. */
const references: readonly (readonly [(pod: Pod) => boolean, string])[] = [
  [({ spec }) => Boolean(spec?.serviceAccountName), 'serviceaccounts'],
  [(pod) => referencedSecrets(pod).size > 0, 'secrets'],
  [(pod) => referencedConfigMaps(pod).size > 0, 'configmaps'],
  [({ spec }) => (spec?.resourceClaims ?? []).length > 0, 'resourceclaims'],
];

/** Volumes that need other API objects. */
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

/** Projected sources that a static pod may have, or that are rejected earlier. */
const harmlessProjections: readonly (keyof Projection)[] = ['secret', 'configMap', 'downwardAPI'];

/**
 * Returns why a pod needs the API server, in the kubelet's words; undefined when it does not. A static pod must not need it (R23).
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
