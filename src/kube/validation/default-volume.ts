import { ownMember, tableOf } from '../../base/own.ts';
import { defaultPullPolicy } from '../image-reference.ts';
import type { Volume } from '../types.ts';
import { orElse, textOf } from './shared.ts';

const defaultMode = 0o644;

/** Sets the API defaults of a volume; one without a source becomes an emptyDir (Kubernetes `SetDefaults_Volume…`). */
export function defaultVolume(volume: Volume): Volume {
  const sources = Object.entries(volume).filter(([key, source]) => key !== 'name' && source);
  if (sources.length === 0) return { ...volume, emptyDir: {} };
  const next = sources.map(([key, source]) => [key, defaultSource(key, source as Source)]);
  return { ...volume, ...(Object.fromEntries(next) as Partial<Volume>) };
}

type Source = Readonly<Record<string, unknown>>;

/** Sets the defaults of one kind of volume source. */
export const defaultSource = (kind: string, source: Source): Source =>
  ownMember(fillers, kind)?.(source) ?? source;

const withMode = (source: Source): Source => ({
  ...source,
  defaultMode: source['defaultMode'] ?? defaultMode,
});

const fillers: Readonly<Record<string, (source: Source) => Source>> = tableOf({
  secret: withMode,
  configMap: withMode,
  downwardAPI: (source) => withDownwardItems(withMode(source)),
  projected: (source) => {
    const sources = source['sources'] as readonly Source[] | undefined;
    return { ...withMode(source), ...(sources && { sources: sources.map(projection) }) };
  },
  hostPath: (source) => ({ ...source, type: source['type'] ?? '' }),
  image: (source) => ({
    ...source,
    pullPolicy: orElse(textOf(source, 'pullPolicy'), defaultPullPolicy(textOf(source, 'reference'))),
  }),
  ephemeral: (source) => ({ ...source, ...ephemeralTemplate(source) }),
  iscsi: (source) => ({ ...source, iscsiInterface: orElse(textOf(source, 'iscsiInterface'), 'default') }),
  rbd: (source) => ({
    ...source,
    pool: orElse(textOf(source, 'pool'), 'rbd'),
    user: orElse(textOf(source, 'user'), 'admin'),
    keyring: orElse(textOf(source, 'keyring'), '/etc/ceph/keyring'),
  }),
  azureDisk: (source) => ({
    ...source,
    cachingMode: source['cachingMode'] ?? 'ReadWrite',
    kind: source['kind'] ?? 'Shared',
    fsType: source['fsType'] ?? 'ext4',
    readOnly: source['readOnly'] ?? false,
  }),
  scaleIO: (source) => ({
    ...source,
    storageMode: orElse(textOf(source, 'storageMode'), 'ThinProvisioned'),
    fsType: orElse(textOf(source, 'fsType'), 'xfs'),
  }),
});

function projection(source: Source): Source {
  const token = source['serviceAccountToken'] as Source | undefined;
  const downward = source['downwardAPI'] as Source | undefined;
  return {
    ...source,
    ...(token && {
      serviceAccountToken: { ...token, expirationSeconds: token['expirationSeconds'] ?? 3600 },
    }),
    ...(downward && { downwardAPI: withDownwardItems(downward) }),
  };
}

function withDownwardItems(source: Source): Source {
  const items = source['items'] as readonly Source[] | undefined;
  return items ? { ...source, items: items.map(withFieldVersion) } : source;
}

/** Sets the default version v1 of a `fieldRef`, and the default divisor `0` of a `resourceFieldRef`. */
export function withFieldVersion<T extends object>(holder: T): T {
  const { fieldRef, resourceFieldRef } = holder as Readonly<Record<string, Source | undefined>>;
  return {
    ...holder,
    ...(fieldRef && { fieldRef: { ...fieldRef, apiVersion: orElse(textOf(fieldRef, 'apiVersion'), 'v1') } }),
    ...(resourceFieldRef && {
      resourceFieldRef: { ...resourceFieldRef, divisor: resourceFieldRef['divisor'] ?? '0' },
    }),
  };
}

function ephemeralTemplate(source: Source): Source {
  const template = source['volumeClaimTemplate'] as Source | undefined;
  if (!template) return {};
  const spec = (template['spec'] as Source | undefined) ?? {};
  return {
    volumeClaimTemplate: { ...template, spec: { ...spec, volumeMode: spec['volumeMode'] ?? 'Filesystem' } },
  };
}
