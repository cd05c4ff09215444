import { ownMember } from '../../base/own.ts';
import { referencedConfigMaps, referencedSecrets } from '../../kube/references.ts';
import type { Pod } from '../../kube/types.ts';
import { isObject, type JsonObject, objectsAt, specOf, stringAt } from '../../apimachinery/json.ts';

/** The kind of API object that a pod references, or why its volumes are invalid. */
export type ApiReference = { readonly resource: string } | { readonly fault: string };

/** Volume sources without API objects. */
const local = new Set(
  (
    'awsElasticBlockStore azureDisk cephfs cinder downwardAPI emptyDir fc flexVolume flocker gcePersistentDisk gitRepo hostPath image ' +
    'iscsi nfs photonPersistentDisk portworxVolume quobyte rbd scaleIO storageos vsphereVolume'
  ).split(' '),
);

/** Volume sources with API objects, in the order of the check. */
const remote: readonly (readonly [source: string, resource: string])[] = [
  ['configMap', 'configmaps (via configmap volumes)'],
  ['secret', 'secrets (via secret volumes)'],
  ['csi', 'csidrivers (via CSI volumes)'],
  ['glusterfs', 'endpoints (via glusterFS volumes)'],
  ['persistentVolumeClaim', 'persistentvolumeclaims'],
  ['ephemeral', 'persistentvolumeclaims (via ephemeral volumes)'],
  ['azureFile', 'secrets (via azureFile volumes)'],
];

const projected: readonly (readonly [source: string, resource: string])[] = [
  ['configMap', 'configmaps (via projected volumes)'],
  ['secret', 'secrets (via projected volumes)'],
  ['serviceAccountToken', 'serviceaccounts (via projected volumes)'],
  ['clusterTrustBundle', 'clustertrustbundles'],
  ['podCertificate', 'podcertificates'],
];

const sourceIn = (holder: JsonObject, key: string): boolean =>
  Object.hasOwn(holder, key) && ownMember(holder, key) !== undefined && ownMember(holder, key) !== null;

/** Returns the first reference of a pod to an API object; `undefined`: none. Follows `podutil.HasAPIObjectReference`. */
export function apiReferenceOf(pod: Pod): ApiReference | undefined {
  const spec = specOf(pod);
  const whole = { ...pod, spec: { ...pod.spec, containers: pod.spec?.containers ?? [] } };
  if (stringAt(spec, 'serviceAccountName') !== '') return { resource: 'serviceaccounts' };
  if (referencedSecrets(whole).size > 0) return { resource: 'secrets' };
  if (referencedConfigMaps(whole).size > 0) return { resource: 'configmaps' };
  if (objectsAt(spec, 'resourceClaims').length > 0) return { resource: 'resourceclaims' };
  for (const volume of objectsAt(spec, 'volumes')) {
    const found = referenceOfVolume(volume);
    if (found) return found;
  }
  return undefined;
}

function referenceOfVolume(volume: JsonObject): ApiReference | undefined {
  if (Object.keys(volume).some((key) => local.has(key) && sourceIn(volume, key))) return undefined;
  const found = remote.find(([source]) => sourceIn(volume, source));
  if (found) return { resource: found[1] };
  const name = JSON.stringify(stringAt(volume, 'name'));
  const { projected: projection } = volume;
  if (!isObject(projection)) return { fault: `unknown volume type for volume  ${name}` };
  for (const source of objectsAt(projection, 'sources')) {
    const part = projected.find(([key]) => sourceIn(source, key));
    if (part) return { resource: part[1] };
    if (!sourceIn(source, 'downwardAPI')) return { fault: `unknown source for projected volume ${name}` };
  }
  return undefined;
}
