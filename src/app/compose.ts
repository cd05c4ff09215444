import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Agent } from '../agent/agent.ts';
import type { AgentOptions } from '../agent/agent-options.ts';
import { shutdownOptions } from '../agent/evictions.ts';
import { declaredFeatures } from '../agent/declared-features.ts';
import { type KubeletApiOptions, syncLoopFault } from '../agent/kubelet-api.ts';
import { type LeveledLogger, pinoLogger } from '../agent/logger.ts';
import { createApiClient, type HttpApiClient } from '../api/rest/http-client.ts';
import { Informer } from '../api/cache/informer.ts';
import { eventResource } from '../api/resources.ts';
import type { EmbeddedApiServer } from '../apiserver/index.ts';
import { steadyNow, systemClock } from '../base/clock.ts';
import { AgentError } from '../base/errors.ts';
import type { Logger } from '../base/logger.ts';
import { keyOf } from '../kube/names.ts';
import type { Event, Pod } from '../kube/types.ts';
import { SystemdService } from '../node/watchdog.ts';
import { gatesInForce, isGateOn } from '../options/kubelet/feature-gates.ts';
import type { EffectiveOptions } from '../options/load.ts';
import {
  agentSettings,
  certDirOf,
  effectiveOptions,
  isSaid,
  kubeletApiOptions,
  type KubeletApiPlace,
  openPorts,
  tellWarnings,
} from './agent-settings.ts';
import { openDataDir } from './data-dir.ts';
import { criParts } from './cri.ts';
import { checkMachine, thisMachine } from './machine.ts';
import { makeProviderOf } from './providers.ts';
import { reachOf } from './reach.ts';
import type { PodChange, Running, UpOptions, RunOptions } from './running.ts';
import { stopPods } from './stop-pods.ts';
import { startTracing, type Tracing } from './tracing.ts';

const clock = systemClock;

/** Puts an embedded API server, the agent and a provider together, for `podtender up`. */
export async function startUp(options: UpOptions): Promise<Running> {
  const settings = effectiveOptions(options);
  const dataDir = openDataDir(options.dataDir);
  try {
    const logger = pinoLogger(settings.agent.logLevel, join(dataDir.path, 'podtender.log'));
    tellWarnings(settings, logger);
    const systemd = systemdService(logger);
    // an agent that joins a cluster never loads it
    const { EmbeddedApiServer: ApiServer } = await import('../apiserver/index.ts');
    const server = await ApiServer.start({
      dataDir: join(dataDir.path, 'apiserver'),
      port: options.port,
      logger,
      metricsApi: true,
      kubernetesService: false, // nobody listens at its address here
      clusterTrustBundles: isGateOn('ClusterTrustBundle', settings.kubelet.featureGates),
    });
    const kubeconfigPath = join(dataDir.path, 'kubeconfig');
    writeFileSync(kubeconfigPath, server.kubeconfig(), { mode: 0o600 });
    chmodSync(kubeconfigPath, 0o600); // of an older file too
    return await startAgent({
      options,
      settings,
      server,
      logger,
      kubeconfigPath,
      dataDir: dataDir.path,
      systemd,
      release: () => {
        dataDir.release();
      },
    });
  } catch (reason) {
    dataDir.release();
    throw reason;
  }
}

interface UpParts {
  readonly options: UpOptions;
  readonly settings: EffectiveOptions;
  readonly server: EmbeddedApiServer;
  readonly logger: LeveledLogger;
  readonly kubeconfigPath: string;
  readonly dataDir: string;
  readonly release: () => void;
  readonly systemd: SystemdService;
}

