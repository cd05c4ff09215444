import { ownMember } from '../../base/own.ts';
import { signOfQuantity, tryParseQuantity } from '../resources/quantity.ts';
import { forbidden, invalid, invalidEach, oneOf, required } from './field-error.ts';
import { pullPolicy } from './containers.ts';
import {
  azureDisk,
  cinder,
  fc,
  flexVolume,
  flocker,
  iscsi,
  partitioned,
  quobyte,
  storageos,
} from './disk-sources.ts';
import { validateDownwardApi } from './downward-api.ts';
import { validateEphemeralVolume } from './ephemeral-volume.ts';
import { dns1123Subdomain } from './name-rules.ts';
import { keysToPaths } from './keys-to-paths.ts';
import { validateProjected } from './projected.ts';
import { driverName, fileMode, noBacksteps, textOf } from './shared.ts';
import type { SourceRule, VolumeContext, Source } from './volume-rule.ts';

/** Returns a rule for members that must not be empty. */
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

/** Context for rules that do not use the volume. */
export const nowhere: VolumeContext = {
  name: '',
  context: { options: {}, pod: {}, volumes: new Map(), claimNames: new Set() },
};

const gitRepo: SourceRule = function* (field, source) {
  yield* needs('repository')(field, source, nowhere);
  const directory = textOf(source, 'directory');
  if (directory.startsWith('/')) yield invalid(`${field}.directory`, directory, 'must be a relative path');
  yield* noBacksteps(`${field}.directory`, directory);
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
  yield* driverName(`${field}.driver`, textOf(source, 'driver'));
  const secret = source['nodePublishSecretRef'] as Source | undefined;
  const name = secret && textOf(secret, 'name');
  if (name === '') yield required(`${field}.nodePublishSecretRef.name`);
  else if (name !== undefined) yield* invalidEach(`${field}.name`, name, dns1123Subdomain(name));
};

const monitors: (listKey: string, ...keys: string[]) => SourceRule = (listKey, ...keys) =>
  function* (field, source) {
    if (((ownMember(source, listKey) ?? []) as readonly unknown[]).length === 0)
      yield required(`${field}.${listKey}`);
    yield* needs(...keys)(field, source, nowhere);
  };

/** Rules by kind of volume, in the order in which sources are checked. */
export const volumeSourceRules: Readonly<Record<string, SourceRule>> = {
  emptyDir,
  hostPath,
  gitRepo,
  gcePersistentDisk: partitioned('pdName'),
  awsElasticBlockStore: partitioned('volumeID'),
  secret: keyed('secretName'),
  nfs,
  iscsi,
  glusterfs: needs('endpoints', 'path'),
  flocker,
  persistentVolumeClaim: needs('claimName'),
  rbd: monitors('monitors', 'image'),
  cinder,
  cephfs: monitors('monitors'),
  quobyte,
  downwardAPI: validateDownwardApi,
  fc,
  flexVolume,
  configMap: keyed('name'),
  azureFile: needs('secretName', 'shareName'),
  vsphereVolume: needs('volumePath'),
  photonPersistentDisk: needs('pdID'),
  portworxVolume: needs('volumeID'),
  azureDisk,
  storageos,
  projected: validateProjected,
  scaleIO: needs('gateway', 'system', 'volumeName'),
  csi,
  ephemeral: validateEphemeralVolume,
  image,
};
