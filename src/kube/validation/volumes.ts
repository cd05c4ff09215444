import { ownMember, tableOf } from '../../base/own.ts';
import type { Volume } from '../types.ts';
import { duplicate, type FieldError, type Faults, forbidden, invalid, required } from './field-error.ts';
import type { PodContext } from './options.ts';
import { label, textOf } from './shared.ts';
import { volumeSourceRules } from './volume-sources.ts';

type Source = Readonly<Record<string, unknown>>;

/** Sources of a pod's valid volumes by name, and all errors. */
export interface VolumesFound {
  readonly volumes: ReadonlyMap<string, Source>;
  readonly faults: readonly FieldError[];
}

/** Validates the volumes of a pod (Kubernetes `ValidateVolumes`). */
export function validateVolumes(field: string, context: PodContext): VolumesFound {
  const list = context.pod.spec?.volumes ?? [];
  const podName = context.pod.metadata?.name ?? '';
  const created = new Set(
    list.filter(({ ephemeral }) => podName !== '' && ephemeral).map(({ name }) => `${podName}-${name}`),
  );
  const volumes = new Map<string, Source>();
  const faults: FieldError[] = [];
  for (const [i, volume] of list.entries()) {
    const own = [...oneVolume(`${field}[${i}]`, volume, volumes, context)];
    if (own.length === 0) volumes.set(volume.name, volume);
    faults.push(...own);
    const claim = volume.persistentVolumeClaim?.claimName;
    if (claim !== undefined && created.has(claim))
      faults.push(
        invalid(
          `${field}[${i}].persistentVolumeClaim.claimName`,
          claim,
          'must not reference a PVC that gets created for an ephemeral volume',
        ),
      );
  }
  return { volumes, faults };
}

function* oneVolume(
  field: string,
  volume: Volume,
  volumeNames: ReadonlyMap<string, unknown>,
  context: PodContext,
): Faults {
  yield* volumeSource(field, volume, context);
  const { name = '' } = volume as Partial<Volume>;
  if (name === '') yield required(`${field}.name`);
  else yield* label(`${field}.name`, name);
  if (volumeNames.has(name)) yield duplicate(`${field}.name`, name);
}

/** Names that kube-apiserver uses in messages about excess sources. */
const misspelt: Readonly<Record<string, string>> = tableOf({ cephfs: 'cephFS', downwardAPI: 'downwarAPI' });

/** Names that it uses in messages about members of a source. */
const inside: Readonly<Record<string, string>> = tableOf({ gcePersistentDisk: 'persistentDisk' });

/** Requires exactly one source; the first is validated, others are too many. */
function* volumeSource(field: string, volume: Source, context: PodContext): Faults {
  let seen = 0;
  for (const [kind, rule] of Object.entries(volumeSourceRules)) {
    const source = ownMember(volume, kind) as Source | undefined;
    if (source === undefined) continue;
    if (seen++ > 0)
      yield forbidden(`${field}.${misspelt[kind] ?? kind}`, 'may not specify more than 1 volume type');
    else yield* rule(`${field}.${inside[kind] ?? kind}`, source, { name: textOf(volume, 'name'), context });
    if (kind === 'iscsi') yield* initiatorAddress(`${field}.name`, textOf(volume, 'name'), source);
  }
  if (seen === 0) yield required(field, 'must specify a volume type');
}

const longestInitiatorAddress = 64;

function* initiatorAddress(field: string, name: string, source: Source): Faults {
  if (source['initiatorName'] === undefined) return;
  if (Buffer.byteLength(`${name}:${textOf(source, 'targetPortal')}`) > longestInitiatorAddress)
    yield invalid(
      field,
      name,
      'Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is specified.',
    );
}
