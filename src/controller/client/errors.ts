import { isAlreadyExists, isNotFound } from '../../api/client.ts';

/**
 * Ignores that an object does not exist (404) and rethrows anything else.
 *
 * @example
 * const pod = await client.get(kinds.Pod, key).catch(ignoreNotFound);
 */
export function ignoreNotFound(error: unknown): undefined {
  if (error !== undefined && error !== null && !isNotFound(error)) throw error as Error;
  return undefined;
}

/**
 * Ignores that an object exists already (409, `AlreadyExists`) and rethrows anything else.
 *
 * @example
 * await client.create(kinds.Namespace, namespace).catch(ignoreAlreadyExists);
 */
export function ignoreAlreadyExists(error: unknown): undefined {
  if (error !== undefined && error !== null && !isAlreadyExists(error)) throw error as Error;
  return undefined;
}
