import { AgentError } from '../../base/errors.ts';
import { isRestartableInitContainer } from '../../kube/restart-policy.ts';
import type { Container, Pod } from '../../kube/types.ts';
import type { GetRequest, PodResources } from './messages.ts';

/** Versions of the API that the agent serves. */
export type ApiVersion = 'v1' | 'v1alpha1';

/** Endpoints, named as in the kubelet's metrics. */
export type Endpoint = 'list' | 'get' | 'get_allocatable';

/** Dependencies of PodResourcesService. */
export interface PodResourcesDeps {
  /** Returns the pods that hold resources of the node. */
  readonly activePods: () => readonly Pod[];
  readonly podByName: (namespace: string, name: string) => Pod | undefined;
  /** Takes a token of the {@link podResourcesRate} limit; returns false when there is none. */
  readonly mayAsk: () => boolean;
  /** Called for each request within the limit. */
  readonly count: (endpoint: Endpoint, version: ApiVersion, outcome: 'request' | 'error') => void;
}

/** Request rate limit: requests per second and burst (kubelet `DefaultQPS`, `DefaultBurstTokens`). */
export const podResourcesRate = { qps: 100, burst: 10 };

/**
 * PodResourcesService returns the devices, CPUs and memory assigned to pods; without managers for these, only pods and their containers.
 *
 * Follows kubelet `v1PodResourcesServer` and `v1alpha1PodResourcesServer`.
 */
export class PodResourcesService {
  readonly #deps: PodResourcesDeps;

  constructor(deps: PodResourcesDeps) {
    this.#deps = deps;
  }

  /** Lists the pods. @throws {AgentError} `resource_exhausted` above the rate limit */
  list(version: ApiVersion): readonly PodResources[] {
    this.#admit();
    this.#deps.count('list', version, 'request');
    const containersOf = version === 'v1' ? longRunning : ({ spec }: Pod) => spec?.containers ?? [];
    return this.#deps.activePods().map((pod) => resourcesOf(pod, containersOf(pod)));
  }

  /** Returns one pod. @throws {AgentError} `not_found` when it does not exist; `resource_exhausted` above the rate limit */
  get({ podName, podNamespace }: GetRequest): PodResources {
    this.#admit();
    this.#deps.count('get', 'v1', 'request');
    const pod = this.#deps.podByName(podNamespace, podName);
    if (pod) return resourcesOf(pod, longRunning(pod));
    this.#deps.count('get', 'v1', 'error');
    throw new AgentError('not_found', `pod ${podName} in namespace ${podNamespace} not found`);
  }

  /** Checks the rate limit; there are no allocatable resources. @throws {AgentError} `resource_exhausted` above the rate limit */
  allocatable(): void {
    this.#admit();
    this.#deps.count('get_allocatable', 'v1', 'request');
  }

  #admit(): void {
    if (!this.#deps.mayAsk()) throw new AgentError('resource_exhausted', 'rejected by rate limit');
  }
}

/** Returns sidecars, then regular containers. */
const longRunning = ({ spec }: Pod): readonly Container[] => [
  ...(spec?.initContainers ?? []).filter(isRestartableInitContainer),
  ...(spec?.containers ?? []),
];

const resourcesOf = ({ metadata }: Pod, containers: readonly Container[]): PodResources => ({
  name: metadata?.name ?? '',
  namespace: metadata?.namespace ?? '',
  containers: containers.map(({ name }) => ({ name })),
});