async function startAgent(parts: UpParts): Promise<Running> {
  const { options, settings, server, logger, dataDir } = parts;
  const { nodeName } = settings.agent;
  const tracing = await startTracing(settings.kubelet.tracing, { nodeName, clock, logger });
  const traced = tracing && { tracer: tracing.tracer };
  const connect = (user: { cert: string; key: string }, deps = {}): HttpApiClient =>
    createApiClient({ server: server.url, ca: server.ca, ...user }, { clock, logger, qps: 0, ...deps });
  const client = connect(server.clientCertificate(`system:node:${nodeName}`, ['system:nodes']), traced);
  const certDir = certDirOf(settings, dataDir);
  const kubeletApi = embeddedKubeletApi(settings, server, { certDir, nodeName, logger });
  const { readOnly, healthz } = openPorts(settings);
  const { disconnect, ...own } = agentOptions(options, settings, { dataDir, tracing, logger });
  const agent = await Agent.create({
    ...own,
    ...(readOnly && { readOnly }),
    ...(healthz && isSaid('healthzPort', settings) && { healthz }),
    client,
    logger,
    ...(kubeletApi && { kubeletApi }),
  });
  return runAgent(parts, agent, { client, observer: connect(server.admin), disconnect, tracing });
}

interface Clients {
  /** The agent's own. */
  readonly client: HttpApiClient;
  /** Reads what the view shows. */
  readonly observer: HttpApiClient;
  /** Lets the runtime go. */
  readonly disconnect: () => Promise<void>;
  readonly tracing: Tracing | undefined;
}

function runAgent(
  { settings, server, logger, kubeconfigPath, release, systemd }: UpParts,
  agent: Agent,
  { client, observer, disconnect, tracing }: Clients,
): Running {
  const stop = new AbortController();
  const failed = failureOf(agent.run(stop.signal), stop.signal);
  keepSystemdTold(systemd, agent, stop.signal);
  const events = new Informer<Event>({ client: observer, clock, logger }, eventResource);
  void events.run(stop.signal);
  return {
    kubeconfigPath,
    serverUrl: server.url,
    nodeName: settings.agent.nodeName,
    failed,
    watchPods: (listener) => watchPods(agent, listener),
    watchProblems: (listener) => agent.events.on('problem', listener),
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
      await agent.stop();
      await Promise.all([client.close(), observer.close(), disconnect()]);
      await server.stop();
      await tracing?.stop();
      release();
    },
  };
}

const systemdService = (logger: Logger): SystemdService =>
  new SystemdService(process.env, { clock, logger, pid: process.pid });

function keepSystemdTold(systemd: SystemdService, agent: Agent, signal: AbortSignal): void {
  void systemd.started();
  void systemd.watch(() => syncLoopFault(agent.controller, steadyNow(clock)), signal);
}

