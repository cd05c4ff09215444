import { join } from 'node:path';
import { Agent } from '../agent/agent.ts';
import { containerProvider } from '../agent/kuberuntime-provider.ts';
import { createApiClient, type HttpApiClient } from '../api/rest/http-client.ts';
import { namespaceResource, nodeResource } from '../api/resources.ts';
import type { EmbeddedApiServer } from '../apiserver/index.ts';
import { systemClock as clock } from '../base/clock.ts';
import { AgentError } from '../base/errors.ts';
import { silentLogger as logger } from '../base/logger.ts';
import { systemRandom as random } from '../base/random.ts';
import type { ProviderWorld } from '../conformance/world.ts';
import type { Node } from '../kube/types.ts';
import type { KubernetesProvider, KubernetesProviderOptions } from '../providers/kubernetes/index.ts';
import type { ProcessRuntime } from '../providers/process/index.ts';
import { nodeServer } from './conformance-servers.ts';
import { CallFaults, lawFolder } from './conformance-world-parts.ts';

const backingNode = 'backing';
const namespace = 'podtender';
/** The client's methods behind the provider's calls; listings and statuses come from a watch. */
const backingCalls = { listPods: '', getPodStatus: '', killPod: 'delete', syncPod: 'create' };
/** How long the backing node may take until it is ready, ms. */
const readyMs = 60_000;

/** A cluster for backing pods: an embedded API server and a whole node whose containers are processes. */
interface BackingBed {
  readonly connection: KubernetesProviderOptions['connection'];
  /** Whether commands can have a terminal. */
  readonly hasTerminals: boolean;
  stop(): Promise<void>;
}

/**
 * Makes worlds of the kubernetes provider, in real time: the backing cluster is an embedded API server with one node, whose agent runs the
 * containers as processes of this machine.
 */
export async function kubernetesWorld(): Promise<ProviderWorld> {
  const { KubernetesProvider: Provider } = await import('../providers/kubernetes/index.ts');
  const { dir, remove } = await lawFolder();
  const bed = await startBacking(dir).catch(async (reason: unknown) => {
    await remove();
    throw reason;
  });
  const opened: KubernetesProvider[] = [];
  const faults = new CallFaults(backingCalls);
  const client = createApiClient(bed.connection, { clock, random, logger, qps: 0 });
  const open = (): KubernetesProvider => {
    const parts = { connection: bed.connection, client: faults.around(client), clock, random, logger };
    const provider = new Provider({ ...parts, namespace, nodeName: 'conformance' });
    opened.push(provider);
    return provider;
  };
  return {
    provider: open(),
    abilities: ['commands', 'hooks', 'probes', ...(bed.hasTerminals ? (['terminals'] as const) : [])],
    lacks: ['backOff', 'startReports', 'reads'],
    serve: nodeServer,
    failNext: faults.failNext,
    hangNext: faults.hangNext,
    agent: () => ({ rootDir: join(dir, 'agent'), makeProvider: open }),
    restart: async () => {
      await opened.at(-1)?.close();
      return open();
    },
    close: async () => {
      await Promise.all(opened.map((provider) => provider.close()));
      await client.close();
      await bed.stop();
      await remove();
    },
  };
}

async function startBacking(dir: string): Promise<BackingBed> {
  const [{ EmbeddedApiServer: ApiServer }, { ProcessRuntime: Runtime, processPowers }] = await Promise.all([
    import('../apiserver/index.ts'),
    import('../providers/process/index.ts'),
  ]);
  const server = await ApiServer.start({ kubernetesService: false });
  const admin = clientOf(server, server.admin);
  const client = clientOf(server, server.clientCertificate(`system:node:${backingNode}`, ['system:nodes']));
  const settings = { dataDir: join(dir, 'processes'), hostIp: '127.0.0.1' };
  const runtime = new Runtime({ settings, clock, random, logger });
  await runtime.open();
  const agent = await Agent.create({
    ...{
      nodeName: backingNode,
      nodeIPs: ['127.0.0.1'],
      rootDir: join(dir, 'backing'),
      client,
      clock,
      logger,
    },
    makeProvider: containerProvider(
      { runtime, images: runtime, powers: processPowers(runtime) },
      { runtimeName: 'process', podLogsRoot: join(dir, 'backing-logs') },
    ),
    kubeletApi: {
      ...{ clientCa: server.ca, authorization: 'webhook', port: 0, address: 'node' },
      tls: (hosts) => server.servingCertificate(`system:node:${backingNode}`, hosts),
    },
    hostDns: true,
  });
  const end = new AbortController();
  const running = agent.run(end.signal);
  running.catch(() => undefined);
  const stop = async (): Promise<void> => {
    end.abort();
    await agent.stop();
    await removeProcesses(runtime);
    await Promise.all([admin.close(), client.close()]);
    await server.stop();
  };
  try {
    await admin.create(namespaceResource, { metadata: { name: namespace } });
    await untilReady(admin);
  } catch (reason) {
    await stop();
    throw reason;
  }
  const connection = { server: server.url, ca: server.ca, ...server.admin };
  return { connection, hasTerminals: runtime.host.terminal !== undefined, stop };
}

const clientOf = (
  server: EmbeddedApiServer,
  user: { readonly cert: string; readonly key: string },
): HttpApiClient =>
  createApiClient({ server: server.url, ca: server.ca, ...user }, { clock, logger, qps: 0 });

async function untilReady(admin: HttpApiClient): Promise<void> {
  const end = clock.now() + readyMs;
  for (;;) {
    const node = await admin.get<Node>(nodeResource, { name: backingNode }).catch(() => undefined);
    const ready = node?.status?.conditions?.find(({ type }) => type === 'Ready');
    if (ready?.status === 'True') return;
    if (clock.now() >= end)
      throw new AgentError(
        'deadline_exceeded',
        `the backing node is not ready: ${ready?.message ?? 'no node'}`,
      );
    await clock.sleep(50);
  }
}

/** Ends the containers that the clause has left. */
async function removeProcesses(runtime: ProcessRuntime): Promise<void> {
  for (const { id = '' } of (await runtime.listPodSandbox({})).items ?? [])
    await runtime.removePodSandbox({ podSandboxId: id });
  runtime.close();
}
