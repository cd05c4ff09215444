import { join } from 'node:path';
import type { Agent } from '../agent/agent.ts';
import type { AgentOptions } from '../agent/agent-options.ts';
import { shutdownOptions } from '../agent/evictions.ts';
import { declaredFeatures } from '../agent/declared-features.ts';
import { syncLoopFault } from '../agent/kubelet-api.ts';
import { type LeveledLogger, pinoLogger } from '../base/pino-logger.ts';
import { steadyNow, systemClock } from '../base/clock.ts';
import { AgentError } from '../base/errors.ts';
import type { Logger } from '../base/logger.ts';
import { keyOf } from '../kube/names.ts';
import type { Pod } from '../kube/types.ts';
import { SystemdService } from '../node/watchdog.ts';
import { gatesInForce, isGateOn } from '../options/kubelet/feature-gates.ts';
import type { EffectiveOptions } from '../options/load.ts';
import { formatOrigin } from '../options/explain.ts';
import { originOf } from '../options/origin.ts';
import { activityHandler, eventActivity } from './activity.ts';
import { agentSettings, isExplicit } from './agent-settings.ts';
import { watchRejected } from './rejected-pods.ts';
import type { DataDir } from './data-dir.ts';
import type { AgentInputs } from './agent-inputs.ts';
import { readImageRegistries } from './image-registries.ts';
import { middlewareFactory } from './middleware.ts';
import { portError, portSetting } from './ports.ts';
import { criParts } from './cri.ts';
import { makeProviderOf } from './providers.ts';
import type { PodChange, Problem, RunOptions, Running, UpOptions } from './running.ts';

const clock = systemClock;

/** Returns the agent's options except for its API server, and a function that disconnects its runtime. */
export async function agentOptions(
  inputs: AgentInputs,
): Promise<AgentOptions & { readonly disconnect: () => Promise<void> }> {
  const { options, settings, dataDir, tracing, logger } = inputs;
  const { provider } = options;
  const common = agentSettings(settings);
  const kubelet = { ...settings.kubelet, featureGates: gatesInForce(settings.kubelet.featureGates) };
  const { close: disconnect, ...own } =
    provider === 'cri'
      ? criParts({ ...kubelet, ...settings.agent }, tracing?.tracer)
      : { hostDns: true, close: nothing, ...(await makeProviderOf(provider, inputs)) };
  const shutdown = shutdownOptions(
    kubelet,
    { clock, logger },
    { byLogindOnly: settings.agent.shutdownByLogindOnly },
  );
  const observed = (event: Parameters<NonNullable<AgentOptions['onEvent']>>[0]): void => {
    eventActivity(logger, event);
    inputs.onEvent?.(event);
  };
  return {
    disconnect,
    ...common,
    ...(shutdown && { shutdown }),
    nodeName: settings.agent.nodeName,
    rootDir: rootDirOf(settings, dataDir.path),
    ...own,
    onEvent: observed,
    storageFault: () => storageFault(dataDir),
    projectsTrustBundles: isGateOn('ClusterTrustBundleProjection', settings.kubelet.featureGates),
    node: { ...common.node, ...own.node, features: featuresOf(settings, provider) },
    ...manifestOptions(options, settings),
    ...(tracing && { tracer: tracing.tracer }),
    ...(options.imageRegistries !== undefined && { registry: readImageRegistries(options.imageRegistries) }),
    ...(options.middleware && {
      middleware: middlewareFactory(options.middleware, { cwd: process.cwd(), load: inputs.load }),
    }),
  };
}

function storageFault(dataDir: DataDir): string | undefined {
  const fault = dataDir.fault();
  return fault === undefined ? undefined : `the data directory ${dataDir.path} ${fault}`;
}

/**
 * Returns the manifest options. The command's flags take precedence over the configuration; manifest faults name the setting they come
 * from.
 */
function manifestOptions(
  { manifests, manifestUrl }: UpOptions | RunOptions,
  { origins }: EffectiveOptions,
): Pick<AgentOptions, 'manifests' | 'manifestUrl' | 'manifestsSetting'> {
  const origin = originOf('staticPodPath', origins);
  const configured =
    origin.from === 'file' ? `staticPodPath (${formatOrigin(origin)})` : formatOrigin(origin);
  return {
    manifestsSetting: manifests === undefined ? configured : '--manifests',
    ...(manifests !== undefined && { manifests }),
    ...(manifestUrl !== undefined && { manifestUrl }),
  };
}

/** Returns the members of {@link Running} that are the same for every agent. */
export function runningParts(
  agent: Agent,
  { dataDir, logger, settings }: Pick<AgentInputs, 'dataDir' | 'logger' | 'settings'>,
  { signal, apiPort }: { readonly signal: AbortSignal; readonly apiPort: string },
): Pick<Running, 'nodeName' | 'failed' | 'watchPods' | 'watchProblems'> {
  const lost = Promise.withResolvers<Problem>();
  dataDir.watch((fault) => {
    const message = `the directory ${fault}: no more pods are admitted; stop this agent and start it again`;
    logger.error('the data directory is lost', { path: dataDir.path, problem: fault });
    lost.resolve({ source: dataDir.path, message });
  });
  if (agent.podInformer) activityHandler(logger, agent.podInformer);
  return {
    nodeName: settings.agent.nodeName,
    failed: failureOf(agent.run(signal), signal).then((reason) =>
      AgentError.from(portError(reason, portSetting(settings, apiPort))),
    ),
    watchPods: (listener) => {
      const offs = [watchPods(agent, listener), watchRejected(agent.controller.engines, clock, listener)];
      return () => {
        for (const off of offs) off();
      };
    },
    watchProblems: (listener) => {
      let watched = true;
      void lost.promise.then((problem) => {
        if (watched) listener(problem);
      });
      const off = agent.events.on('problem', listener);
      return () => {
        watched = false;
        off();
      };
    },
  };
}

/** Returns the logger; it writes to a file, the command's stream, or stderr. */
export function makeLogger(
  { agent: { logLevel, logFormat } }: EffectiveOptions,
  destination?: string | { write(line: string): unknown },
): LeveledLogger {
  const stream =
    typeof destination === 'object' ? { write: (line: string) => void destination.write(line) } : destination;
  return pinoLogger(logLevel, stream, logFormat);
}

/** Returns the directory of volumes and checkpoints: as set, or in the agent's data directory. */
export const rootDirOf = (settings: EffectiveOptions, dataDir: string): string =>
  isExplicit('rootDir', settings) ? settings.agent.rootDir : join(dataDir, 'agent');

/** Returns the connection to systemd's notify socket. */
export const systemdService = (logger: Logger): SystemdService =>
  new SystemdService(process.env, { clock, logger, pid: process.pid });

/** Reports start and watchdog keep-alives to systemd. */
export function keepSystemdNotified(systemd: SystemdService, agent: Agent, signal: AbortSignal): void {
  void systemd.started();
  void systemd.watch(() => syncLoopFault(agent.controller, steadyNow(clock)), signal);
}

/** Resolves when the agent ends without being stopped. */
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

/** Returns the node features that these settings and this provider support. */
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
