import { ownMember, tableOf } from '../../../base/own.ts';
import { compareQuantities, parseQuantity, type Quantity } from '../../../kube/resources/quantity.ts';
import { dns1123Subdomain } from '../../../kube/validation/name-rules.ts';
import { formDiff } from '../../../kube/validation/spec-diff.ts';
import {
  isObject,
  type JsonObject,
  listAt,
  objectAt,
  objectsAt,
  sameJson,
  specOf,
  stringAt,
  textOf,
  valueAt,
} from '../../../apimachinery/json.ts';
import { embeddedIn } from '../../../kube/decode/embedded-structs.ts';
import { builtIn } from '../../../apimachinery/kinds.ts';
import { validateMetadata, validateMetadataUpdate } from '../metadata-rules.ts';
import { fault, type FieldFault } from '../../../apimachinery/status-error.ts';
import { commonStrategy, mainRules } from '../strategies.ts';
import type { Strategy } from '../strategy.ts';
import { oldVolumeWarning, sizeWarnings, termLabels } from '../validation/pod-warnings.ts';
import { seconds } from '../../../apimachinery/times.ts';

const modes = ['ReadOnlyMany', 'ReadWriteMany', 'ReadWriteOnce', 'ReadWriteOncePod'];
const policies = ['Delete', 'Recycle', 'Retain'];
const volumeModes = ['Block', 'Filesystem'];
const lone = 'ReadWriteOncePod';

function modeFaults(spec: JsonObject): FieldFault[] {
  const accessModes = listAt(spec, 'accessModes').map(textOf);
  const field = 'spec.accessModes';
  const mixed =
    accessModes.includes(lone) && accessModes.some((mode) => mode !== lone && modes.includes(mode));
  return [
    ...accessModes
      .filter((mode) => !modes.includes(mode))
      .map((mode) => fault.unsupported(field, mode, modes)),
    ...(mixed ? [fault.forbidden(field, `may not use ${lone} with other access modes`)] : []),
  ];
}

const oneOf = (spec: JsonObject, key: string, values: readonly string[]): FieldFault[] =>
  ownMember(spec, key) === undefined || values.includes(stringAt(spec, key))
    ? []
    : [fault.unsupported(`spec.${key}`, ownMember(spec, key), values)];

const className = (spec: JsonObject, key: string): FieldFault[] => {
  const name = stringAt(spec, key);
  return name === '' ? [] : dns1123Subdomain(name).map((why) => fault.invalid(`spec.${key}`, name, why));
};

const none = parseQuantity('0');
const notPositive = (field: string, amount: unknown): FieldFault[] =>
  typeof amount === 'string' && compareQuantities(parseQuantity(amount), none) <= 0
    ? [fault.invalid(field, amount, 'must be greater than zero')]
    : [];

const volumes = builtIn('persistentvolumes');

/** Returns the volume source in a volume's spec. */
const sourceOf = (volume: JsonObject): JsonObject =>
  Object.fromEntries(
    Object.entries(specOf(volume)).filter(([key]) => embeddedIn('PersistentVolumeSpec', key) !== undefined),
  );

function volumeFaults(volume: JsonObject): FieldFault[] {
  const spec = specOf(volume);
  const capacity = objectAt(spec, 'capacity');
  const hasStorage = Object.keys(capacity).length === 1 && capacity['storage'] !== undefined;
  const sources = Object.keys(sourceOf(volume));
  return [
    ...(listAt(spec, 'accessModes').length === 0 ? [fault.required('spec.accessModes')] : []),
    ...modeFaults(spec),
    ...(Object.keys(capacity).length === 0 ? [fault.required('spec.capacity')] : []),
    ...(hasStorage ? [] : [fault.unsupported('spec.capacity', spec['capacity'] ?? null, ['storage'])]),
    ...Object.entries(capacity).flatMap(([name, amount]) => notPositive(`spec.capacity[${name}]`, amount)),
    ...oneOf(spec, 'persistentVolumeReclaimPolicy', policies),
    ...(sources.length === 0 ? [fault.required('spec', 'must specify a volume type')] : []),
    ...sources
      .slice(1)
      .map((source) => fault.forbidden(`spec.${source}`, 'may not specify more than 1 volume type')),
    ...className(spec, 'storageClassName'),
    ...oneOf(spec, 'volumeMode', volumeModes),
  ];
}

/** Validates that a volume's source does not change. Follows Kubernetes `ValidatePersistentVolumeUpdate`. */
function volumeUpdateFaults(volume: JsonObject, old: JsonObject): FieldFault[] {
  const [source, before] = [volume, old].map(sourceOf) as [JsonObject, JsonObject];
  const [mode, oldMode] = [volume, old].map((one) => specOf(one)['volumeMode']);
  return [
    ...validateMetadata(volume, volumes),
    ...volumeFaults(volume),
    ...(sameJson(source, before)
      ? []
      : [
          fault.forbidden(
            'spec.persistentvolumesource',
            `spec.persistentvolumesource is immutable after creation\n${formDiff('PersistentVolumeSource', before, source)}`,
          ),
        ]),
    ...(mode === oldMode ? [] : [fault.invalid('volumeMode', mode ?? null, 'field is immutable')]),
  ];
}

const oldClass = 'volume.beta.kubernetes.io/storage-class';
const oldAnnotations: Readonly<Record<string, string>> = tableOf({
  [oldClass]: 'deprecated since v1.8; use "storageClassName" attribute instead',
  'volume.beta.kubernetes.io/mount-options': 'deprecated since v1.31; use "mountOptions" attribute instead',
});
const oldSources = ['cephfs', 'photonPersistentDisk', 'scaleIO', 'storageos', 'glusterfs', 'rbd'];

