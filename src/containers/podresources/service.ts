import { AgentError } from '../../base/errors.ts';
import { isRestartableInitContainer } from '../../kube/restart-policy.ts';
import type { Container, Pod } from '../../kube/types.ts';
import type { GetRequest, PodResources } from './messages.ts';

/** Versions of the API that are served. */
export type ApiVersion = 'v1' | 'v1alpha1';

/** What can be asked for, as the kubelet's metrics call it. */
export type Endpoint = 'list' | 'get' | 'get_allocatable';

/** Where the pods come from, and who counts. */
export interface PodResourcesDeps {
  /** Pods that take up room on the node. */
  readonly activePods: () => readonly Pod[];
  readonly podByName: (namespace: string, name: string) => Pod | undefined;
  /** Whether one more request keeps to the {@link podResourcesRate}; each question counts. */
  readonly mayAsk: () => boolean;
  /** Told of each request that the rate lets through. */
  readonly count: (endpoint: Endpoint, version: ApiVersion, outcome: 'request' | 'error') => void;
}

/** Requests that are let through: so many a second, and so many at once (kubelet `DefaultQPS`, `DefaultBurstTokens`). */
export const podResourcesRate = { qps: 100, burst: 10 };

/**
 * Which devices, CPUs and memory pods were given: of a node without managers of these, its pods and their containers alone.
 *
 * Follows kubelet `v1PodResourcesServer` and `v1alpha1PodResourcesServer`.
 */
export class PodResourcesService {
  readonly #deps: PodResourcesDeps;

  constructor(deps: PodResourcesDeps) {
    this.#deps = deps;
  }

  /** @throws {AgentError} `resource_exhausted` when asked too often */
  list(version: ApiVersion): readonly PodResources[] {
    this.#admit();
    this.#deps.count('list', version, 'request');
    const containersOf = version === 'v1' ? longRunning : ({ spec }: Pod) => spec?.containers ?? [];
    return this.#deps.activePods().map((pod) => resourcesOf(pod, containersOf(pod)));
  }

  /** @throws {AgentError} `not_found`: no such pod; `resource_exhausted`: asked too often */
  get({ podName, podNamespace }: GetRequest): PodResources {
    this.#admit();
    this.#deps.count('get', 'v1', 'request');
    const pod = this.#deps.podByName(podNamespace, podName);
    if (pod) return resourcesOf(pod, longRunning(pod));
    this.#deps.count('get', 'v1', 'error');
    throw new AgentError('not_found', `pod ${podName} in namespace ${podNamespace} not found`);
  }

  /** There is nothing to give out. @throws {AgentError} `resource_exhausted` when asked too often */
  allocatable(): void {
    this.#admit();
    this.#deps.count('get_allocatable', 'v1', 'request');
  }

  #admit(): void {
    if (!this.#deps.mayAsk()) throw new AgentError('resource_exhausted', 'rejected by rate limit');
  }
}

/** Init containers that go on beside the others, then the others. */
const longRunning = ({ spec }: Pod): readonly Container[] => [
  ...(spec?.initContainers ?? []).filter(isRestartableInitContainer),
  ...(spec?.containers ?? []),
];

const resourcesOf = ({ metadata }: Pod, containers: readonly Container[]): PodResources => ({
  name: metadata?.name ?? '',
  namespace: metadata?.namespace ?? '',
  containers: containers.map(({ name }) => ({ name })),
});
