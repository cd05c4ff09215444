import { tableOf } from '../../base/own.ts';
import { type JsonObject, listAt, nameOf, objectAt, stringAt, valueAt } from '../../apimachinery/json.ts';
import { type Column, column } from './table-printer.ts';

const shortModes: Readonly<Record<string, string>> = tableOf({
  ReadWriteOnce: 'RWO',
  ReadOnlyMany: 'ROX',
  ReadWriteMany: 'RWX',
  ReadWriteOncePod: 'RWOP',
});

/** Formats each mode once, in the order of Kubernetes' own printers. */
const modesOf = (modes: readonly unknown[]): string =>
  Object.keys(shortModes)
    .filter((mode) => modes.includes(mode))
    .map((mode) => shortModes[mode])
    .join(',');

const phaseOf = (object: JsonObject): string =>
  valueAt(object, 'metadata', 'deletionTimestamp') === undefined
    ? stringAt(objectAt(object, 'status'), 'phase')
    : 'Terminating';

const classOf = (object: JsonObject): string =>
  stringAt(
    objectAt(objectAt(object, 'metadata'), 'annotations'),
    'volume.beta.kubernetes.io/storage-class',
  ) || stringAt(objectAt(object, 'spec'), 'storageClassName');

const orUnset = (text: string): string => text || '<unset>';
const attributesOf = (object: JsonObject): string =>
  orUnset(stringAt(objectAt(object, 'spec'), 'volumeAttributesClassName'));
const volumeModeOf = (object: JsonObject): string =>
  orUnset(stringAt(objectAt(object, 'spec'), 'volumeMode'));
const storageOf = (capacity: JsonObject): string => stringAt(capacity, 'storage');

export const volumeColumns: readonly Column[] = [
  ...['Name', 'Capacity', 'Access Modes', 'Reclaim Policy', 'Status', 'Claim', 'StorageClass'],
  ...['VolumeAttributesClass', 'Reason', 'Age'],
]
  .map((one) => column(one))
  .concat(column('VolumeMode', 1));

/** Returns a persistent volume's cells. Follows `printPersistentVolume` (pkg/printers/internalversion). */
export function volumeCells(volume: JsonObject, age: string): readonly unknown[] {
  const spec = objectAt(volume, 'spec');
  const claim = objectAt(spec, 'claimRef');
  const claimName = stringAt(claim, 'name');
  return [
    nameOf(volume),
    storageOf(objectAt(spec, 'capacity')),
    modesOf(listAt(spec, 'accessModes')),
    stringAt(spec, 'persistentVolumeReclaimPolicy'),
    phaseOf(volume),
    claimName && `${stringAt(claim, 'namespace')}/${claimName}`,
    classOf(volume),
    attributesOf(volume),
    stringAt(objectAt(volume, 'status'), 'reason'),
    age,
    volumeModeOf(volume),
  ];
}

export const claimColumns: readonly Column[] = [
  ...['Name', 'Status', 'Volume', 'Capacity', 'Access Modes'],
  ...['StorageClass', 'VolumeAttributesClass', 'Age'],
]
  .map((one) => column(one))
  .concat(column('VolumeMode', 1));

/** Returns a claim's cells; its capacity is shown once it has a volume. Follows `printPersistentVolumeClaim`. */
export function claimCells(claim: JsonObject, age: string): readonly unknown[] {
  const [spec, status] = [objectAt(claim, 'spec'), objectAt(claim, 'status')];
  const volume = stringAt(spec, 'volumeName');
  return [
    nameOf(claim),
    phaseOf(claim),
    volume,
    volume && storageOf(objectAt(status, 'capacity')),
    volume && modesOf(listAt(status, 'accessModes')),
    classOf(claim),
    attributesOf(claim),
    age,
    volumeModeOf(claim),
  ];
}
