import { type ApiClient, isForbidden, isNotFound } from '../../api/client.ts';
import type { Resource } from '../../api/resources.ts';
import { keyOf } from '../../kube/names.ts';
import { parseQuantity, scaledValue } from '../../kube/resources/quantity.ts';
import type { KubeObject } from '../../kube/types.ts';
import type { ContainerUsage, PodUsage } from '../../provider/usage.ts';
import { type ObservedBacking, runtimePodOf } from './backing-status.ts';

const podMetricsResource: Resource = {
  group: 'metrics.k8s.io',
  version: 'v1beta1',
  resource: 'pods',
  kind: 'PodMetrics',
  namespaced: true,
};

interface PodMetrics extends KubeObject {
  readonly timestamp?: string;
  readonly containers?: readonly {
    readonly name: string;
    readonly usage?: Readonly<Record<string, string>>;
  }[];
}

/** What is read, and when it is now. */
export interface UsageRequest {
  readonly client: ApiClient;
  /** The backing namespaces; undefined: all. */
  readonly namespaces: readonly string[] | undefined;
  readonly selector: string;
  /** ms since the epoch */
  readonly now: number;
}

/**
 * Reads what the running containers of backing pods use from the resource metrics API. Without one, or without access to it, containers are
 * listed without figures.
 */
export async function usageOf(
  pods: readonly ObservedBacking[],
  request: UsageRequest,
  signal: AbortSignal,
): Promise<readonly PodUsage[]> {
  if (pods.length === 0) return [];
  const metrics = await metricsByPod(request, signal);
  return pods.flatMap((observed) => {
    const running = runtimePodOf(observed, request.now).containers.filter(({ state }) => state === 'running');
    if (running.length === 0) return [];
    const found = metrics.get(keyOf(observed.pod));
    const at = Date.parse(found?.timestamp ?? '') || request.now;
    const containers = running.map(({ id, name, createdAt }): ContainerUsage => {
      const usage = found?.containers?.find((one) => one.name === name)?.usage ?? {};
      return { id, name, at, ...(createdAt !== undefined && { startedAt: createdAt }), ...figuresOf(usage) };
    });
    return [{ ...observed.identity, containers }];
  });
}

function figuresOf({ cpu, memory }: Readonly<Record<string, string>>): Partial<ContainerUsage> {
  return {
    ...(cpu !== undefined && { cpuNanoCores: Number(scaledValue(parseQuantity(cpu), -9)) }),
    ...(memory !== undefined && { workingSetBytes: Number(scaledValue(parseQuantity(memory), 0)) }),
  };
}

async function metricsByPod(
  { client, namespaces, selector }: UsageRequest,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, PodMetrics>> {
  const found = new Map<string, PodMetrics>();
  for (const namespace of namespaces ?? [undefined]) {
    const scope = namespace === undefined ? {} : { namespace };
    try {
      const { items } = await client.list<PodMetrics>(podMetricsResource, {
        ...scope,
        labelSelector: selector,
        signal,
      });
      for (const item of items) found.set(keyOf(item), item);
    } catch (reason) {
      if (!isNotFound(reason) && !isForbidden(reason)) throw reason;
    }
  }
  return found;
}
