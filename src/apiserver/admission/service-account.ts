import { referencedSecrets } from '../../kube/references.ts';
import {
  type JsonObject,
  nameOf,
  objectAt,
  objectsAt,
  stringAt,
  valueAt,
  withSpec,
} from '../../apimachinery/json.ts';
import { lookupFault } from '../../apimachinery/path-segment.ts';
import { keyOf } from '../storage/store.ts';
import type { WriteContext } from '../request/write-context.ts';
import { randomSuffix } from '../storage/names.ts';
import { type AdmissionPlugin, type Attributes, isResource, refusal } from './plugin.ts';

const tokenPath = '/var/run/secrets/kubernetes.io/serviceaccount';
const mirrorAnnotation = 'kubernetes.io/config.mirror';

/** Reports whether a pod is the mirror of a node's static pod. */
export const isMirror = (pod: JsonObject | undefined): boolean =>
  valueAt(pod, 'metadata', 'annotations', mirrorAnnotation) !== undefined;

/** Name prefix of the pod's token volume. */
const tokenPrefix = 'kube-api-access-';

/** Adds a projected token volume and mounts it in containers without one. */
function mountToken(pod: JsonObject, context: WriteContext): JsonObject {
  const spec = objectAt(pod, 'spec');
  const volumes = objectsAt(spec, 'volumes');
  const own = volumes.map((volume) => stringAt(volume, 'name')).find((one) => one.startsWith(tokenPrefix));
  const name = own ?? tokenPrefix + randomSuffix(context.world.random);
  const mounted = (container: JsonObject): JsonObject => {
    const mounts = objectsAt(container, 'volumeMounts');
    if (mounts.some((mount) => mount['mountPath'] === tokenPath)) return container;
    return { ...container, volumeMounts: [...mounts, { name, readOnly: true, mountPath: tokenPath }] };
  };
  const init = objectsAt(spec, 'initContainers').map(mounted);
  const containers = objectsAt(spec, 'containers').map(mounted);
  const before = [...objectsAt(spec, 'initContainers'), ...objectsAt(spec, 'containers')];
  if ([...init, ...containers].every((container, i) => container === before[i])) return pod;
  return withSpec(pod, {
    ...(init.length > 0 && { initContainers: init }),
    containers,
    ...(own === undefined && { volumes: [...volumes, { name, projected: tokenSources }] }),
  });
}

const tokenSources = {
  sources: [
    { serviceAccountToken: { expirationSeconds: 3607, path: 'token' } },
    { configMap: { name: 'kube-root-ca.crt', items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
    {
      downwardAPI: {
        items: [{ path: 'namespace', fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.namespace' } }],
      },
    },
  ],
  defaultMode: 420,
};

/** @throws {StatusError} 403 for a mirror pod with a service account or what comes with one */
function checkMirror(pod: JsonObject, attributes: Attributes): void {
  const spec = objectAt(pod, 'spec');
  if (stringAt(spec, 'serviceAccountName'))
    throw refusal(attributes, 'a mirror pod may not reference service accounts');
  if (referencedSecrets({ ...pod, spec: { containers: [], ...spec } }).size > 0)
    throw refusal(attributes, 'a mirror pod may not reference secrets');
  const sources = objectsAt(spec, 'volumes').flatMap((volume) =>
    objectsAt(objectAt(volume, 'projected'), 'sources'),
  );
  if (sources.some((source) => Object.hasOwn(source, 'serviceAccountToken')))
    throw refusal(attributes, 'a mirror pod may not use ServiceAccountToken volume projections');
}

/** Returns the service account of a new pod. @throws {StatusError} 403 when it does not exist */
function accountOf(pod: JsonObject, attributes: Attributes): JsonObject {
  const { namespace, context } = attributes;
  const name = stringAt(objectAt(pod, 'spec'), 'serviceAccountName') || 'default';
  const account = context.world.store.get('serviceaccounts', keyOf(namespace, name))?.object;
  if (account) return account;
  const why = lookupFault(name) ?? `serviceaccount "${name}" not found`;
  throw refusal(attributes, `error looking up service account ${namespace}/${name}: ${why}`);
}

/** Sets the service account of each new pod, its token volume and its pull secrets. */
export const serviceAccount: AdmissionPlugin = {
  name: 'ServiceAccount',
  handles: (operation, kind, subresource) =>
    operation === 'CREATE' && isResource(kind, 'pods') && subresource === '',
  admit(attributes) {
    const { object: pod = {}, context } = attributes;
    if (isMirror(pod)) {
      checkMirror(pod, attributes);
      return undefined;
    }
    const spec = objectAt(pod, 'spec');
    const account = accountOf(pod, attributes);
    const name = nameOf(account);
    let next = withSpec(pod, { serviceAccountName: name, serviceAccount: name });
    const automount = spec['automountServiceAccountToken'] ?? account['automountServiceAccountToken'] ?? true;
    if (automount === true) next = mountToken(next, context);
    const secrets = objectsAt(account, 'imagePullSecrets');
    if (objectsAt(spec, 'imagePullSecrets').length === 0 && secrets.length > 0)
      next = withSpec(next, { imagePullSecrets: secrets });
    return next;
  },
};