/** Resolves when the run ends though nobody asked it to. */
function failureOf(running: Promise<void>, stop: AbortSignal): Promise<Error> {
  return new Promise((resolve) => {
    running.then(
      () => {
        if (!stop.aborted) resolve(new AgentError('internal', 'the agent ended by itself'));
      },
      (reason: unknown) => {
        resolve(AgentError.from(reason));
      },
    );
  });
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

/** Beside an embedded server, on the node's address and any free port unless the settings say which. */
function embeddedKubeletApi(
  settings: EffectiveOptions,
  server: EmbeddedApiServer,
  place: Omit<KubeletApiPlace, 'now'>,
): KubeletApiOptions | undefined {
  const said = kubeletApiOptions(settings, { ...place, now: clock.now() });
  return (
    said && {
      clientCa: server.ca,
      ...said,
      tls: (hosts) => server.servingCertificate(`system:node:${hosts[0] ?? ''}`, hosts),
      port: isSaid('port', settings) ? (said.port ?? 0) : 0,
      address: isSaid('address', settings) ? (said.address ?? 'node') : 'node',
    }
  );
}

function agentOptions(
  options: UpOptions | RunOptions,
  settings: EffectiveOptions,
  { dataDir, tracing, logger }: Pick<UpParts, 'dataDir' | 'logger'> & Pick<Clients, 'tracing'>,
): AgentOptions & Pick<Clients, 'disconnect'> {
  const { manifests, manifestUrl, provider } = options;
  const common = agentSettings(settings);
  const kubelet = { ...settings.kubelet, featureGates: gatesInForce(settings.kubelet.featureGates) };
  const { close: disconnect, ...own } =
    provider === 'cri'
      ? criParts({ ...kubelet, ...settings.agent }, tracing?.tracer)
      : { hostDns: true, close: nothing, ...makeProviderOf(provider, dataDir, settings) };
  const shutdown = shutdownOptions(
    kubelet,
    { clock, logger },
    { byLogindOnly: settings.agent.shutdownByLogindOnly },
  );
  return {
    disconnect,
    ...common,
    ...(shutdown && { shutdown }),
    nodeName: settings.agent.nodeName,
    rootDir: isSaid('rootDir', settings) ? settings.agent.rootDir : join(dataDir, 'agent'),
    ...own,
    projectsTrustBundles: isGateOn('ClusterTrustBundleProjection', settings.kubelet.featureGates),
    node: { ...common.node, ...own.node, features: featuresOf(settings, provider) },
    ...(manifests !== undefined && { manifests }),
    ...(manifestUrl !== undefined && { manifestUrl }),
    ...(tracing && { tracer: tracing.tracer }),
  };
}

/** What the node declares: only what these settings and this provider have. */
function featuresOf({ kubelet }: EffectiveOptions, provider: UpOptions['provider']): readonly string[] {
  const parts = {
    webSockets: kubelet.enableServer && kubelet.enableDebuggingHandlers,
    containers: provider !== 'memory',
    resizes: provider === 'cri',
  };
  return declaredFeatures(parts, gatesInForce(kubelet.featureGates));
}

const nothing = (): Promise<void> => Promise.resolve();

function watchPods(agent: Agent, listener: (change: PodChange) => void): () => void {
  const set = (pod: Pod): void => {
    listener({ type: 'set', pod });
  };
  const registration = agent.podInformer?.addHandler({
    added: set,
    updated: (_old, pod) => {
      set(pod);
    },
    deleted: (pod) => {
      listener({ type: 'gone', key: keyOf(pod) });
    },
  });
  return () => {
    registration?.remove();
  };
}

/** Joins a cluster, for `podtender run`; returns the exit code. Containers go on when it ends, as with the kubelet. */
export async function joinCluster(
  options: RunOptions,
  onSignal: (listener: () => void) => () => void,
): Promise<number> {
  const settings = effectiveOptions(options);
  const dataDir = openDataDir(options.dataDir);
  const logger = pinoLogger(settings.agent.logLevel);
  tellWarnings(settings, logger);
  const stop = new AbortController();
  const off = onSignal(() => {
    stop.abort();
  });
  try {
    const systemd = systemdService(logger);
    if (options.provider === 'cri') checkMachine(settings, thisMachine(), logger);
    const certDir = certDirOf(settings, dataDir.path);
    const { nodeName } = settings.agent;
    const reach = await reachOf(options, settings, { certDir, dataDir: dataDir.path, logger });
    const keeping = reach.keep(stop.signal);
    await reach.ready?.(stop.signal);
    const { connection } = reach;
    const { kubeAPIQPS: qps, kubeAPIBurst: burst } = settings.kubelet;
    const tracing = await startTracing(settings.kubelet.tracing, { nodeName, clock, logger });
    const traced = tracing && { tracer: tracing.tracer };
    const client = createApiClient(connection, { clock, logger, qps, burst, ...traced });
    const kubeletApi = kubeletApiOptions(settings, { certDir, nodeName, now: clock.now(), logger });
    const { disconnect, ...own } = agentOptions(options, settings, {
      dataDir: dataDir.path,
      tracing,
      logger,
    });
    const ports = openPorts(settings);
    const agent = await Agent.create({
      ...own,
      ...ports,
      client,
      logger,
      ...(kubeletApi && { kubeletApi }),
      ...(reach.metrics && { moreMetrics: reach.metrics }),
    });
    logger.info('agent runs', {
      node: nodeName,
      server: connection.server,
      provider: options.provider,
    });
    keepSystemdTold(systemd, agent, stop.signal);
    await Promise.all([agent.run(stop.signal), keeping]);
    await Promise.all([client.close(), disconnect()]);
    await tracing?.stop();
    return 0;
  } finally {
    stop.abort();
    off();
    dataDir.release();
  }
}
