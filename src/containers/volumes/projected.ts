import { AgentError } from '../../base/errors.ts';
import type { ConfigMap, Secret, Volume } from '../../kube/types.ts';
import type { Payload } from './atomic-writer.ts';
import {
  aggregate,
  configMapPayload,
  downwardPayload,
  type DownwardSource,
  secretPayload,
} from './payload.ts';
import type { TrustBundleSource } from './trust-bundle.ts';

type Projected = NonNullable<Volume['projected']>;
type ProjectedSource = NonNullable<Projected['sources']>[number];
type TokenSource = NonNullable<ProjectedSource['serviceAccountToken']>;
type BundleSource = TrustBundleSource & { readonly path: string };

/** Sources of a projected volume, in the pod's namespace. */
export interface ProjectedSources extends DownwardSource {
  /** Returns a config map. @throws an error for which `isNotFound` is true when it does not exist */
  getConfigMap(name: string): Promise<ConfigMap>;
  getSecret(name: string): Promise<Secret>;
  /** Returns a token of the pod's service account, bound to the pod. */
  getToken(source: { readonly audience?: string; readonly expirationSeconds?: number }): Promise<string>;
  /** Returns the trust anchors that a source selects, as PEM; rejects when there are none and the source is not optional. */
  getTrustBundle(source: TrustBundleSource): Promise<string>;
  readonly isNotFound: (reason: unknown) => boolean;
  /** Owner of tokens and trust anchors when all containers run as one user (kubelet `FsUserFrom`). */
  readonly fsUser?: number;
  readonly fsGroup?: number;
}

/**
 * Returns the files of a projected volume: all sources in order, later ones override earlier ones at the same path.
 * Follows kubelet `projectedVolumeMounter.collectData`.
 *
 * @throws {AgentError} with the errors of all sources
 */
export async function projectedPayload(volume: Projected, sources: ProjectedSources): Promise<Payload> {
  const { defaultMode } = volume;
  if (typeof defaultMode !== 'number')
    throw new AgentError('invalid_argument', 'no defaultMode used, not even the default value for it');
  const faults: unknown[] = [];
  const files = new Map<string, Payload[string]>();
  for (const source of volume.sources ?? []) {
    try {
      const found = await sourcePayload(source, defaultMode, sources);
      for (const [path, file] of Object.entries(found)) files.set(path, file);
    } catch (reason) {
      faults.push(reason);
    }
  }
  const fault = aggregate(faults);
  if (fault) throw fault;
  return Object.fromEntries(files);
}

async function sourcePayload(
  source: ProjectedSource,
  defaultMode: number,
  sources: ProjectedSources,
): Promise<Payload> {
  const { secret, configMap, downwardAPI, serviceAccountToken, clusterTrustBundle } = source;
  if (secret) {
    const found = await orEmpty<Secret>(sources.getSecret(secret.name ?? ''), secret.optional, sources);
    return secretPayload(found, { items: secret.items, defaultMode, optional: secret.optional });
  }
  if (configMap) {
    const found = await orEmpty<ConfigMap>(
      sources.getConfigMap(configMap.name ?? ''),
      configMap.optional,
      sources,
    );
    return configMapPayload(found, {
      items: configMap.items,
      defaultMode,
      optional: configMap.optional,
    });
  }
  if (downwardAPI) return downwardPayload(downwardAPI.items ?? [], defaultMode, sources);
  if (serviceAccountToken) return tokenPayload(serviceAccountToken, defaultMode, sources);
  if (clusterTrustBundle) return bundlePayload(clusterTrustBundle, defaultMode, sources);
  return {};
}

/** Returns an empty object when an optional one does not exist. */
async function orEmpty<T extends object>(
  found: Promise<T>,
  optional: boolean | undefined,
  { isNotFound }: ProjectedSources,
): Promise<T | Record<string, never>> {
  try {
    return await found;
  } catch (reason) {
    if (optional && isNotFound(reason)) return {};
    throw reason;
  }
}

async function tokenPayload(
  { audience, expirationSeconds, path }: TokenSource,
  defaultMode: number,
  sources: ProjectedSources,
): Promise<Payload> {
  const token = await sources.getToken({
    ...(audience && { audience }),
    ...(expirationSeconds !== undefined && { expirationSeconds }),
  });
  return readersOwn(path, token, defaultMode, sources);
}

async function bundlePayload(
  source: BundleSource,
  defaultMode: number,
  sources: ProjectedSources,
): Promise<Payload> {
  if (source.name === undefined && source.signerName === undefined)
    throw new AgentError(
      'invalid_argument',
      'ClusterTrustBundle projection requires either name or signerName to be set',
    );
  return readersOwn(source.path, await sources.getTrustBundle(source), defaultMode, sources);
}

/** Restricts a file to its owner when there is a single user; the group gets access through the volume's ownership. */
function readersOwn(
  path: string,
  text: string,
  defaultMode: number,
  { fsUser, fsGroup }: Pick<ProjectedSources, 'fsUser' | 'fsGroup'>,
): Payload {
  const mode = fsUser !== undefined || fsGroup !== undefined ? 0o600 : defaultMode;
  return { [path]: { data: Buffer.from(text), mode, ...(fsUser !== undefined && { uid: fsUser }) } };
}
