import { dns1123Label } from './name-rules.ts';
import { type Faults, invalid, invalidEach, oneOf, required, unsupported } from './field-error.ts';
import { textOf } from './shared.ts';
import type { SourceRule } from './volume-rule.ts';

type Source = Readonly<Record<string, unknown>>;

function* needs(field: string, source: Source, ...keys: readonly string[]): Faults {
  for (const key of keys) if (textOf(source, key) === '') yield required(`${field}.${key}`);
}

function* namedSecret(field: string, secret: unknown): Faults {
  if (secret !== undefined && secret !== null) yield* needs(field, secret as Source, 'name');
}

function* between(field: string, value: unknown, least: number, shown = least): Faults {
  const number = Number(value ?? 0);
  if (number < least || number > 255)
    yield invalid(field, number, `must be between ${shown} and 255, inclusive`);
}

const initiator =
  /^(iqn\.\d{4}-\d{2}\.([a-z0-9\-.]+)(:[^,;*&$|\s]+)?|eui\.[a-f0-9A-F]{16}|naa\.[a-f0-9A-F]{32})$/;

/** Reports whether a text is an iSCSI name. */
export const hasInitiatorFormat = (name: string): boolean => initiator.test(name);

function* initiatorName(field: string, name: string): Faults {
  if (!/^(iqn|eui|naa)/.test(name))
    yield invalid(field, name, 'must be valid format starting with iqn, eui, or naa');
  else if (!initiator.test(name)) yield invalid(field, name, 'must be valid format');
}

export const iscsi: SourceRule = function* (field, source) {
  yield* needs(field, source, 'targetPortal');
  const iqn = textOf(source, 'iqn');
  if (iqn === '') yield required(`${field}.iqn`);
  else yield* initiatorName(`${field}.iqn`, iqn);
  yield* between(`${field}.lun`, source['lun'], 0);
  const chap = source['chapAuthDiscovery'] === true || source['chapAuthSession'] === true;
  if (chap && source['secretRef'] === undefined) yield required(`${field}.secretRef`);
  if (source['initiatorName'] !== undefined)
    yield* initiatorName(`${field}.initiatorname`, textOf(source, 'initiatorName'));
};

export const fc: SourceRule = function* (field, source) {
  const names = (source['targetWWNs'] ?? []) as readonly string[];
  const wide = (source['wwids'] ?? []) as readonly string[];
  if (names.length === 0 && wide.length === 0)
    yield required(`${field}.targetWWNs`, 'must specify either targetWWNs or wwids, but not both');
  if (names.length > 0 && wide.length > 0)
    yield invalid(`${field}.targetWWNs`, names, 'targetWWNs and wwids can not be specified simultaneously');
  if (names.length === 0) return;
  if (source['lun'] === undefined)
    yield required(`${field}.lun`, 'lun is required if targetWWNs is specified');
  else yield* between(`${field}.lun`, source['lun'], 0);
};

/** Returns the rule of a cloud disk with partitions. */
export const partitioned = (key: string): SourceRule =>
  function* (field, source) {
    yield* needs(field, source, key);
    yield* between(`${field}.partition`, source['partition'], 0, 1);
  };

const pairs = 'must be a host:port pair or multiple pairs separated by commas';

export const quobyte: SourceRule = function* (field, source) {
  const registry = textOf(source, 'registry');
  if (registry === '') yield required(`${field}.registry`, pairs);
  else if (textOf(source, 'tenant').length > 64)
    yield required(`${field}.tenant`, 'must be a UUID and may not exceed a length of 64 characters');
  else
    for (const pair of registry.split(','))
      if (!/^(\[[^[\]]*\]|[^:[\]]*):[^:[\]]*$/.test(pair))
        yield invalid(`${field}.registry`, registry, pairs);
  yield* needs(field, source, 'volume');
};

export const flocker: SourceRule = function* (field, source) {
  const [name, uuid] = [textOf(source, 'datasetName'), textOf(source, 'datasetUUID')];
  if (name === '' && uuid === '') yield required(field, 'one of datasetName and datasetUUID is required');
  if (name !== '' && uuid !== '')
    yield invalid(field, 'resource', 'datasetName and datasetUUID can not be specified simultaneously');
  if (name.includes('/')) yield invalid(`${field}.datasetName`, name, "must not contain '/'");
};

export const flexVolume: SourceRule = function* (field, source) {
  yield* needs(field, source, 'driver');
  for (const key of Object.keys(source['options'] ?? {}).sort()) {
    const cut = key.indexOf('/');
    const namespace = `.${(cut < 0 ? key : key.slice(0, cut)).toLowerCase()}`;
    if (namespace.endsWith('.kubernetes.io') || namespace.endsWith('.k8s.io'))
      yield invalid(`${field}.options[${key}]`, key, 'kubernetes.io and k8s.io namespaces are reserved');
  }
};

export const cinder: SourceRule = function* (field, source) {
  yield* needs(field, source, 'volumeID');
  yield* namedSecret(`${field}.secretRef`, source['secretRef']);
};

export const storageos: SourceRule = function* (field, source) {
  const [name, namespace] = [textOf(source, 'volumeName'), textOf(source, 'volumeNamespace')];
  if (name === '') yield required(`${field}.volumeName`);
  else yield* invalidEach(`${field}.volumeName`, name, dns1123Label(name));
  if (namespace !== '') yield* invalidEach(`${field}.volumeNamespace`, namespace, dns1123Label(namespace));
  yield* namedSecret(`${field}.secretRef`, source['secretRef']);
};

export const azureDisk: SourceRule = function* (field, source) {
  yield* needs(field, source, 'diskName', 'diskURI');
  const [caching, kind] = [source['cachingMode'], source['kind']] as (string | undefined)[];
  if (caching !== undefined) yield* oneOf(`${field}.cachingMode`, caching, ['None', 'ReadOnly', 'ReadWrite']);
  if (kind === undefined) return;
  yield* oneOf(`${field}.kind`, kind, ['Dedicated', 'Managed', 'Shared']);
  const uri = textOf(source, 'diskURI');
  const [start, form] =
    kind === 'Managed'
      ? [
          '/subscriptions/',
          '/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}',
        ]
      : ['https://', 'https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd'];
  if (!uri.startsWith(start)) yield unsupported(`${field}.diskURI`, uri, [form]);
};