const oldAnnotationWarnings = (object: JsonObject, keys: readonly string[]): readonly string[] => {
  const annotations = objectAt(objectAt(object, 'metadata'), 'annotations');
  return keys
    .filter((key) => Object.hasOwn(annotations, key))
    .map((key) => `metadata.annotations[${key}]: ${oldAnnotations[key] ?? ''}`);
};

/** Follows Kubernetes `GetWarningsForPersistentVolume`. */
function volumeWarnings(volume: JsonObject): readonly string[] {
  const spec = specOf(volume);
  const terms = objectsAt(objectAt(objectAt(spec, 'nodeAffinity'), 'required'), 'nodeSelectorTerms');
  return [
    ...oldAnnotationWarnings(volume, Object.keys(oldAnnotations)),
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

/** Follows Kubernetes `GetWarningsForPersistentVolumeClaim`. */
const claimWarnings = (claim: JsonObject): readonly string[] => [
  ...oldAnnotationWarnings(claim, [oldClass]),
  ...sizeWarnings(specOf(claim), 'spec'),
];

/** Strategy of persistent volumes: not removed while their protection finalizer is set. */
export const volumeStrategy: Strategy = {
  ...commonStrategy(volumes),
  defaults: (volume) => {
    const spec = specOf(volume);
    return {
      ...volume,
      spec: {
        ...spec,
        persistentVolumeReclaimPolicy: stringAt(spec, 'persistentVolumeReclaimPolicy') || 'Retain',
        volumeMode: stringAt(spec, 'volumeMode') || 'Filesystem',
        ...(isObject(spec['hostPath']) && { hostPath: { type: '', ...spec['hostPath'] } }),
      },
    };
  },
  prepareCreate: (volume, { now }) => ({
    ...volume,
    status: { phase: 'Pending', lastPhaseTransitionTime: seconds(now) },
  }),
  validateCreate: volumeFaults,
  warnings: volumeWarnings,
  main: {
    ...mainRules(volumes, true),
    validatesMetadata: true,
    validate: volumeUpdateFaults,
    warnings: volumeWarnings,
  },
};

const claims = builtIn('persistentvolumeclaims');
const sizeOf = (claim: JsonObject): unknown => valueAt(claim, 'spec', 'resources', 'requests', 'storage');

function claimFaults(claim: JsonObject): FieldFault[] {
  const spec = specOf(claim);
  const size = sizeOf(claim);
  const field = 'spec.resources[storage]';
  return [
    ...(listAt(spec, 'accessModes').length === 0
      ? [fault.required('spec.accessModes', 'at least 1 access mode is required')]
      : []),
    ...modeFaults(spec),
    ...(size === undefined ? [fault.required(field)] : notPositive(field, size)),
    ...className(spec, 'storageClassName'),
    ...oneOf(spec, 'volumeMode', volumeModes),
    ...className(spec, 'volumeAttributesClassName'),
  ];
}

/** Returns a claim's spec without the mutable parts: size and attributes once it is bound, its volume before. */
function lasting(claim: JsonObject, old: JsonObject): readonly [before: JsonObject, now: JsonObject] {
  const bound = valueAt(old, 'status', 'phase') === 'Bound';
  const [now, before] = [specOf(claim), specOf(old)];
  const free = stringAt(before, 'volumeName') === '';
  const { resources, volumeAttributesClassName } = before;
  return [
    { ...before, ...(free && { volumeName: now['volumeName'] }) },
    {
      ...now,
      ...(bound && { resources, volumeAttributesClassName }),
      ...(before['storageClassName'] === undefined && { storageClassName: undefined }),
    },
  ];
}

/** Validates that a claim does not shrink. */
function shrunkFaults(claim: JsonObject, old: JsonObject): FieldFault[] {
  const amount = (value: unknown): Quantity => parseQuantity(textOf(value) || '0');
  const [size, before] = [amount(sizeOf(claim)), amount(sizeOf(old))];
  const real = amount(valueAt(old, 'status', 'capacity', 'storage'));
  return compareQuantities(size, before) < 0 && compareQuantities(size, real) <= 0
    ? [fault.forbidden('spec.resources.requests.storage', 'field can not be less than status.capacity')]
    : [];
}

const frozen =
  'spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims';

/** Follows Kubernetes `ValidatePersistentVolumeClaimUpdate`. */
function claimUpdateFaults(claim: JsonObject, old: JsonObject): FieldFault[] {
  const [before, now] = lasting(claim, old);
  const [mode, oldMode] = [now['volumeMode'], before['volumeMode']];
  return [
    ...validateMetadataUpdate(claim, old, claims),
    ...validateMetadata(claim, claims),
    ...claimFaults(claim),
    ...(sameJson(now, before)
      ? []
      : [fault.forbidden('spec', `${frozen}\n${formDiff('ClaimSpec', before, now)}`)]),
    ...shrunkFaults(claim, old),
    ...(mode === oldMode ? [] : [fault.invalid('volumeMode', mode ?? null, 'field is immutable')]),
  ];
}

/** Strategy of persistent volume claims: not removed while their protection finalizer is set. */
export const claimStrategy: Strategy = {
  ...commonStrategy(claims),
  defaults: (claim) => ({
    ...claim,
    spec: { ...specOf(claim), volumeMode: stringAt(specOf(claim), 'volumeMode') || 'Filesystem' },
  }),
  prepareCreate: (claim) => ({ ...claim, status: { phase: 'Pending' } }),
  validateCreate: claimFaults,
  warnings: claimWarnings,
  main: {
    ...mainRules(claims, true),
    validatesMetadata: true,
    validate: claimUpdateFaults,
    warnings: claimWarnings,
  },
};
