import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Agent } from '../agent/agent.ts';
import type { KubeletApiOptions } from '../agent/kubelet-api.ts';
import type { LeveledLogger } from '../base/pino-logger.ts';
import { createApiClient, type HttpApiClient } from '../api/rest/http-client.ts';
import { Informer } from '../api/cache/informer.ts';
import { ResourceClient } from '../api/resource-client.ts';
import { eventResource, nodeResource } from '../api/resources.ts';
import type { EmbeddedApiServer } from '../apiserver/index.ts';
import { systemClock } from '../base/clock.ts';
import type { Event, Node } from '../kube/types.ts';
import type { SystemdService } from '../node/watchdog.ts';
import { isGateOn } from '../options/kubelet/feature-gates.ts';
import type { EffectiveOptions } from '../options/load.ts';
import {
  certDirOf,
  effectiveOptions,
  isExplicit,
  kubeletApiOptions,
  type KubeletApiPlace,
  openPorts,
  logWarnings,
} from './agent-settings.ts';
import { agentOptions, keepSystemdNotified, makeLogger, runningParts, systemdService } from './compose.ts';
import { startControllers } from './controllers.ts';
import { type DataDir, DataDirError, openDataDir } from './data-dir.ts';
import { advertised } from './own-addresses.ts';
import { portError } from './ports.ts';
import type { Running, StartContext, UpOptions } from './running.ts';
import { stopPods } from './stop-pods.ts';
import { startTracing, type Tracing } from './tracing.ts';

const clock = systemClock;

/** Starts an embedded API server, the agent and a provider, for `podtender up`. */
export async function startUp(options: UpOptions, context: StartContext): Promise<Running> {
  const settings = effectiveOptions(options);
  const dataDir = openDataDir(options.dataDir);
  try {
    const logger = makeLogger(settings, join(dataDir.path, 'podtender.log'));
    logWarnings(settings, logger);
    const systemd = systemdService(logger);
    const server = await startServer(options, settings, { dataDir, logger });
    const stopControllers = await startControllers(server, options.controllers ?? ['*'], logger);
    const kubeconfigPath = join(dataDir.path, 'kubeconfig');
    writeFileSync(kubeconfigPath, server.kubeconfig(), { mode: 0o600 });
    chmodSync(kubeconfigPath, 0o600); // also for an existing file
    return await startAgent({
      options,
      settings,
      server,
      stopControllers,
      logger,
      kubeconfigPath,
      dataDir,
      systemd,
      load: context.load,
    });
  } catch (reason) {
    dataDir.release();
    throw reason;
  }
}

async function startServer(
  { port, controllers }: UpOptions,
  { kubelet }: EffectiveOptions,
  { dataDir, logger }: Pick<UpParts, 'dataDir' | 'logger'>,
): Promise<EmbeddedApiServer> {
  // not loaded by an agent that joins a cluster
  const { EmbeddedApiServer: ApiServer, StorageError } = await import('../apiserver/index.ts');
  try {
    return await ApiServer.start({
      dataDir: join(dataDir.path, 'apiserver'),
      port,
      logger,
      ...(controllers && { controllers }),
      metricsApi: true,
      serviceProxy: false,
      ...advertised('127.0.0.1'),
      clusterTrustBundles: isGateOn('ClusterTrustBundle', kubelet.featureGates),
    });
  } catch (reason) {
    if (reason instanceof StorageError)
      throw new DataDirError(dataDir.path, `cannot be used: ${reason.message}`, reason);
    throw portError(reason, () => '--port');
  }
}

interface UpParts extends Pick<StartContext, 'load'> {
  readonly options: UpOptions;
  readonly settings: EffectiveOptions;
  readonly server: EmbeddedApiServer;
  readonly stopControllers: () => Promise<void>;
  readonly logger: LeveledLogger;
  readonly kubeconfigPath: string;
  readonly dataDir: DataDir;
  readonly systemd: SystemdService;
}

