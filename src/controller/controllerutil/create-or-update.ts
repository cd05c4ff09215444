import { isNotFound } from '../client/errors.ts';
import { AgentError } from '../../base/errors.ts';
import { mergeFrom } from '../client/patches.ts';
import type { Client, Kind, KubeObject } from '../types.ts';
import { semanticEqual } from './semantic-equal.ts';

/** Changes an object to what it should be. It must not change the name or the namespace. */
export type Mutate<T extends KubeObject> = (object: T) => void | Promise<void>;

/** What {@link createOrUpdate} did. */
export interface CreateOrUpdateResult<T extends KubeObject> {
  readonly result: 'unchanged' | 'created' | 'updated';
  /** The object as the server has it now. */
  readonly object: T;
}

/** What {@link createOrPatch} did. */
export interface CreateOrPatchResult<T extends KubeObject> {
  readonly result: CreateOrUpdateResult<T>['result'] | 'updatedStatus' | 'updatedStatusOnly';
  readonly object: T;
}

/** An object that exists, before and after the change; or one that has been created. */
type Read<T> = { readonly created: T } | { readonly before: T; readonly after: T };

interface Target<T extends KubeObject> {
  readonly client: Client;
  readonly kind: Kind<T>;
  readonly object: T;
  readonly mutate: Mutate<T>;
}

async function createOr<T extends KubeObject>({ client, kind, object, mutate }: Target<T>): Promise<Read<T>> {
  const { name = '', namespace } = object.metadata ?? {};
  if (name === '') throw new AgentError('invalid_argument', `${kind.kind}: metadata.name is required`);
  const change = async (changed: T): Promise<void> => {
    await mutate(changed);
    if (changed.metadata?.name !== name || (changed.metadata.namespace ?? '') !== (namespace ?? ''))
      throw new AgentError(
        'invalid_argument',
        'mutate must not change the name or the namespace of the object',
      );
  };
  let before: T;
  try {
    before = await client.get(kind, { name, ...(namespace !== undefined && { namespace }) });
  } catch (reason) {
    if (!isNotFound(reason)) throw reason;
    await change(object);
    return { created: await client.create(kind, object) };
  }
  // an object of a cache is shared
  const after = structuredClone(before);
  await change(after);
  return { before, after };
}

/**
 * Creates an object, or updates the one that exists, so that it is as `mutate` makes it. Nothing is written when it is so already.
 *
 * @param object name and namespace, and what a new object starts from
 * @param mutate is called with the object that exists, or with `object`
 *
 * @example
 * const { result } = await createOrUpdate(client, kinds.Deployment, { metadata: { namespace, name } }, (deployment) => {
 *   deployment.spec = desiredSpec(memcached);
 *   setControllerReference(memcached, deployment, Memcached);
 * });
 */
export async function createOrUpdate<T extends KubeObject>(
  client: Client,
  kind: Kind<T>,
  object: T,
  mutate: Mutate<T>,
): Promise<CreateOrUpdateResult<T>> {
  const read = await createOr({ client, kind, object, mutate });
  if ('created' in read) return { result: 'created', object: read.created };
  const { before, after } = read;
  if (semanticEqual(before, after)) return { result: 'unchanged', object: before };
  return { result: 'updated', object: await client.update(kind, after) };
}

const statusOf = (object: KubeObject): unknown => (object as { status?: unknown }).status;

const withStatus = <T extends KubeObject>(object: T, status: unknown): T => {
  const { status: _status, ...rest } = object as T & { status?: unknown };
  return { ...rest, ...(status !== undefined && { status }) } as T;
};

/**
 * As {@link createOrUpdate}, with merge patches instead of updates: the object and its status are patched separately, each when it changed.
 *
 * @example
 * const { result } = await createOrPatch(client, kinds.ConfigMap, map, (one) => { one.data = { site: 'eu' }; });
 */
export async function createOrPatch<T extends KubeObject>(
  client: Client,
  kind: Kind<T>,
  object: T,
  mutate: Mutate<T>,
): Promise<CreateOrPatchResult<T>> {
  const read = await createOr({ client, kind, object, mutate });
  if ('created' in read) return { result: 'created', object: read.created };
  const { before, after } = read;
  const [plainBefore, plainAfter] = [withStatus(before, undefined), withStatus(after, undefined)];
  const objectChanged = !semanticEqual(plainBefore, plainAfter);
  const statusChanged = !semanticEqual(statusOf(before), statusOf(after));
  let latest = before;
  if (objectChanged) latest = await client.patch(kind, plainAfter, mergeFrom(plainBefore));
  if (statusChanged) {
    // the patch of the object has changed its version
    const from = withStatus(latest, statusOf(before));
    latest = await client.status.patch(kind, withStatus(latest, statusOf(after)), mergeFrom(from));
  }
  if (!objectChanged && !statusChanged) return { result: 'unchanged', object: before };
  if (!statusChanged) return { result: 'updated', object: latest };
  return { result: objectChanged ? 'updatedStatus' : 'updatedStatusOnly', object: latest };
}
