import { ownMember } from '../../base/own.ts';
import { goQuote } from '../../go/go-quote.ts';
import { parseQuantity, signOfQuantity } from '../resources/quantity.ts';
import { type Faults, forbidden, invalid, invalidEach, oneOf, required, unsupported } from './field-error.ts';
import { annotations } from './metadata.ts';
import { dns1123Label, dns1123Subdomain } from './name-rules.ts';
import { labels, labelSelector, type Selector, textOf } from './shared.ts';
import type { VolumeContext } from './volume-rule.ts';

type Source = Readonly<Record<string, unknown>>;

const accessModes = ['ReadOnlyMany', 'ReadWriteMany', 'ReadWriteOnce', 'ReadWriteOncePod'];

/** Validates a generic ephemeral volume: its template, and the name of its claim. */
export function* validateEphemeralVolume(
  field: string,
  source: Source,
  { name, context }: VolumeContext,
): Faults {
  const template = source['volumeClaimTemplate'] as Source | undefined;
  if (!template) yield required(`${field}.volumeClaimTemplate`);
  else yield* claimTemplate(`${field}.volumeClaimTemplate`, template);
  const podName = context.pod.metadata?.name ?? '';
  if (podName === '' || name === '') return;
  const claim = `${podName}-${name}`;
  for (const fault of dns1123Subdomain(claim))
    yield invalid(field.replace(/\.ephemeral$/, '.name'), name, `PVC name ${goQuote(claim)}: ${fault}`);
}

/** Metadata that a template cannot have, in Go's order, and its name in messages. */
const notInTemplates: readonly (readonly [key: string, named?: string])[] = [
  ['name'],
  ['generateName'],
  ['namespace'],
  ['selfLink'],
  ['uid', 'uID'],
  ['resourceVersion'],
  ['generation'],
  ['creationTimestamp'],
  ['deletionTimestamp'],
  ['deletionGracePeriodSeconds'],
  ['ownerReferences'],
  ['finalizers'],
  ['managedFields'],
];

const isZero = (value: unknown): boolean => value === undefined || value === '' || value === 0;

type Texts = Readonly<Record<string, string>> | undefined;

/** Validates the metadata of a template: it has labels and annotations only. Follows Kubernetes `ValidateTemplateObjectMeta`. */
export function* templateMetadata(field: string, meta: Source): Faults {
  yield* annotations(`${field}.annotations`, meta['annotations'] as Texts);
  yield* labels(`${field}.labels`, meta['labels'] as Texts);
  for (const [key, named = key] of notInTemplates)
    if (!isZero(ownMember(meta, key))) yield forbidden(`${field}.${named}`, 'cannot be set');
}

function* claimTemplate(field: string, template: Source): Faults {
  yield* templateMetadata(`${field}.metadata`, (template['metadata'] ?? {}) as Source);
  yield* validateClaimSpec(`${field}.spec`, (template['spec'] ?? {}) as Source);
}

/** Validates the spec of a claim. Follows Kubernetes `ValidatePersistentVolumeClaimSpec`. */
export function* validateClaimSpec(field: string, spec: Source): Faults {
  const modes = (spec['accessModes'] ?? []) as readonly string[];
  if (modes.length === 0) yield required(`${field}.accessModes`, 'at least 1 access mode is required');
  yield* labelSelector(`${field}.selector`, spec['selector'] as Selector | undefined);
  for (const mode of modes)
    if (!accessModes.includes(mode)) yield unsupported(`${field}.accessModes`, mode, accessModes);
  if (modes.includes('ReadWriteOncePod') && modes.length > 1)
    yield forbidden(`${field}.accessModes`, 'may not use ReadWriteOncePod with other access modes');
  yield* storageRequest(`${field}.resources[storage]`, (spec['resources'] ?? {}) as Source);
  yield* storageKind(field, spec);
}

function* storageRequest(field: string, resources: Source): Faults {
  const storage = (resources['requests'] as Readonly<Record<string, string>> | undefined)?.['storage'];
  if (storage === undefined) yield required(field);
  else if (signOfQuantity(parseQuantity(storage)) <= 0)
    yield invalid(field, storage, 'must be greater than zero');
}

function* storageKind(field: string, spec: Source): Faults {
  const storageClass = spec['storageClassName'] as string | undefined;
  if (storageClass !== undefined && storageClass !== '')
    yield* invalidEach(`${field}.storageClassName`, storageClass, dns1123Subdomain(storageClass));
  const mode = spec['volumeMode'] as string | undefined;
  if (mode !== undefined) yield* oneOf(`${field}.volumeMode`, mode, ['Block', 'Filesystem']);
  yield* dataSources(
    field,
    spec['dataSource'] as Source | undefined,
    spec['dataSourceRef'] as Source | undefined,
  );
  const attributes = textOf(spec, 'volumeAttributesClassName');
  if (attributes !== '')
    yield* invalidEach(`${field}.volumeAttributesClassName`, attributes, dns1123Subdomain(attributes));
}

/** Validates `dataSource` and `dataSourceRef`. */
function* dataSources(field: string, source: Source | undefined, ref: Source | undefined): Faults {
  if (source) yield* dataSource(`${field}.dataSource`, source);
  if (ref) yield* dataSource(`${field}.dataSourceRef`, ref);
  const namespace = ref ? textOf(ref, 'namespace') : '';
  if (namespace !== '')
    yield* invalidEach(`${field}.dataSourceRef.namespace`, namespace, dns1123Label(namespace));
  if (!source || !ref) return;
  if (namespace !== '')
    yield invalid(field, {}, 'may not be specified when dataSourceRef.namespace is specified');
  else if (['apiGroup', 'kind', 'name'].some((key) => ownMember(source, key) !== ownMember(ref, key)))
    yield invalid(field, {}, 'must match dataSourceRef');
}

function* dataSource(field: string, source: Source): Faults {
  const [kind, group] = [textOf(source, 'kind'), textOf(source, 'apiGroup')];
  if (textOf(source, 'name') === '') yield required(`${field}.name`);
  if (kind === '') yield required(`${field}.kind`);
  if (group !== '') yield* invalidEach(`${field}.apiGroup`, group, dns1123Subdomain(group));
  else if (kind !== 'PersistentVolumeClaim')
    yield invalid(field, kind, "must be 'PersistentVolumeClaim' when referencing the default apiGroup");
}
