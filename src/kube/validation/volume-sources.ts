import { signOfQuantity, tryParseQuantity } from '../quantity.ts';
import { type Faults, forbidden, invalid, invalidEach, oneOf, required, unsupported } from './field-error.ts';
import { pullPolicy } from './containers.ts';
import { validateDownwardApi } from './downward-api.ts';
import { validateEphemeralVolume } from './ephemeral-volume.ts';
import { dns1123Subdomain } from './name-rules.ts';
import { keysToPaths } from './keys-to-paths.ts';
import type { PodContext } from './options.ts';
import { validateProjected } from './projected.ts';
import { fileMode, noBacksteps, textOf } from './shared.ts';

type Source = Readonly<Record<string, unknown>>;

/** The volume that a source belongs to. */
export interface VolumeContext {
  readonly name: string;
  readonly context: PodContext;
}

/** The faults of one kind of source; `field` ends in that kind. */
export type SourceRule = (field: string, source: Source, volume: VolumeContext) => Faults;

/** Members that must not be empty. */
const needs = (...keys: readonly string[]): SourceRule =>
  function* (field, source) {
    for (const key of keys) if (textOf(source, key) === '') yield required(`${field}.${key}`);
  };

const hostPathTypes = [
  '',
  'BlockDevice',
  'CharDevice',
  'Directory',
  'DirectoryOrCreate',
  'File',
  'FileOrCreate',
  'Socket',
];

const hostPath: SourceRule = function* (field, source) {
  const path = textOf(source, 'path');
  if (path === '') return yield required(`${field}.path`);
  yield* noBacksteps(`${field}.path`, path);
  yield* oneOf(`${field}.type`, textOf(source, 'type'), hostPathTypes);
};

const emptyDir: SourceRule = function* (field, source) {
  if (source['sizeLimit'] === undefined) return;
  const quantity = tryParseQuantity(textOf(source, 'sizeLimit'));
  if (typeof quantity === 'string' || signOfQuantity(quantity) < 0)
    yield forbidden(`${field}.sizeLimit`, 'SizeLimit field must be a valid resource quantity');
};

const nfs: SourceRule = function* (field, source) {
  yield* needs('server', 'path')(field, source, nowhere);
  const path = textOf(source, 'path');
  if (!path.startsWith('/')) yield invalid(`${field}.path`, path, 'must be an absolute path');
};

/** For rules that do not look at the volume around. */
const nowhere: VolumeContext = {
  name: '',
  context: { options: {}, pod: {}, volumes: new Map(), claimNames: new Set() },
};

const gitRepo: SourceRule = function* (field, source) {
  yield* needs('repository')(field, source, nowhere);
  const directory = textOf(source, 'directory');
  if (directory.startsWith('/')) yield invalid(`${field}.directory`, directory, 'must be a relative path');
  yield* noBacksteps(`${field}.directory`, directory);
};

const iscsi: SourceRule = function* (field, source) {
  yield* needs('targetPortal')(field, source, nowhere);
  const iqn = textOf(source, 'iqn');
  if (iqn === '') yield required(`${field}.iqn`);
  else if (!/^(iqn|eui|naa)/.test(iqn))
    yield invalid(`${field}.iqn`, iqn, 'must be valid format starting with iqn, eui, or naa');
  else if (
    !/^(iqn\.\d{4}-\d{2}\.([a-z0-9\-.]+)(:[^,;*&$|\s]+)?|eui\.[a-f0-9A-F]{16}|naa\.[a-f0-9A-F]{32})$/.test(
      iqn,
    )
  )
    yield invalid(`${field}.iqn`, iqn, 'must be valid format');
  const lun = Number(source['lun'] ?? 0);
  if (lun < 0 || lun > 255) yield invalid(`${field}.lun`, lun, 'must be between 0 and 255, inclusive');
  const chap = source['chapAuthDiscovery'] === true || source['chapAuthSession'] === true;
  if (chap && source['secretRef'] === undefined) yield required(`${field}.secretRef`);
};

const keyed = (nameKey: string): SourceRule =>
  function* (field, source) {
    yield* needs(nameKey)(field, source, nowhere);
    yield* fileMode(`${field}.defaultMode`, source['defaultMode'] as number | undefined);
    yield* keysToPaths(`${field}.items`, source['items']);
  };

