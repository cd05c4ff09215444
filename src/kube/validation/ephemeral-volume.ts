import { goQuote } from '../../base/go-quote.ts';
import { parseQuantity, signOfQuantity } from '../quantity.ts';
import { type Faults, forbidden, invalid, invalidEach, oneOf, required, unsupported } from './field-error.ts';
import { annotations } from './metadata.ts';
import { dns1123Subdomain } from './name-rules.ts';
import { labels, labelSelector, type Selector } from './shared.ts';
import type { VolumeContext } from './volume-sources.ts';

type Source = Readonly<Record<string, unknown>>;

const accessModes = ['ReadOnlyMany', 'ReadWriteMany', 'ReadWriteOnce', 'ReadWriteOncePod'];

/** A claim made for the pod alone: its template, and the name that it will get. */
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

function* claimTemplate(field: string, template: Source): Faults {
  const meta = (template['metadata'] ?? {}) as Source;
  yield* labels(`${field}.metadata.labels`, meta['labels'] as Readonly<Record<string, string>> | undefined);
  yield* annotations(
    `${field}.metadata.annotations`,
    meta['annotations'] as Readonly<Record<string, string>> | undefined,
  );
  for (const key of Object.keys(meta))
    if (key !== 'labels' && key !== 'annotations')
      yield forbidden(`${field}.metadata.${key}`, 'cannot be set for an ephemeral volume');
  yield* claimSpec(`${field}.spec`, (template['spec'] ?? {}) as Source);
}

function* claimSpec(field: string, spec: Source): Faults {
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
}
