import { tableOf } from '../../base/own.ts';
import { claimNameOf } from '../../kube/references.ts';
import type { Volume } from '../../kube/types.ts';
import { type JsonObject, nameOf, objectAt, objectsAt, stringAt } from '../../apimachinery/json.ts';

const podVolumes: Readonly<Record<string, (volume: JsonObject, podName: string) => readonly string[]>> =
  tableOf({
    secrets: (volume) => [
      stringAt(objectAt(volume, 'secret'), 'secretName'),
      ...objectsAt(objectAt(volume, 'projected'), 'sources').map((s) =>
        stringAt(objectAt(s, 'secret'), 'name'),
      ),
    ],
    configmaps: (volume) => [
      stringAt(objectAt(volume, 'configMap'), 'name'),
      ...objectsAt(objectAt(volume, 'projected'), 'sources').map((s) =>
        stringAt(objectAt(s, 'configMap'), 'name'),
      ),
    ],
    persistentvolumeclaims: (volume, podName) => [claimNameOf(podName, volume as unknown as Volume) ?? ''],
  });

function containersOf(pod: JsonObject): readonly JsonObject[] {
  const spec = objectAt(pod, 'spec');
  return ['initContainers', 'containers', 'ephemeralContainers'].flatMap((key) => objectsAt(spec, key));
}

function environment(pod: JsonObject, resource: string): readonly string[] {
  const [ref, key] =
    resource === 'secrets' ? ['secretRef', 'secretKeyRef'] : ['configMapRef', 'configMapKeyRef'];
  return containersOf(pod).flatMap((container) => [
    ...objectsAt(container, 'envFrom').map((from) => stringAt(objectAt(from, ref), 'name')),
    ...objectsAt(container, 'env').map((env) => stringAt(objectAt(objectAt(env, 'valueFrom'), key), 'name')),
  ]);
}

/** Reports whether a pod references the named object of its namespace. */
export function podRefersTo(pod: JsonObject, resource: string, name: string): boolean {
  const spec = objectAt(pod, 'spec');
  if (resource === 'serviceaccounts') return stringAt(spec, 'serviceAccountName') === name;
  if (resource === 'resourceclaims')
    return [
      ...objectsAt(spec, 'resourceClaims'),
      ...objectsAt(objectAt(pod, 'status'), 'resourceClaimStatuses'),
    ].some((claim) => claim['resourceClaimName'] === name);
  const inVolumes = podVolumes[resource];
  const podName = nameOf(pod);
  if (inVolumes && objectsAt(spec, 'volumes').some((volume) => inVolumes(volume, podName).includes(name)))
    return true;
  if (resource === 'persistentvolumeclaims') return false;
  if (environment(pod, resource).includes(name)) return true;
  return (
    resource === 'secrets' &&
    objectsAt(spec, 'imagePullSecrets').some((secret) => stringAt(secret, 'name') === name)
  );
}
