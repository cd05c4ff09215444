import { isNotFound } from '../../api/client.ts';
import { AgentError } from '../../base/errors.ts';
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
