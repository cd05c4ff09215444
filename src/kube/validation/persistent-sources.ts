import { ownMember } from '../../base/own.ts';
import { hasInitiatorFormat } from './disk-sources.ts';
import { type Faults, forbidden, invalid, invalidEach, required } from './field-error.ts';
import { dns1123Label, dns1123Subdomain } from './name-rules.ts';
import { driverName, noBacksteps, textOf } from './shared.ts';
import type { Source } from './volume-rule.ts';
import { nowhere, volumeSourceRules } from './volume-sources.ts';

/** Validates one kind of source of a persistent volume. */
type PersistentRule = (field: string, source: Source, volumeName: string) => Faults;

function* needs(field: string, source: Source, ...keys: readonly string[]): Faults {
  for (const key of keys) if (textOf(source, key) === '') yield required(`${field}.${key}`);
}

const needing =
  (...keys: readonly string[]): PersistentRule =>
  (field, source) =>
    needs(field, source, ...keys);

/** Returns the rule of the same kind of source in pods. */
const asInPods = (key: string): PersistentRule =>
  function* (field, source) {
    const rule = ownMember(volumeSourceRules, key);
    if (rule) yield* rule(field, source, nowhere);
  };

function* secret(field: string, ref: unknown): Faults {
  if (ref !== undefined) yield* needs(field, ref as Source, 'name', 'namespace');
}

const monitors = (...keys: readonly string[]): PersistentRule =>
  function* (field, source) {
    if (((source['monitors'] ?? []) as readonly unknown[]).length === 0) yield required(`${field}.monitors`);
    yield* needs(field, source, ...keys);
  };

const glusterfs: PersistentRule = function* (field, source) {
  yield* needs(field, source, 'endpoints', 'path');
  const namespace = source['endpointsNamespace'];
  const at = `${field}.endpointsNamespace`;
  if (namespace === '')
    yield invalid(at, '', 'if the endpointnamespace is set, it must be a valid namespace name');
  else if (typeof namespace === 'string') yield* invalidEach(at, namespace, dns1123Label(namespace));
};

function* initiator(field: string, name: string): Faults {
  if (!/^(iqn|eui|naa)/.test(name)) yield invalid(field, name, 'must be valid format');
  else if (!hasInitiatorFormat(name)) yield invalid(field, name, 'must be valid format');
}

const iscsi: PersistentRule = function* (field, source, volumeName) {
  const [portal, iqn] = [textOf(source, 'targetPortal'), textOf(source, 'iqn')];
  const name = source['initiatorName'];
  yield* needs(field, source, 'targetPortal');
  if (name !== undefined && Buffer.byteLength(`${volumeName}:${portal}`) > 64)
    yield invalid(
      `${field}.targetportal`,
      portal,
      'Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is specified.',
    );
  if (iqn === '') yield required(`${field}.iqn`);
  else yield* initiator(`${field}.iqn`, iqn);
  const lun = Number(source['lun'] ?? 0);
  if (lun < 0 || lun > 255) yield invalid(`${field}.lun`, lun, 'must be between 0 and 255, inclusive');
  yield* chapSecret(field, source);
  if (typeof name === 'string') yield* initiator(`${field}.initiatorname`, name);
};

function* chapSecret(field: string, source: Source): Faults {
  const ref = source['secretRef'];
  const isUsed = source['chapAuthDiscovery'] === true || source['chapAuthSession'] === true;
  if (ref !== undefined) yield* needs(`${field}.secretRef`, ref as Source, 'name');
  else if (isUsed) yield required(`${field}.secretRef`);
}

const azureFile: PersistentRule = function* (field, source) {
  yield* needs(field, source, 'secretName', 'shareName');
  if (source['secretNamespace'] === '') yield required(`${field}.secretNamespace`);
};

const cinder: PersistentRule = function* (field, source) {
  yield* needs(field, source, 'volumeID');
  yield* secret(`${field}.secretRef`, source['secretRef']);
};

const local: PersistentRule = function* (field, source) {
  const path = textOf(source, 'path');
  if (path === '') yield required(`${field}.path`);
  else yield* noBacksteps(`${field}.path`, path);
};

