import { type ApiClient, isNotFound } from '../api/client.ts';
import type { KnownObjects } from '../api/cache/known-objects.ts';
import { podResource } from '../api/resources.ts';
import type { Pod } from '../kube/types.ts';

/** The three requests that the status manager makes. Errors are those of {@link ApiClient}. */
export interface StatusClient {
  getPod(namespace: string, name: string): Promise<Pod>;
  /** @param body a strategic merge patch, sent as it stands */
  patchStatus(namespace: string, name: string, body: string): Promise<Pod>;
  /** At once, and only if the pod still has this UID. */
  deletePod(namespace: string, name: string, uid: string): Promise<void>;
}

/** How the status manager's requests are made. */
export interface StatusClientOptions {
  /** Of the informer of pods, if there is one: most answers hold what it shows, and need no parsing. */
  readonly known?: KnownObjects<Pod>;
  /**
   * A pod is as the informer shows it, or as the last patch was answered, and is asked for only where neither may be the newest, or a
   * patch was refused. Default false: each patch follows a GET, as the kubelet's (R191).
   */
  readonly fromWatch?: boolean;
}

/** The status manager's slice of an API client. */
export function statusClient(
  api: ApiClient,
  { known, fromWatch = false }: StatusClientOptions = {},
): StatusClient {
  const requests = statusRequests(api, known);
  return fromWatch && known ? readingFromWatch(requests, known) : requests;
}

function readingFromWatch(requests: StatusClient, known: KnownObjects<Pod>): StatusClient {
  /** Patches of these pods were refused: what is known of them may be wrong. */
  const doubted = new Set<string>();
  return {
    ...requests,
    getPod: async (namespace, name) => {
      const key = `${namespace}/${name}`;
      const pod = doubted.delete(key) ? undefined : known.newest(key);
      return pod ?? requests.getPod(namespace, name);
    },
    patchStatus: async (namespace, name, body) => {
      const key = `${namespace}/${name}`;
      try {
        const told = await requests.patchStatus(namespace, name, body);
        if (known.newest(key) !== told) known.note(told); // the client has not noted it itself
        return told;
      } catch (reason) {
        if (!isNotFound(reason)) doubted.add(key);
        throw reason;
      }
    },
  };
}

const statusRequests = (api: ApiClient, known?: KnownObjects<Pod>): StatusClient => ({
  getPod: (namespace, name) => api.get<Pod>(podResource, { namespace, name }, { ...(known && { known }) }),
  patchStatus: (namespace, name, body) =>
    api.patch<Pod>(
      podResource,
      { namespace, name },
      { type: 'strategic', body },
      { subresource: 'status', ...(known && { known }) },
    ),
  deletePod: async (namespace, name, uid) => {
    const options = { gracePeriodSeconds: 0, preconditions: { uid }, discardAnswer: true };
    await api.delete(podResource, { namespace, name }, options);
  },
});
