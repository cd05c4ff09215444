import {
  compareQuantities,
  parseQuantity,
  type Quantity,
  valueOf,
} from '../../../kube/resources/quantity.ts';
import { validateClaimSpec } from '../../../kube/validation/ephemeral-volume.ts';
import {
  type Faults,
  forbidden,
  invalid,
  invalidEach,
  required,
  unsupported,
} from '../../../kube/validation/field-error.ts';
import { qualifiedNameRule } from '../../../kube/validation/name-rules.ts';
import { formDiff } from '../../../kube/validation/spec-diff.ts';
import {
  isObject,
  type JsonObject,
  listAt,
  metadataOf,
  objectAt,
  specOf,
  statusOf,
  stringAt,
  textOf,
  valueAt,
  withSpec,
  without,
} from '../../../apimachinery/json.ts';
import { structOf } from '../../../apimachinery/api-types.ts';
import { sameInMeaning } from '../../../apimachinery/semantic-equality.ts';
import { builtIn } from '../../../apimachinery/kinds.ts';
import { strategyOf } from '../kind-strategy.ts';
import type { Strategy } from '../strategy.ts';
import { sizeWarnings } from '../validation/pod-warnings.ts';
import { immutable } from '../validation/value-rules.ts';

const oldClass = 'volume.beta.kubernetes.io/storage-class';
const classOf = (claim: JsonObject): unknown => objectAt(metadataOf(claim), 'annotations')[oldClass];
const sizeOf = (claim: JsonObject): unknown => valueAt(claim, 'spec', 'resources', 'requests', 'storage');

/** Reports whether a source may stand in `dataSource`; any other is dropped there, as from old clients. */
const isOldSource = (source: unknown): boolean => {
  if (!isObject(source)) return false;
  const group = stringAt(source, 'apiGroup');
  return source['kind'] === 'PersistentVolumeClaim'
    ? group === ''
    : source['kind'] === 'VolumeSnapshot' && group === 'snapshot.storage.k8s.io';
};

const referenceOf = ({ apiGroup, kind, name }: JsonObject): JsonObject => ({
  apiGroup: apiGroup ?? null,
  kind,
  name,
});

/** Copies each of `dataSource` and `dataSourceRef` to the other. Follows Kubernetes `NormalizeDataSources`. */
function withBothSources(spec: JsonObject): JsonObject {
  const { dataSource: source, dataSourceRef: ref } = spec;
  if (isObject(source) && !isObject(ref)) return { ...spec, dataSourceRef: referenceOf(source) };
  if (isObject(ref) && !isObject(source) && stringAt(ref, 'namespace') === '')
    return { ...spec, dataSource: referenceOf(ref) };
  return spec;
}

/** Drops what gates that are off or old clients do not mean, and fills in the sources of data. */
function prepareSpec(spec: JsonObject, old: JsonObject | undefined): JsonObject {
  const ref = objectAt(spec, 'dataSourceRef');
  // the gate CrossNamespaceVolumeDataSource is off
  const isForeign = stringAt(ref, 'namespace') !== '' && !isObject(old?.['dataSourceRef']);
  const next: JsonObject = isForeign ? without(spec, 'dataSourceRef') : spec;
  const hadSource = isObject(old?.['dataSource']) || isObject(old?.['dataSourceRef']);
  const isDropped = !hadSource && !isObject(next['dataSourceRef']) && !isOldSource(next['dataSource']);
  return withBothSources(isDropped ? without(next, 'dataSource') : next);
}

/** Returns a claim's spec without the mutable parts: size and attributes once it is bound, its volume and class before. */
function lasting(claim: JsonObject, old: JsonObject): readonly [before: JsonObject, now: JsonObject] {
  const isBound = statusOf(claim)['phase'] === 'Bound';
  const [now, before] = [specOf(claim), withBothSources(specOf(old))];
  const isFree = stringAt(before, 'volumeName') === '';
  const mayName =
    before['storageClassName'] === undefined &&
    now['storageClassName'] !== undefined &&
    [undefined, now['storageClassName']].includes(classOf(old));
  return [
    { ...before, ...(isFree && { volumeName: now['volumeName'] }) },
    {
      ...now,
      ...(isBound && withOldSize(now, before)),
      ...(mayName && { storageClassName: before['storageClassName'] }),
    },
  ];
}

/** Returns what a bound claim may change, as it was. */
function withOldSize(now: JsonObject, before: JsonObject): JsonObject {
  const resources = objectAt(now, 'resources');
  const requests = resources['requests'];
  const storage = valueAt(before, 'resources', 'requests', 'storage');
  return {
    volumeAttributesClassName: before['volumeAttributesClassName'],
    ...(isObject(requests) && { resources: { ...resources, requests: { ...requests, storage } } }),
  };
}

