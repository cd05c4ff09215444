import { posix } from 'node:path';
import { ownMember, tableOf } from '../../../base/own.ts';
import { embeddedIn } from '../../../kube/decode/embedded-structs.ts';
import { compareQuantities, parseQuantity, valueOf } from '../../../kube/resources/quantity.ts';
import { nodeSelector } from '../../../kube/validation/affinity.ts';
import { defaultSource } from '../../../kube/validation/default-volume.ts';
import {
  type Faults,
  forbidden,
  invalid,
  invalidEach,
  oneOf,
  required,
  unsupported,
} from '../../../kube/validation/field-error.ts';
import { internalForm } from '../../../kube/validation/internal-spec.ts';
import { dns1123Subdomain } from '../../../kube/validation/name-rules.ts';
import { persistentSourceFaults } from '../../../kube/validation/persistent-sources.ts';
import { formDiff } from '../../../kube/validation/spec-diff.ts';
import {
  isObject,
  type JsonObject,
  listAt,
  metadataOf,
  nameOf,
  objectAt,
  objectsAt,
  sameJson,
  specOf,
  statusOf,
  stringAt,
  textOf,
  withSpec,
} from '../../../apimachinery/json.ts';
import { builtIn } from '../../../apimachinery/kinds.ts';
import { seconds } from '../../../apimachinery/times.ts';
import { strategyOf } from '../kind-strategy.ts';
import type { Strategy } from '../strategy.ts';
import { oldVolumeWarning, termLabels } from '../validation/pod-warnings.ts';
import { immutable } from '../validation/value-rules.ts';
import { accessModeFaults } from './access-modes.ts';

const policies = ['Delete', 'Recycle', 'Retain'];
const volumeModes = ['Block', 'Filesystem'];
const zero = parseQuantity('0');

/** Returns the volume source in a volume's spec. */
const sourceOf = (spec: JsonObject): JsonObject =>
  Object.fromEntries(
    Object.entries(spec).filter(([key]) => embeddedIn('PersistentVolumeSpec', key) !== undefined),
  );

function* capacityFaults(spec: JsonObject): Faults {
  const capacity = objectAt(spec, 'capacity');
  const names = Object.keys(capacity);
  if (names.length === 0) yield required('spec.capacity');
  if (!Object.hasOwn(capacity, 'storage') || names.length > 1)
    yield unsupported('spec.capacity', spec['capacity'] ?? null, ['storage']);
  for (const [name, value] of Object.entries(capacity)) {
    const amount = parseQuantity(textOf(value));
    const field = `spec.capacity[${name}]`;
    if (compareQuantities(amount, zero) < 0)
      yield invalid(field, valueOf(amount), 'must be a valid resource quantity');
    if (compareQuantities(amount, zero) <= 0)
      yield invalid(field, textOf(value), 'must be greater than zero');
  }
}

function* affinityFaults(field: string, affinity: JsonObject): Faults {
  const { required: selector } = affinity;
  if (isObject(selector)) yield* nodeSelector(`${field}.required`, selector);
  else yield required(`${field}.required`, 'must specify required node constraints');
}

function* classFaults(spec: JsonObject): Faults {
  const name = stringAt(spec, 'storageClassName');
  if (name !== '') yield* invalidEach('spec.storageClassName', name, dns1123Subdomain(name));
  if (spec['volumeMode'] !== undefined)
    yield* oneOf('spec.volumeMode', stringAt(spec, 'volumeMode'), volumeModes);
  const attributes = spec['volumeAttributesClassName'];
  if (attributes === undefined) return;
  const field = 'spec.volumeAttributesClassName';
  if (attributes === '') yield required(field, 'an empty string is disallowed');
  else yield* invalidEach(field, textOf(attributes), dns1123Subdomain(textOf(attributes)));
  if (spec['csi'] === undefined)
    yield required('spec.csi', 'has to be specified when using volumeAttributesClassName');
}

function* specFaults(volume: JsonObject): Faults {
  const spec = specOf(volume);
  const affinity = spec['nodeAffinity'];
  if (listAt(spec, 'accessModes').length === 0) yield required('spec.accessModes');
  yield* accessModeFaults('spec.accessModes', spec);
  yield* capacityFaults(spec);
  const policy = stringAt(spec, 'persistentVolumeReclaimPolicy');
  if (policy !== '') yield* oneOf('spec.persistentVolumeReclaimPolicy', policy, policies);
  if (isObject(affinity)) yield* affinityFaults('spec.nodeAffinity', affinity);
  yield* persistentSourceFaults('spec', spec, {
    name: nameOf(volume),
    hasNodeAffinity: isObject(affinity),
  });
  const path = objectAt(spec, 'hostPath')['path'];
  if (typeof path === 'string' && posix.normalize(path) === '/' && policy === 'Recycle')
    yield forbidden('spec.persistentVolumeReclaimPolicy', "may not be 'recycle' for a hostPath mount of '/'");
  yield* classFaults(spec);
}

/** Kinds of sources that take mount options. */
const mounted = (
  'gcePersistentDisk awsElasticBlockStore glusterfs nfs rbd quobyte iscsi cinder cephfs azureFile vsphereVolume azureDisk ' +
  'photonPersistentDisk'
).split(' ');
const mountOptions = 'volume.beta.kubernetes.io/mount-options';

function* mountOptionFaults(volume: JsonObject): Faults {
  const isMounted = mounted.some((key) => ownMember(specOf(volume), key) !== undefined);
  if (!isMounted && Object.hasOwn(objectAt(metadataOf(volume), 'annotations'), mountOptions))
    yield forbidden(
      `metadata.annotations.${mountOptions}`,
      'may not specify mount options for this volume type',
    );
}

