import { type ApiClient, ApiError, isAlreadyExists, isConflict } from '../api/client.ts';
import type { Resource } from '../api/resources.ts';
import { AgentError, messageOf } from '../base/errors.ts';
import type { KubeObject } from '../kube/types.ts';
import type { Manifest, ReadManifest } from './manifests.ts';

/** How often an update is tried again that another writer was faster than. */
const mostTries = 10;

/**
 * Creates an object, or updates the one of its name.
 *
 * @throws {AgentError} with the code of the server's answer, naming the object and where it was read
 */
export async function createOrReplace(
  client: ApiClient,
  resource: Resource,
  { object, from }: ReadManifest,
): Promise<Manifest> {
  const ref = refOf(object);
  try {
    for (let tries = 1; ; tries++)
      try {
        return await client.create(resource, object);
      } catch (reason) {
        if (!isAlreadyExists(reason)) throw reason;
        const replaced = await replace(client, resource, object).catch((failure: unknown) => {
          // changed or deleted between the read and the write
          const isRace = isConflict(failure) || (failure instanceof ApiError && failure.status === 404);
          if (!isRace || tries >= mostTries) throw failure;
          return undefined;
        });
        if (replaced) return replaced;
      }
  } catch (reason) {
    const code = reason instanceof AgentError ? reason.code : 'internal';
    throw new AgentError(
      code,
      `${resource.kind} ${JSON.stringify(ref.name)} (${from}): ${messageOf(reason)}`,
      {
        cause: reason,
      },
    );
  }
}

async function replace(client: ApiClient, resource: Resource, object: Manifest): Promise<Manifest> {
  const standing = await client.get(resource, refOf(object));
  const { resourceVersion } = standing.metadata ?? {};
  const metadata = { ...object.metadata, resourceVersion };
  return (await client.update(resource, {
    ...object,
    metadata,
  } as unknown as KubeObject)) as unknown as Manifest;
}

export function refOf({ metadata }: Manifest): { readonly name: string; readonly namespace?: string } {
  const { name = '', namespace } = metadata as { readonly name?: string; readonly namespace?: string };
  return { name, ...(namespace !== undefined && { namespace }) };
}
