/**
 * An agent inside another program: pods from the API server, run by a provider of your choice, on their own node.
 *
 *   npm run example -- embed
 *
 * Starts an API server in this process, a node "embedded" whose pods are records in memory, creates a pod and waits until it is ready.
 */
import { EmbeddedApiServer } from '../src/apiserver/index.ts';
import type { Middleware } from '../src/middleware/index.ts';
import {
  apiServerSource,
  createApiClient,
  EventBroadcaster,
  type Lease,
  leaseResource,
  type Node,
  NodeController,
  nodeResource,
  nodeStatusSetters,
  type Pod,
  PodConfig,
  podResource,
  PodsController,
  ResourceClient,
  SharedInformers,
  silentLogger,
  SourcesReady,
  systemClock as clock,
} from '../src/index.ts';
import { MemoryProvider } from '../src/providers/memory/index.ts';

const nodeName = 'embedded';
const nodeIP = '127.0.0.1';

/** Runs a node until `signal` aborts; resolves when it is ready. @param middleware hooks on the way of its pods */
export async function startNode(
  server: EmbeddedApiServer,
  signal: AbortSignal,
  middleware: readonly Middleware[] = [],
): Promise<{ readonly stop: () => Promise<void> }> {
  const client = createApiClient({ server: server.url, ca: server.ca, ...server.admin }, { clock });
  const recorder = new EventBroadcaster({ client, clock }, { host: nodeName });
  const informers = new SharedInformers({ client, clock });
  const pods = informers.informer<Pod>(podResource, { fieldSelector: `spec.nodeName=${nodeName}` });
  const nodes = informers.informer<Node>(nodeResource, { fieldSelector: `metadata.name=${nodeName}` });
  const provider = new MemoryProvider({ clock });

  // the pod sources: here only the API server
  const config = new PodConfig({ clock, recorder, logger: silentLogger });
  const controller = new PodsController({
    namespace: 'default',
    nodeName,
    nodeIP,
    configUpdates: config.updates,
    kubeClient: client,
    nodeGetter: () => nodes.store.get(nodeName),
    eventRecorder: recorder,
    sourcesReady: new SourcesReady(config),
    middleware,
  });
  controller.registerProvider(provider);

  // the node waits until the controller has seen all sources
  const node = new NodeController(
    '',
    provider,
    new ResourceClient<Node>(client, nodeResource),
    new ResourceClient<Lease>(client, leaseResource, 'kube-node-lease'),
    {
      identity: { name: nodeName, hostname: nodeName, operatingSystem: 'linux', architecture: 'amd64' },
      clock,
      recorder,
      localStorage: false,
      setters: nodeStatusSetters({
        addresses: {
          nodeIps: [nodeIP],
          hostname: nodeName,
          externalCloudProvider: false,
          validate: () => undefined,
          lookup: () => [nodeIP],
          resolve: () => nodeIP,
        },
        machine: () => ({
          machine: undefined,
          maxPods: 1000,
          podsPerCore: 0,
          storage: {},
          reservation: {},
          configured: { cpu: '64', memory: '256Gi', pods: '1000' },
        }),
        versions: () => ({
          kubeletVersion: 'v1.36.2',
          containerRuntimeVersion: 'memory://1',
          kernelVersion: '',
          osImage: '',
          operatingSystem: 'linux',
          architecture: 'amd64',
        }),
        port: () => 0,
      }),
    },
  );

  informers.start(signal);
  const onChange = (listener: (all: readonly Pod[]) => void): (() => void) => {
    const subscription = pods.snapshots().subscribe(listener);
    return () => {
      subscription.unsubscribe();
    };
  };
  config.addSource(
    'api',
    apiServerSource({
      clock,
      pods: { onChange },
      nodeHasSynced: () => nodes.store.get(nodeName) !== undefined,
    }),
  );
  void controller.run(signal);
  void node.run(signal);
  void controller.ready.then(() => {
    node.notifyAgentReady();
  });
  await node.waitReady(signal);
  return {
    stop: async () => {
      await Promise.all([controller.stop(), node.stop()]);
      config.stop();
      await recorder.flush();
      recorder.stop();
      await client.close();
    },
  };
}

/** What {@link runPod} may say of its pod. */
export interface PodOptions {
  readonly labels?: Readonly<Record<string, string>>;
  readonly image?: string;
}

/** Creates a pod on the node and resolves with its status once it is ready or has failed. */
export async function runPod(
  server: EmbeddedApiServer,
  name: string,
  { labels = {}, image = 'any' }: PodOptions = {},
): Promise<Pod['status']> {
  const client = createApiClient({ server: server.url, ca: server.ca, ...server.admin }, { clock });
  const pod: Pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'default', labels },
    spec: { nodeName, containers: [{ name: 'main', image }] },
  };
  await client.create(podResource, pod);
  const isSettled = ({ status }: Pod): boolean =>
    status?.phase === 'Failed' ||
    (status?.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True') ?? false);
  try {
    const selector = { namespace: 'default', fieldSelector: `metadata.name=${name}` };
    for await (const event of client.watch<Pod>(podResource, selector))
      if (event.type !== 'ERROR' && isSettled(event.object)) return event.object.status;
    throw new Error('the watch ended before the pod was ready');
  } finally {
    await client.close();
  }
}

if (process.argv[1] === import.meta.filename) {
  const server = await EmbeddedApiServer.start();
  const stop = new AbortController();
  const node = await startNode(server, stop.signal);
  console.log('node is ready');
  const status = await runPod(server, 'hello');
  console.log(`pod hello is ${status?.phase} on ${status?.hostIP}`);
  stop.abort();
  await node.stop();
  await server.stop();
}
