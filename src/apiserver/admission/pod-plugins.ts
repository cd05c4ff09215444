import { referencedSecrets } from '../../kube/references.ts';
import { computeQosClass } from '../../kube/resources/resources.ts';
import type { Pod } from '../../kube/types.ts';
import {
  type JsonObject,
  nameOf,
  namespaceOf,
  objectAt,
  objectsAt,
  sameJson,
  stringAt,
  textOf,
  valueAt,
} from '../../apimachinery/json.ts';
import { withDefaultLimits } from './limit-ranges.ts';
import { forbidden, StatusError } from '../../apimachinery/status-error.ts';
import { keyOf, type Store } from '../storage/store.ts';
import type { WriteContext } from '../request/write-context.ts';
import { admittedName, randomSuffix } from '../storage/names.ts';

const tokenPath = '/var/run/secrets/kubernetes.io/serviceaccount';
const mirrorAnnotation = 'kubernetes.io/config.mirror';

export const isMirror = (pod: JsonObject): boolean =>
  valueAt(pod, 'metadata', 'annotations', mirrorAnnotation) !== undefined;

const refuse = (pod: JsonObject, why: string): Error =>
  forbidden({ kind: 'pods', name: admittedName(objectAt(pod, 'metadata')) }, why);

const withSpec = (pod: JsonObject, members: JsonObject): JsonObject => ({
  ...pod,
  spec: { ...objectAt(pod, 'spec'), ...members },
});

/** A volume whose name begins so is taken for the pod's own volume of tokens. */
const tokenPrefix = 'kube-api-access-';

/** Tokens for the pod's containers: a projected volume, mounted where none is yet (admission plugin ServiceAccount). */
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

/** A mirror pod goes without an account and what comes with one. */
function checkMirror(pod: JsonObject): void {
  const spec = objectAt(pod, 'spec');
  if (stringAt(spec, 'serviceAccountName'))
    throw refuse(pod, 'a mirror pod may not reference service accounts');
  if (referencedSecrets({ ...pod, spec: { containers: [], ...spec } }).size > 0)
    throw refuse(pod, 'a mirror pod may not reference secrets');
  if (
    objectsAt(spec, 'volumes').some((volume) =>
      objectsAt(objectAt(volume, 'projected'), 'sources').some((s) => 'serviceAccountToken' in s),
    )
  )
    throw refuse(pod, 'a mirror pod may not use ServiceAccountToken volume projections');
}

/** The account that a new pod runs as; a mirror pod has none. @throws {StatusError} 403 where it is not there */
export function accountOf(pod: JsonObject, store: Store, namespace: string): JsonObject | undefined {
  if (isMirror(pod)) {
    checkMirror(pod);
    return undefined;
  }
  const name = stringAt(objectAt(pod, 'spec'), 'serviceAccountName') || 'default';
  const account = store.get('serviceaccounts', keyOf(namespace, name))?.object;
  if (account) return account;
  const why = noPathSegment(name) ?? `serviceaccount "${name}" not found`;
  throw refuse(pod, `error looking up service account ${namespace}/${name}: ${why}`);
}

/** The account of a pod, its token and its pull secrets (admission plugin ServiceAccount). */
function admitServiceAccount(pod: JsonObject, context: WriteContext): JsonObject {
  const spec = objectAt(pod, 'spec');
  const account = accountOf(pod, context.world.store, namespaceOf(pod));
  if (!account) return pod;
  const name = nameOf(account);
  let next = withSpec(pod, { serviceAccountName: name, serviceAccount: name });
  const automount = spec['automountServiceAccountToken'] ?? account['automountServiceAccountToken'] ?? true;
  if (automount === true) next = mountToken(next, context);
  const secrets = objectsAt(account, 'imagePullSecrets');
  if (objectsAt(spec, 'imagePullSecrets').length === 0 && secrets.length > 0)
    next = withSpec(next, { imagePullSecrets: secrets });
  return next;
}

/** Who looks such a name up asks for no path of the API. */
function noPathSegment(name: string): string | undefined {
  const [sign] = /[/%]/.exec(name) ?? [];
  return sign && `invalid resource name ${JSON.stringify(name)}: [may not contain '${sign}']`;
}

function noRuntimeClass(pod: JsonObject, name: string): Error {
  const why = noPathSegment(name);
  return why === undefined
    ? refuse(pod, `pod rejected: RuntimeClass "${name}" not found`)
    : new StatusError(500, '', why);
}

const tolerated = (pod: JsonObject, key: string): boolean =>
  objectsAt(objectAt(pod, 'spec'), 'tolerations').some(
    (toleration) =>
      ['', key].includes(stringAt(toleration, 'key')) &&
      (!stringAt(toleration, 'effect') || toleration['effect'] === 'NoExecute'),
  );

/** 300 seconds on a node that is not ready or not reached (admission plugin DefaultTolerationSeconds). */
export function addTolerations(pod: JsonObject): JsonObject {
  const missing = ['node.kubernetes.io/not-ready', 'node.kubernetes.io/unreachable'].filter(
    (key) => !tolerated(pod, key),
  );
  if (missing.length === 0) return pod;
  const added = missing.map((key) => ({
    key,
    operator: 'Exists',
    effect: 'NoExecute',
    tolerationSeconds: 300,
  }));
  return withSpec(pod, { tolerations: [...objectsAt(objectAt(pod, 'spec'), 'tolerations'), ...added] });
}