/** Validates that a claim does not shrink below its volume. */
function* shrunkFaults(claim: JsonObject, old: JsonObject): Faults {
  const amount = (value: unknown): Quantity => parseQuantity(textOf(value) || '0');
  const [size, before] = [amount(sizeOf(claim)), amount(sizeOf(old))];
  const real = amount(valueAt(old, 'status', 'capacity', 'storage'));
  if (compareQuantities(size, before) < 0 && compareQuantities(size, real) <= 0)
    yield forbidden('spec.resources.requests.storage', 'field can not be less than status.capacity');
}

function* attributeClassFaults(claim: JsonObject, old: JsonObject): Faults {
  const key = 'volumeAttributesClassName';
  const [name, before] = [specOf(claim)[key], specOf(old)[key]];
  const current = 'status.currentVolumeAttributesClassName is not nil';
  if (name === before || statusOf(old)['currentVolumeAttributesClassName'] === undefined) return;
  if (name === undefined) yield forbidden(`spec.${key}`, `update to nil is forbidden when ${current}`);
  else if (name === '') yield forbidden(`spec.${key}`, `update to empty string is forbidden when ${current}`);
}

const frozen =
  'spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims';

/** Follows Kubernetes `ValidatePersistentVolumeClaimUpdate` (v1.36). */
function* updateFaults(claim: JsonObject, old: JsonObject): Faults {
  const [before, now] = lasting(claim, old);
  const [annotation, annotationBefore] = [classOf(claim), classOf(old)];
  if (annotation !== annotationBefore)
    yield invalid(`metadata.annotations[${oldClass}]`, textOf(annotation), 'field is immutable');
  if (!sameInMeaning(now, before, structOf('PersistentVolumeClaimSpec')))
    yield forbidden('spec', `${frozen}\n${formDiff('ClaimSpec', before, now)}`);
  yield* shrunkFaults(claim, old);
  yield* immutable('volumeMode', specOf(claim)['volumeMode'], specOf(old)['volumeMode']);
  yield* attributeClassFaults(claim, old);
}

function* faults(claim: JsonObject, old: JsonObject | undefined): Faults {
  yield* validateClaimSpec('spec', specOf(claim));
  if (old) yield* updateFaults(claim, old);
}

const resizeStates = [
  'ControllerResizeInProgress',
  'ControllerResizeInfeasible',
  'NodeResizeInProgress',
  'NodeResizeInfeasible',
  'NodeResizePending',
];

function* resourceKey(field: string, name: string): Faults {
  const wrong = qualifiedNameRule(name);
  yield* invalidEach(field, name, wrong);
  const isNative = !name.includes('/') || name.includes('kubernetes.io/');
  if (wrong.length === 0 && isNative && name !== 'storage') yield unsupported(field, name, ['storage']);
}

function* amountFaults(field: string, value: unknown): Faults {
  const amount = parseQuantity(textOf(value));
  if (compareQuantities(amount, parseQuantity('0')) < 0)
    yield invalid(field, valueOf(amount), 'must be a valid resource quantity');
}

/** Follows Kubernetes `ValidatePersistentVolumeClaimStatusUpdate` (v1.36). */
function* statusFaults(claim: JsonObject): Faults {
  const status = statusOf(claim);
  if (listAt(specOf(claim), 'accessModes').length === 0) yield required('Spec.accessModes');
  for (const [name, value] of Object.entries(objectAt(status, 'capacity')))
    yield* amountFaults(`status.capacity[${name}]`, value);
  for (const [name, state] of Object.entries(objectAt(status, 'allocatedResourceStatuses'))) {
    const field = 'status.allocatedResourceStatuses';
    yield* resourceKey(field, name);
    if (!resizeStates.includes(textOf(state))) yield unsupported(field, name, resizeStates);
  }
  for (const [name, value] of Object.entries(objectAt(status, 'allocatedResources'))) {
    const wrong = [...resourceKey('status.allocatedResources', name)];
    yield* wrong;
    if (wrong.length === 0) yield* amountFaults(`status.allocatedResources[${name}]`, value);
  }
}

/** Follows Kubernetes `GetWarningsForPersistentVolumeClaim`. */
const warnings = (claim: JsonObject): readonly string[] => [
  ...(classOf(claim) === undefined
    ? []
    : [`metadata.annotations[${oldClass}]: deprecated since v1.8; use "storageClassName" attribute instead`]),
  ...sizeWarnings(specOf(claim), 'spec'),
];

const withPhase = (claim: JsonObject): JsonObject => ({
  ...claim,
  status: { ...statusOf(claim), phase: stringAt(statusOf(claim), 'phase') || 'Pending' },
});

/** Strategy of persistent volume claims: not removed while their protection finalizer is set. */
export const claimStrategy: Strategy = strategyOf(builtIn('persistentvolumeclaims'), {
  defaults: (claim) => withSpec(claim, { volumeMode: specOf(claim)['volumeMode'] ?? 'Filesystem' }),
  prepare: (claim, old) => ({
    ...claim,
    spec: prepareSpec(specOf(claim), old && specOf(old)),
    status: old ? old['status'] : { phase: 'Pending' },
  }),
  faults,
  metadataChecks: ['changes', 'whole'],
  warnings,
  status: { faults: statusFaults, prepare: withPhase },
});
