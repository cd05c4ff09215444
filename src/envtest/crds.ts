import { type ApiClient, ApiError } from '../api/client.ts';
import { createApiClient } from '../api/rest/http-client.ts';
import type { ApiConnection } from '../api/rest/connection.ts';
import type { Resource } from '../api/resources.ts';
import { type Clock, systemClock } from '../base/clock.ts';
import { AgentError } from '../base/errors.ts';
import { createOrReplace } from './install.ts';
import { type Manifest, type ReadManifest, readManifests } from './manifests.ts';

const definitionResource: Resource = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  resource: 'customresourcedefinitions',
  kind: 'CustomResourceDefinition',
  namespaced: false,
};

/** How long a definition may take until it is served, ms. */
const servedWithinMs = 10_000;
const lookMs = 50;

/** A definition, and the parts of it that matter here. */
interface Definition extends Manifest {
  readonly spec: {
    readonly group: string;
    readonly names: { readonly plural: string; readonly kind: string };
    readonly versions: readonly { readonly name: string; readonly served?: boolean }[];
    readonly conversion?: unknown;
  };
}

const isDefinition = (object: Manifest): object is Definition => {
  const spec: Partial<Definition['spec']> = object['spec'] ?? {};
  return object.kind === definitionResource.kind && Array.isArray(spec.versions) && spec.names !== undefined;
};

/**
 * Reads the CustomResourceDefinitions of files, folders and objects; other kinds in a file are ignored. Of two with one name the last one
 * counts.
 *
 * @throws {AgentError} `invalid_argument` for what cannot be read
 */
export async function readCrds(sources: readonly (string | object)[]): Promise<readonly ReadManifest[]> {
  const byName = new Map<string, ReadManifest>();
  for (const one of await readManifests(sources, 'crds'))
    if (isDefinition(one.object)) byName.set(one.object.metadata.name ?? one.from, one);
  return [...byName.values()];
}

/**
 * Creates or updates definitions, and resolves once every version of them is served.
 *
 * @throws {AgentError} naming a definition that the server rejects, or that is not served within 10 s
 *
 * @example
 * await installCrds(connection, ['config/crd']);
 */
export async function installCrds(
  connection: ApiConnection,
  sources: readonly (string | object)[],
  clock: Clock = systemClock,
): Promise<readonly Manifest[]> {
  return installRead(connection, await readCrds(sources), clock);
}

/** As {@link installCrds}, of definitions that were read already. */
export async function installRead(
  connection: ApiConnection,
  read: readonly ReadManifest[],
  clock: Clock,
): Promise<readonly Manifest[]> {
  const client = createApiClient(connection, { clock, qps: 0 });
  try {
    const installed: Manifest[] = [];
    for (const one of read) installed.push(await createOrReplace(client, definitionResource, one));
    const deadline = clock.now() + servedWithinMs;
    for (const { object } of read) await served(client, object as Definition, { clock, deadline });
    return installed;
  } finally {
    await client.close();
  }
}

/** Waits until discovery lists a definition's kind in every version that it serves, and lists of it are answered. */
async function served(
  client: ApiClient & { raw(path: string, request: { readonly method: 'GET' }): Promise<unknown> },
  { spec, metadata }: Definition,
  { clock, deadline }: { readonly clock: Clock; readonly deadline: number },
): Promise<void> {
  const { group, names } = spec;
  for (const { name: version, served: isServed } of spec.versions) {
    if (isServed === false) continue;
    while (!(await isListed(client, `${group}/${version}`, names.plural))) {
      if (clock.now() > deadline)
        throw new AgentError(
          'unavailable',
          `CustomResourceDefinition ${JSON.stringify(metadata.name)}: ${names.plural} of ${group}/${version} are not served after ${servedWithinMs / 1000} s: ${await conditionsOf(client, metadata.name ?? '')}`,
        );
      await clock.sleep(lookMs);
    }
  }
}

async function isListed(
  client: { raw(path: string, request: { readonly method: 'GET' }): Promise<unknown> },
  groupVersion: string,
  plural: string,
): Promise<boolean> {
  try {
    const list = (await client.raw(`/apis/${groupVersion}`, { method: 'GET' })) as {
      readonly resources?: readonly { readonly name: string }[];
    };
    return list.resources?.some(({ name }) => name === plural) ?? false;
  } catch (reason) {
    if (reason instanceof ApiError && (reason.status === 404 || reason.status === 503)) return false;
    throw reason;
  }
}

/** Describes why a definition is not served. */
async function conditionsOf(client: ApiClient, name: string): Promise<string> {
  const { status } = (await client.get(definitionResource, { name })) as unknown as {
    readonly status?: { readonly conditions?: readonly Readonly<Record<string, string>>[] };
  };
  const reasons = (status?.conditions ?? [])
    .filter((one) => one['status'] !== 'True')
    .map(({ type = '', reason = '', message = '' }) => `${type} is not true: ${reason}: ${message}`);
  return reasons.join('; ') || 'it has no conditions';
}