/** Priority by class, the global default or 0 (admission plugin Priority). */
function admitPriority(pod: JsonObject, context: WriteContext): JsonObject {
  const spec = objectAt(pod, 'spec');
  const classes = [...context.world.store.list('scheduling.k8s.io/priorityclasses')].map(
    (entry) => entry.object,
  );
  const given = stringAt(spec, 'priorityClassName');
  const found = given
    ? classes.find((one) => valueAt(one, 'metadata', 'name') === given)
    : classes
        .filter((one) => one['globalDefault'] === true)
        .sort((a, b) => Number(a['value']) - Number(b['value']))[0];
  if (given && !found) throw refuse(pod, `no PriorityClass with name ${given} was found`);
  const priority = Number(found?.['value'] ?? 0);
  const policy = stringAt(found, 'preemptionPolicy') || 'PreemptLowerPriority';
  const named = found ? { priorityClassName: nameOf(found) } : {};
  if (typeof spec['priority'] === 'number' && spec['priority'] !== priority)
    throw refuse(
      pod,
      `the integer value of priority (${spec['priority']}) must not be provided in pod spec; priority admission controller computed ${priority} from the given PriorityClass name`,
    );
  if (typeof spec['preemptionPolicy'] === 'string' && spec['preemptionPolicy'] !== policy)
    throw refuse(
      pod,
      `the string value of PreemptionPolicy (${spec['preemptionPolicy']}) must not be provided in pod spec; priority admission controller computed ${policy} from the given PriorityClass name`,
    );
  return withSpec(pod, { ...named, priority, preemptionPolicy: policy });
}

/** Overhead and scheduling by runtime class (admission plugin RuntimeClass). */
function admitRuntimeClass(pod: JsonObject, context: WriteContext): JsonObject {
  const spec = objectAt(pod, 'spec');
  const name = stringAt(spec, 'runtimeClassName');
  const found = name ? context.world.store.get('node.k8s.io/runtimeclasses', name)?.object : undefined;
  if (name && !found) throw noRuntimeClass(pod, name);
  const overhead = objectAt(objectAt(found, 'overhead'), 'podFixed');
  const given = objectAt(spec, 'overhead');
  if (Object.keys(given).length > 0) {
    if (Object.keys(overhead).length > 0 && !sameJson(given, overhead))
      throw refuse(pod, "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead");
  }
  const scheduling = objectAt(found, 'scheduling');
  const tolerations = objectsAt(spec, 'tolerations');
  const added = objectsAt(scheduling, 'tolerations').filter(
    (toleration) => !tolerations.some((other) => sameJson(other, toleration)),
  );
  return withSpec(pod, {
    ...(Object.keys(overhead).length > 0 && { overhead }),
    ...(scheduling['nodeSelector'] !== undefined && { nodeSelector: joinedSelector(pod, scheduling) }),
    ...(added.length > 0 && { tolerations: [...tolerations, ...added] }),
  });
}

/** What a valid pod has on top of its containers comes of its runtime class. @throws {StatusError} 403 */
export function checkOverhead(pod: JsonObject, context: WriteContext): void {
  const spec = objectAt(pod, 'spec');
  if (Object.keys(objectAt(spec, 'overhead')).length === 0 && !context.empties?.has('spec.overhead')) return;
  const found = context.world.store.get('node.k8s.io/runtimeclasses', stringAt(spec, 'runtimeClassName'));
  if (Object.keys(objectAt(objectAt(found?.object, 'overhead'), 'podFixed')).length > 0) return;
  const why = 'pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead';
  throw forbidden({ kind: 'pods', name: nameOf(pod) }, why);
}

/** Where a pod and its runtime class both let it run. @throws {StatusError} 403 when there is no such place */
function joinedSelector(pod: JsonObject, scheduling: JsonObject): JsonObject {
  const own = objectAt(objectAt(pod, 'spec'), 'nodeSelector');
  const wanted = objectAt(scheduling, 'nodeSelector');
  for (const [key, value] of Object.entries(wanted))
    if (key in own && own[key] !== value)
      throw refuse(
        pod,
        `conflict: runtimeClass.scheduling.nodeSelector[${key}] = ${textOf(value)}; pod.spec.nodeSelector[${key}] = ${textOf(own[key])}`,
      );
  return { ...own, ...wanted };
}

/** An update that does not name the priority keeps it (admission plugin Priority). */
export function keepPriority(pod: JsonObject, old: JsonObject): JsonObject {
  const [spec, before] = [objectAt(pod, 'spec'), objectAt(old, 'spec')];
  const lost = ['priority', 'preemptionPolicy'].filter((key) => (spec[key] ?? before[key]) !== spec[key]);
  return lost.length === 0 ? pod : withSpec(pod, Object.fromEntries(lost.map((key) => [key, before[key]])));
}

/** Everything that admission does to a new pod, in the API server's order. */
export function admitPod(pod: JsonObject, context: WriteContext): JsonObject {
  const limited = withDefaultLimits(pod, context);
  const account = admitServiceAccount(limited, context);
  const tolerating = addTolerations(account);
  const placed = admitRuntimeClass(admitPriority(tolerating, context), context);
  return limited === pod ? placed : withQos(placed);
}

/** The class of a pod whose containers were given amounts. */
const withQos = (pod: JsonObject): JsonObject => ({
  ...pod,
  status: {
    ...objectAt(pod, 'status'),
    qosClass: computeQosClass((pod as Pod).spec ?? { containers: [] }),
  },
});