async function startAgent(parts: UpParts): Promise<Running> {
  const { settings, server, logger, dataDir } = parts;
  const { nodeName } = settings.agent;
  const tracing = await startTracing(settings.kubelet.tracing, { nodeName, clock, logger });
  const traced = tracing && { tracer: tracing.tracer };
  const connect = (user: { cert: string; key: string }, deps = {}): HttpApiClient =>
    createApiClient({ server: server.url, ca: server.ca, ...user }, { clock, logger, qps: 0, ...deps });
  const client = connect(server.clientCertificate(`system:node:${nodeName}`, ['system:nodes']), traced);
  const certDir = certDirOf(settings, dataDir.path);
  const kubeletApi = embeddedKubeletApi(settings, server, { certDir, nodeName, logger });
  const { readOnly, healthz } = openPorts(settings);
  const { disconnect, ...own } = await agentOptions({ ...parts, tracing });
  const agent = await Agent.create({
    ...own,
    mirrorPauseMs,
    ...(readOnly && { readOnly }),
    ...(healthz && isExplicit('healthzPort', settings) && { healthz }),
    client,
    logger,
    ...(kubeletApi && { kubeletApi }),
  });
  const observer = connect(server.admin);
  const labels = own.node?.optionalLabels;
  return runAgent(parts, agent, { client, observer, disconnect, tracing, ...(labels && { labels }) });
}

/** Longer than kubectl needs between reading a deleted pod and its watch; shorter than kubectl needs to start. */
const mirrorPauseMs = 100;

interface Clients {
  /** The agent's own client. */
  readonly client: HttpApiClient;
  /** Reads what the view shows. */
  readonly observer: HttpApiClient;
  /** Disconnects the runtime. */
  readonly disconnect: () => Promise<void>;
  readonly tracing: Tracing | undefined;
  /** Node labels that the node's own identity may not set; this server's administrator sets them. */
  readonly labels?: Readonly<Record<string, string>>;
}

function runAgent(parts: UpParts, agent: Agent, clients: Clients): Running {
  const { client, observer, disconnect, tracing, labels } = clients;
  const { server, logger, kubeconfigPath, dataDir, systemd } = parts;
  const stop = new AbortController();
  const running = runningParts(agent, parts, {
    signal: stop.signal,
    apiPort: '`port` of the KubeletConfiguration (--config)',
  });
  keepSystemdNotified(systemd, agent, stop.signal);
  const events = new Informer<Event>({ client: observer, clock, logger }, eventResource);
  void events.run(stop.signal);
  if (labels) void labelNode(observer, running.nodeName, labels, stop.signal);
  return {
    ...running,
    kubeconfigPath,
    serverUrl: server.url,
    watchEvents: (listener) => watchEvents(events, listener),
    stopPods: async (onProgress, force) => {
      await agent.stop();
      await stopPods(
        { provider: agent.provider, podOf: (uid) => agent.controller.engines.podManager.getPodByUID(uid) },
        onProgress,
        force,
      );
    },
    close: async () => {
      stop.abort();
      await parts.stopControllers();
      await agent.stop();
      await Promise.all([client.close(), observer.close(), disconnect()]);
      await server.stop();
      await tracing?.stop();
      dataDir.release();
    },
  };
}

/** Sets labels on the node once it exists. */
async function labelNode(
  admin: HttpApiClient,
  name: string,
  labels: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<void> {
  const nodes = new ResourceClient<Node>(admin, nodeResource);
  const body = { metadata: { labels } };
  while (!signal.aborted) {
    try {
      await nodes.patch(name, { type: 'merge', body }, { signal, timeoutMs: 5000 });
      return;
    } catch {
      await clock.sleep(250, signal).catch(() => undefined);
    }
  }
}

function watchEvents(events: Informer<Event>, listener: (event: Event) => void): () => void {
  const registration = events.addHandler({
    added: (event, initial) => {
      if (!initial) listener(event);
    },
    updated: (_old, event) => {
      listener(event);
    },
  });
  return () => {
    registration.remove();
  };
}

/** Serves the kubelet API beside an embedded server, by default on the node's address and any free port. */
function embeddedKubeletApi(
  settings: EffectiveOptions,
  server: EmbeddedApiServer,
  place: Omit<KubeletApiPlace, 'now'>,
): KubeletApiOptions | undefined {
  const configured = kubeletApiOptions(settings, { ...place, now: clock.now() });
  return (
    configured && {
      clientCa: server.ca,
      ...configured,
      tls: (hosts) => server.servingCertificate(`system:node:${hosts[0] ?? ''}`, hosts),
      port: isExplicit('port', settings) ? (configured.port ?? 0) : 0,
      address: isExplicit('address', settings) ? (configured.address ?? 'node') : 'node',
    }
  );
}
