import { type ApiClient, isNotFound } from '../api/client.ts';
import { runtimeClassResource } from '../api/resources.ts';
import { AgentError, messageOf } from '../base/errors.ts';
import type { KubeObject, Pod } from '../kube/types.ts';

interface RuntimeClass extends KubeObject {
  readonly handler?: string;
}

/**
 * The runtime's handler for each pod, by its runtime class; empty: the default one.
 *
 * Follows kubelet `runtimeclass.Manager.LookupRuntimeHandler`.
 */
export function runtimeHandlers(client: Pick<ApiClient, 'get'>): (pod: Pod) => Promise<string> {
  return async ({ spec }) => {
    const name = spec?.runtimeClassName ?? '';
    if (name === '') return '';
    try {
      return (await client.get<RuntimeClass>(runtimeClassResource, { name })).handler ?? '';
    } catch (cause) {
      if (isNotFound(cause))
        throw new AgentError('not_found', `runtimeclass.node.k8s.io "${name}" not found`, { cause });
      throw new AgentError('unavailable', `failed to lookup RuntimeClass ${name}: ${messageOf(cause)}`, {
        cause,
      });
    }
  };
}