/** Returns the source of a volume that may get the secret for its expansion later. */
function lastingSource(spec: JsonObject, old: JsonObject): JsonObject {
  const source = sourceOf(spec);
  const [csi, before] = [source['csi'], old['csi']];
  if (!isObject(csi) || !isObject(before) || before['controllerExpandSecretRef'] !== undefined) return source;
  const { controllerExpandSecretRef: _c, ...rest } = csi;
  return { ...source, csi: rest };
}

const shownAffinity = (value: unknown): unknown =>
  isObject(value) ? internalForm('VolumeNodeAffinity', value) : null;

/** Validates that a volume's source does not change. Follows Kubernetes `ValidatePersistentVolumeUpdate`. */
function* updateFaults(spec: JsonObject, old: JsonObject): Faults {
  const [source, before] = [lastingSource(spec, old), sourceOf(old)];
  if (!sameJson(source, before))
    yield forbidden(
      'spec.persistentvolumesource',
      `spec.persistentvolumesource is immutable after creation\n${formDiff('PersistentVolumeSource', before, source)}`,
    );
  yield* immutable('volumeMode', spec['volumeMode'], old['volumeMode']);
  const [affinity, affinityBefore] = [spec['nodeAffinity'], old['nodeAffinity']];
  if (isObject(affinityBefore) && !sameJson(affinity ?? null, affinityBefore))
    yield invalid(
      'nodeAffinity',
      shownAffinity(affinity),
      'field is immutable, except for updating from beta label to GA',
    );
  if (old['volumeAttributesClassName'] !== undefined && spec['volumeAttributesClassName'] === undefined)
    yield forbidden('spec.volumeAttributesClassName', 'update from non-nil value to nil is forbidden');
}

function* faults(volume: JsonObject, old: JsonObject | undefined): Faults {
  yield* specFaults(volume);
  yield* mountOptionFaults(volume);
  if (old) yield* updateFaults(specOf(volume), specOf(old));
}

const oldAnnotations: Readonly<Record<string, string>> = tableOf({
  'volume.beta.kubernetes.io/storage-class':
    'deprecated since v1.8; use "storageClassName" attribute instead',
  [mountOptions]: 'deprecated since v1.31; use "mountOptions" attribute instead',
});
const oldSources = ['cephfs', 'photonPersistentDisk', 'scaleIO', 'storageos', 'glusterfs', 'rbd'];

/** Follows Kubernetes `GetWarningsForPersistentVolume`. */
function warnings(volume: JsonObject): readonly string[] {
  const spec = specOf(volume);
  const annotations = objectAt(metadataOf(volume), 'annotations');
  const terms = objectsAt(objectAt(objectAt(spec, 'nodeAffinity'), 'required'), 'nodeSelectorTerms');
  return [
    ...Object.entries(oldAnnotations).flatMap(([key, text]) =>
      Object.hasOwn(annotations, key) ? [`metadata.annotations[${key}]: ${text}`] : [],
    ),
    ...(spec['persistentVolumeReclaimPolicy'] === 'Recycle'
      ? [
          'spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use dynamic provisioning.',
        ]
      : []),
    ...terms.flatMap((term, i) =>
      termLabels(term, `spec.nodeAffinity.required.nodeSelectorTerms[${i}]`, false),
    ),
    ...oldSources.flatMap((kind) => (Object.hasOwn(spec, kind) ? [oldVolumeWarning('spec', kind)] : [])),
  ];
}

function defaults(volume: JsonObject): JsonObject {
  const spec = specOf(volume);
  const source = Object.entries(sourceOf(spec)).map(([key, value]) => [
    key,
    isObject(value) ? defaultSource(key, value) : value,
  ]);
  return withSpec(volume, {
    persistentVolumeReclaimPolicy: stringAt(spec, 'persistentVolumeReclaimPolicy') || 'Retain',
    volumeMode: spec['volumeMode'] ?? 'Filesystem',
    ...(Object.fromEntries(source) as JsonObject),
  });
}

/** Sets since when a volume is in its phase, unless the client does. */
function prepareStatus(volume: JsonObject, old: JsonObject, now: number): JsonObject {
  const [status, before] = [statusOf(volume), statusOf(old)];
  const [since, sinceBefore] = [status['lastPhaseTransitionTime'], before['lastPhaseTransitionTime']];
  const phase = stringAt(status, 'phase') || 'Pending';
  const withPhase = { ...status, phase };
  if (phase === before['phase'])
    return {
      ...volume,
      status: {
        ...withPhase,
        ...((since ?? sinceBefore) !== undefined && { lastPhaseTransitionTime: since ?? sinceBefore }),
      },
    };
  const isSet = since !== undefined && since !== sinceBefore;
  return {
    ...volume,
    status: isSet ? withPhase : { ...withPhase, lastPhaseTransitionTime: seconds(now) },
  };
}

const rules = strategyOf(builtIn('persistentvolumes'), {
  defaults,
  prepare: (volume, old, { now }) =>
    old ? volume : { ...volume, status: { phase: 'Pending', lastPhaseTransitionTime: seconds(now) } },
  faults,
  metadataChecks: ['whole', 'whole'],
  warnings,
});
const { status } = rules.subresources;
if (!status) throw new Error('persistent volumes have a status');

/** Strategy of persistent volumes: not removed while their protection finalizer is set. */
export const volumeStrategy: Strategy = {
  ...rules,
  subresources: {
    ...rules.subresources,
    status: {
      ...status,
      prepare: (volume, old, context) =>
        prepareStatus(status.prepare(volume, old, context), old, context.now),
    },
  },
};