const image: SourceRule = function* (field, source, volume) {
  if (volume.context.options.imageReferenceRequired ?? true) yield* needs('reference')(field, source, volume);
  yield* pullPolicy(`${field}.pullPolicy`, source['pullPolicy'] as string | undefined);
};

const csi: SourceRule = function* (field, source) {
  const driver = textOf(source, 'driver');
  if (driver === '') yield required(`${field}.driver`);
  else {
    if (driver.length > 63) yield invalid(`${field}.driver`, driver, 'must be no more than 63 characters');
    yield* invalidEach(`${field}.driver`, driver, dns1123Subdomain(driver.toLowerCase()));
  }
  const secret = source['nodePublishSecretRef'] as Source | undefined;
  if (secret && textOf(secret, 'name') === '') yield required(`${field}.nodePublishSecretRef.name`);
};

const monitors: (listKey: string, ...keys: string[]) => SourceRule = (listKey, ...keys) =>
  function* (field, source) {
    if (((source[listKey] ?? []) as readonly unknown[]).length === 0) yield required(`${field}.${listKey}`);
    yield* needs(...keys)(field, source, nowhere);
  };

const fc: SourceRule = function* (field, source) {
  const names = (source['targetWWNs'] ?? []) as readonly string[];
  const wide = (source['wwids'] ?? []) as readonly string[];
  if (names.length > 0 && wide.length > 0)
    yield invalid(
      `${field}.targetWWNs`,
      names,
      'fc: targetWWNs and wwids can not be specified simultaneously',
    );
  if (names.length === 0 && wide.length === 0)
    yield required(`${field}.targetWWNs`, 'must specify either targetWWNs or wwids, but not both');
  const lun = source['lun'] as number | undefined;
  if (names.length === 0) return;
  if (lun === undefined) yield required(`${field}.lun`, 'lun is required if targetWWNs is specified');
  else if (lun < 0 || lun > 255) yield invalid(`${field}.lun`, lun, 'must be between 0 and 255, inclusive');
};

const quobyte: SourceRule = function* (field, source) {
  yield* needs('registry', 'volume')(field, source, nowhere);
};

const flocker: SourceRule = function* (field, source) {
  const name = textOf(source, 'datasetName');
  if (name === '' && textOf(source, 'datasetUUID') === '')
    yield required(field, 'one of datasetName and datasetUUID is required');
  if (name.includes('/')) yield invalid(`${field}.datasetName`, name, "must not contain '/'");
};

const azureDisk: SourceRule = function* (field, source) {
  yield* needs('diskName', 'diskURI')(field, source, nowhere);
  const caching = source['cachingMode'] as string | undefined;
  if (caching !== undefined && !['None', 'ReadOnly', 'ReadWrite'].includes(caching))
    yield unsupported(`${field}.cachingMode`, caching, ['None', 'ReadOnly', 'ReadWrite']);
};

/** The rules of each kind of volume, in the order in which sources are looked at. */
export const volumeSourceRules: Readonly<Record<string, SourceRule>> = {
  emptyDir,
  hostPath,
  gitRepo,
  gcePersistentDisk: needs('pdName'),
  awsElasticBlockStore: needs('volumeID'),
  secret: keyed('secretName'),
  nfs,
  iscsi,
  glusterfs: needs('endpoints', 'path'),
  flocker,
  persistentVolumeClaim: needs('claimName'),
  rbd: monitors('monitors', 'image'),
  cinder: needs('volumeID'),
  cephfs: monitors('monitors'),
  quobyte,
  downwardAPI: validateDownwardApi,
  fc,
  configMap: keyed('name'),
  azureFile: needs('secretName', 'shareName'),
  vsphereVolume: needs('volumePath'),
  photonPersistentDisk: needs('pdID'),
  portworxVolume: needs('volumeID'),
  azureDisk,
  storageos: needs('volumeName'),
  projected: validateProjected,
  scaleIO: needs('gateway', 'system', 'volumeName'),
  csi,
  ephemeral: validateEphemeralVolume,
  image,
};
