import type { ApiClient } from '../api/client.ts';
import type { KnownObjects } from '../api/known-objects.ts';
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

/**
 * The status manager's slice of an API client.
 *
 * @param known of the informer of pods, if there is one: most answers hold what it shows, and need no parsing
 */
export const statusClient = (api: ApiClient, known?: KnownObjects<Pod>): StatusClient => ({
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