const storageos: PersistentRule = function* (field, source) {
  const [name, namespace] = [textOf(source, 'volumeName'), textOf(source, 'volumeNamespace')];
  if (name === '') yield required(`${field}.volumeName`);
  else yield* invalidEach(`${field}.volumeName`, name, dns1123Label(name));
  if (namespace !== '') yield* invalidEach(`${field}.volumeNamespace`, namespace, dns1123Label(namespace));
  yield* secret(`${field}.secretRef`, source['secretRef']);
};

const csiSecrets = [
  'controllerPublishSecretRef',
  'controllerExpandSecretRef',
  'nodePublishSecretRef',
  'nodeExpandSecretRef',
];

const csi: PersistentRule = function* (field, source) {
  yield* driverName(`${field}.driver`, textOf(source, 'driver'));
  yield* needs(field, source, 'volumeHandle');
  for (const key of csiSecrets) {
    const ref = ownMember(source, key) as Source | undefined;
    if (ref === undefined) continue;
    const [name, namespace] = [textOf(ref, 'name'), textOf(ref, 'namespace')];
    if (name === '') yield required(`${field}.${key}.name`);
    else yield* invalidEach(`${field}.${key}.name`, name, dns1123Subdomain(name));
    if (namespace === '') yield required(`${field}.${key}.namespace`);
    else yield* invalidEach(`${field}.${key}.namespace`, namespace, dns1123Label(namespace));
  }
};

/** A kind of source: its rule, and its name in errors where that is not the member's. */
interface PersistentSource {
  readonly rule: PersistentRule;
  readonly named?: string;
  /** Its name where a second source is refused. */
  readonly refused?: string;
}

/** Kinds of sources, in the order in which they are checked. */
const sources: Readonly<Record<string, PersistentSource>> = {
  hostPath: { rule: asInPods('hostPath') },
  gcePersistentDisk: { rule: asInPods('gcePersistentDisk'), named: 'persistentDisk' },
  awsElasticBlockStore: { rule: asInPods('awsElasticBlockStore') },
  glusterfs: { rule: glusterfs },
  flocker: { rule: asInPods('flocker') },
  nfs: { rule: asInPods('nfs') },
  rbd: { rule: monitors('image') },
  quobyte: { rule: asInPods('quobyte') },
  cephfs: { rule: monitors(), refused: 'cephFS' },
  iscsi: { rule: iscsi },
  cinder: { rule: cinder },
  fc: { rule: asInPods('fc') },
  flexVolume: { rule: asInPods('flexVolume') },
  azureFile: { rule: azureFile },
  vsphereVolume: { rule: asInPods('vsphereVolume') },
  photonPersistentDisk: { rule: asInPods('photonPersistentDisk') },
  portworxVolume: { rule: asInPods('portworxVolume') },
  azureDisk: { rule: asInPods('azureDisk') },
  scaleIO: { rule: needing('gateway', 'system', 'volumeName') },
  local: { rule: local },
  storageos: { rule: storageos },
  csi: { rule: csi },
};

/** The volume whose source is validated. */
export interface PersistentVolumeContext {
  readonly name: string;
  /** Whether the volume says at which nodes it is. */
  readonly hasNodeAffinity: boolean;
}

/** Validates the source of a persistent volume: exactly one kind. Follows Kubernetes `ValidatePersistentVolumeSpec` (v1.36). */
export function* persistentSourceFaults(
  field: string,
  spec: Source,
  { name, hasNodeAffinity }: PersistentVolumeContext,
): Faults {
  let count = 0;
  for (const [kind, { rule, named = kind, refused = kind }] of Object.entries(sources)) {
    const source = ownMember(spec, kind) as Source | undefined;
    if (source === undefined) continue;
    // a second flexVolume is not refused, as in kube-apiserver
    if (count > 0 && kind !== 'flexVolume') {
      yield forbidden(`${field}.${refused}`, 'may not specify more than 1 volume type');
      continue;
    }
    count++;
    yield* rule(`${field}.${named}`, source, name);
    if (kind === 'local' && !hasNodeAffinity)
      yield required(`${field}.nodeAffinity`, 'Local volume requires node affinity');
  }
  if (count === 0) yield required(field, 'must specify a volume type');
}
