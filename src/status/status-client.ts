import { type ApiClient, isNotFound } from '../api/client.ts';
import type { KnownObjects } from '../api/cache/known-objects.ts';
import { podResource } from '../api/resources.ts';
import type { Pod } from '../kube/types.ts';

/** The three requests that the status manager makes. Errors are those of {@link ApiClient}. */
export interface StatusClient {
  getPod(namespace: string, name: string): Promise<Pod>;
  /** @param body a strategic merge patch, sent unchanged */
  patchStatus(namespace: string, name: string, body: string): Promise<Pod>;
  /** Deletes the pod without grace period, if it still has this UID. */
  deletePod(namespace: string, name: string, uid: string): Promise<void>;
}

/** The options of {@link statusClient}. */
export interface StatusClientOptions {
  /** The objects of the pod informer, if there is one. Most responses hold the same bytes and then need no parsing. */
  readonly knownObjects?: KnownObjects<Pod>;
  /**
   * Reads a pod from the informer or from the response to the last patch, and sends a GET only where neither may be the newest or where a
   * patch was refused. Default false: a GET precedes each patch, as in the kubelet (R191).
   */
  readonly fromWatch?: boolean;
}

/**
 * The requests of the status manager, made with an API client.
 *
 * @example
 * const statuses = new StatusManager({ client: statusClient(api), clock, logger, pods, deletionSafety });
 */
export function statusClient(
  api: ApiClient,
  { knownObjects, fromWatch = false }: StatusClientOptions = {},
): StatusClient {
  const requests = statusRequests(api, knownObjects);
  return fromWatch && knownObjects ? readingFromWatch(requests, knownObjects) : requests;
}

function readingFromWatch(requests: StatusClient, knownObjects: KnownObjects<Pod>): StatusClient {
  /** The pods whose last patch was refused: the informer's copy may be outdated. */
  const suspect = new Set<string>();
  return {
    ...requests,
    getPod: async (namespace, name) => {
      const key = `${namespace}/${name}`;
      const pod = suspect.delete(key) ? undefined : knownObjects.newest(key);
      return pod ?? requests.getPod(namespace, name);
    },
    patchStatus: async (namespace, name, body) => {
      const key = `${namespace}/${name}`;
      try {
        const patched = await requests.patchStatus(namespace, name, body);
        if (knownObjects.newest(key) !== patched) knownObjects.note(patched); // the client has not noted it itself
        return patched;
      } catch (reason) {
        if (!isNotFound(reason)) suspect.add(key);
        throw reason;
      }
    },
  };
}

const statusRequests = (api: ApiClient, knownObjects?: KnownObjects<Pod>): StatusClient => ({
  getPod: (namespace, name) =>
    api.get<Pod>(podResource, { namespace, name }, { ...(knownObjects && { knownObjects }) }),
  patchStatus: (namespace, name, body) =>
    api.patch<Pod>(
      podResource,
      { namespace, name },
      { type: 'strategic', body },
      { subresource: 'status', ...(knownObjects && { knownObjects }) },
    ),
  deletePod: async (namespace, name, uid) => {
    const options = { gracePeriodSeconds: 0, preconditions: { uid }, discardAnswer: true };
    await api.delete(podResource, { namespace, name }, options);
  },
});
