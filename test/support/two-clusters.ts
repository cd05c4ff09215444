import { createApiClient, type HttpApiClient } from '../../src/api/rest/http-client.ts';
import { namespaceResource, podResource, type Resource } from '../../src/api/resources.ts';
import {
  type EmbeddedApiServerOptions,
  startApiServer,
  type TestApiServer,
} from '../../src/apiserver/index.ts';
import { type RunningNode, runNode } from '../../src/app/run-node.ts';
import { type Clock, systemClock as clock } from '../../src/base/clock.ts';
import type { KubeObject, Pod, PodSpec } from '../../src/kube/types.ts';
import type { PodProvider } from '../../src/provider/provider.ts';
import { KubernetesProvider, type KubernetesProviderOptions } from '../../src/providers/kubernetes/index.ts';
import { MemoryProvider } from '../../src/providers/memory/index.ts';

/** An API server and an administrator's client of it. */
export interface Cluster {
  readonly server: TestApiServer;
  readonly client: HttpApiClient;
  get<T extends KubeObject>(resource: Resource, namespace: string, name: string): Promise<T>;
  list<T extends KubeObject>(resource: Resource, namespace: string): Promise<readonly T[]>;
}

async function cluster(options: EmbeddedApiServerOptions = {}): Promise<Cluster> {
  const server = await startApiServer(options);
  const client = createApiClient({ server: server.url, ca: server.ca, ...server.admin }, { clock, qps: 0 });
  return {
    server,
    client,
    get: (resource, namespace, name) => client.get(resource, { namespace, name }),
    list: async <T extends KubeObject>(resource: Resource, namespace: string) =>
      (await client.list<T>(resource, { namespace })).items,
  };
}

/** Two clusters in this process: pods of node `edge` here run as pods of the backing cluster, whose node runs them in memory. */
export interface TwoClusters {
  readonly here: Cluster;
  readonly there: Cluster;
  /** Starts the agent of this cluster; ends the one that runs. */
  startAgent(settings?: Partial<KubernetesProviderOptions>): Promise<KubernetesProvider>;
  stopAgent(): Promise<void>;
  provider(settings?: Partial<KubernetesProviderOptions>): KubernetesProvider;
  create(name: string, spec?: Partial<PodSpec>, metadata?: Pod['metadata']): Promise<Pod>;
  pod(name: string): Promise<Pod>;
  /** The backing pods of a pod of this name. */
  backing(name: string): Promise<readonly Pod[]>;
  stop(): Promise<void>;
}

export const backingNamespace = 'podtender';

/** Options of {@link twoClusters}. */
export interface TwoClustersOptions {
  /** What the backing node runs pods with. Default: memory. */
  readonly backingProvider?: PodProvider;
  /** Options of the backing API server. */
  readonly backing?: EmbeddedApiServerOptions;
  /** The clock of this cluster: of its API server, its agent and the provider. The backing cluster keeps real time. Default: real time. */
  readonly hereClock?: Clock;
}

/** Starts both clusters and the backing node `worker`. */
export async function twoClusters(options: TwoClustersOptions = {}): Promise<TwoClusters> {
  const { backingProvider = new MemoryProvider({ clock }), hereClock = clock } = options;
  const [here, there] = [await cluster({ clock: hereClock }), await cluster(options.backing)];
  const node = await runNode({ nodeName: 'worker', provider: backingProvider, server: there.server });
  await there.client.create(namespaceResource, { metadata: { name: backingNamespace } });
  let agent: RunningNode | undefined;
  let provider: KubernetesProvider | undefined;
  const make = (settings: Partial<KubernetesProviderOptions> = {}): KubernetesProvider =>
    new KubernetesProvider({
      connection: { server: there.server.url, ca: there.server.ca, ...there.server.admin },
      ...{ namespace: backingNamespace, nodeName: 'edge', clock: hereClock, ...settings },
    });
  const stopAgent = async (): Promise<void> => {
    await agent?.stop();
    await provider?.close();
    agent = undefined;
  };
  return {
    here,
    there,
    provider: make,
    startAgent: async (settings) => {
      await stopAgent();
      provider = make(settings);
      await provider.open();
      agent = await runNode({ nodeName: 'edge', provider, server: here.server, clock: hereClock });
      return provider;
    },
    stopAgent,
    create: (name, spec = {}, metadata = {}) =>
      here.client.create<Pod>(podResource, {
        metadata: { name, namespace: 'default', ...metadata },
        spec: {
          nodeName: 'edge',
          tolerations: [{ operator: 'Exists' }],
          terminationGracePeriodSeconds: 1,
          containers: [{ name: 'main', image: 'web' }],
          ...spec,
        },
      }),
    pod: (name) => here.get<Pod>(podResource, 'default', name),
    backing: async (name) =>
      (await there.list<Pod>(podResource, backingNamespace)).filter(
        ({ metadata }) => metadata?.annotations?.['podtender.io/pod'] === `default/${name}`,
      ),
    stop: async () => {
      await stopAgent();
      await node.stop();
      for (const { client, server } of [here, there]) {
        await client.close();
        await server.stop();
      }
    },
  };
}
