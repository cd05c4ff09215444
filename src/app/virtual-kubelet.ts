import { readFile } from 'node:fs/promises';
import { type LogLevel, pinoLogger } from '../base/pino-logger.ts';
import { systemClock } from '../base/clock.ts';
import { messageOf } from '../base/errors.ts';
import type { Logger } from '../base/logger.ts';
import {
  type AnyProvider,
  invalidInput,
  mockConfigOf,
  MockProvider,
  type MutableNode,
  newNode,
  noAuth,
  type NodeConfig,
  type ProviderConfig,
  type Provider,
  ResourceManager,
  type VirtualNode,
  webhookAuth,
} from '../vkubelet/index.ts';
import { connectionFromKubeconfig } from '../api/kubeconfig/kube-client.ts';
import { createApiClient } from '../api/rest/http-client.ts';
import { hostAddress } from './own-addresses.ts';
import { loadProviderModule } from './provider-module.ts';
import type { StartContext } from './running.ts';
import { startTracing } from './tracing.ts';

/** What the command line and the environment say to `podtender virtual-kubelet`. */
export interface VirtualKubeletOptions {
  readonly cwd: string;
  /** Absent: `$KUBECONFIG`, `~/.kube/config`, or the pod that this runs in. */
  readonly kubeconfig?: string;
  readonly nodeName: string;
  /** `linux` or `windows`. */
  readonly operatingSystem: string;
  /** `mock`, or a module: a file, a `file:` URL or a package. */
  readonly provider: string;
  readonly providerConfig?: string;
  readonly clusterDomain: string;
  readonly port: number;
  /** `host:port`; absent: no such server. */
  readonly metricsAddr?: string;
  /** Absent: the node has no taint. */
  readonly taint?: { readonly key: string; readonly value: string; readonly effect: string };
  readonly podSyncWorkers: number;
  readonly fullResyncPeriodMs: number;
  /** 0: as long as it takes. */
  readonly startupTimeoutMs: number;
  readonly streamIdleTimeoutMs: number;
  readonly streamCreationTimeoutMs: number;
  readonly logLevel: LogLevel;
  readonly trace?: {
    readonly serviceName: string;
    readonly endpoint?: string;
    readonly samplesPerMillion: number;
  };
  /** The address that the node is reached by (`VKUBELET_POD_IP`). */
  readonly podIP?: string;
  /** `APISERVER_CERT_LOCATION`, `APISERVER_KEY_LOCATION`, `APISERVER_CA_CERT_LOCATION` */
  readonly certFile?: string;
  readonly keyFile?: string;
  readonly caFile?: string;
  readonly version: string;
}

/** What the module of a provider is given, in place of virtual-kubelet's `provider.InitConfig`. */
export interface InitConfig {
  readonly configPath: string;
  readonly nodeName: string;
  readonly operatingSystem: string;
  readonly internalIP: string;
  readonly daemonPort: number;
  readonly kubeClusterDomain: string;
  readonly resourceManager: ResourceManager;
  readonly logger: Logger;
}

/** Makes a provider of its configuration. */
export type InitFunc = (config: InitConfig) => AnyProvider | Promise<AnyProvider>;

/** A node that runs, for the command. */
export interface RunningVirtualKubelet {
  readonly node: VirtualNode;
  readonly logger: Logger;
  /** Resolves when the node has ended; rejects with what ended it. */
  readonly ended: Promise<void>;
  stop(): Promise<void>;
}

/**
 * Starts the node of `podtender virtual-kubelet` and resolves when it is Ready.
 *
 * @throws {AgentError} what is wrong with the settings, or that the node was not ready within the start-up timeout
 */
export async function startVirtualKubelet(
  options: VirtualKubeletOptions,
  context: Pick<StartContext, 'load' | 'signal'>,
): Promise<RunningVirtualKubelet> {
  const logger = pinoLogger(options.logLevel);
  const init = await initOf(options, context);
  const clock = systemClock;
  const connection = await connectionFromKubeconfig(clock, options.kubeconfig);
  const tracing =
    options.trace &&
    (await startTracing(tracingOf(options.trace), { nodeName: options.nodeName, clock, logger }));
  const client = createApiClient(connection, { clock, logger, ...(tracing && { tracer: tracing.tracer }) });
  const node = newNode(
    options.nodeName,
    async (config) => [await providerOf(init, options, { config, logger })],
    (config) => {
      configure(config, options);
      config.client = client;
      config.auth = authOf(options, client, logger);
      config.logger = logger;
      if (tracing) config.tracer = tracing.tracer;
    },
  );
  const stop = new AbortController();
  const running = node.run(stop.signal);
  running.catch(() => undefined);
  const end = async (): Promise<void> => {
    stop.abort();
    await running.catch(() => undefined);
    await client.close();
    await tracing?.stop();
  };
  try {
    await readyWithin(node, options.startupTimeoutMs, context.signal);
  } catch (reason) {
    await end();
    throw reason;
  }
  logger.info('node is ready', {
    node: options.nodeName,
    provider: options.provider,
    port: node.address.port,
  });
  return { node, logger, ended: running, stop: end };
}

async function readyWithin(node: VirtualNode, timeoutMs: number, signal: AbortSignal): Promise<void> {
  if (timeoutMs <= 0) return node.waitReady(signal);
  const late = new AbortController();
  const stop = systemClock.timer(timeoutMs, () => {
    late.abort(invalidInput(`the node was not ready within the startup timeout of ${timeoutMs / 1000} s`));
  });
  try {
    await node.waitReady(AbortSignal.any([signal, late.signal]));
  } finally {
    stop();
  }
}

function configure(config: NodeConfig, options: VirtualKubeletOptions): void {
  config.httpListenAddr = `:${options.port}`;
  config.numWorkers = options.podSyncWorkers;
  config.informerResyncPeriod = options.fullResyncPeriodMs;
  config.streamIdleTimeout = options.streamIdleTimeoutMs;
  config.streamCreationTimeout = options.streamCreationTimeoutMs;
  config.providerName = nameOfProvider(options.provider);
  if (options.metricsAddr !== undefined) config.metricsAddr = options.metricsAddr;
  const { certFile, keyFile, caFile } = options;
  config.tls = {
    ...(certFile !== undefined && keyFile !== undefined && { certFile, keyFile }),
    ...(caFile !== undefined && { clientCaFile: caFile }),
  };
  describe(config.nodeSpec as MutableNode, options);
}

function describe(
  node: MutableNode,
  { operatingSystem, taint, podIP, version }: VirtualKubeletOptions,
): void {
  if (taint) node.spec.taints = [...(node.spec.taints ?? []), taint];
  const architecture = goArchitectures[process.arch] ?? process.arch;
  Object.assign(node.metadata.labels, {
    'kubernetes.io/os': operatingSystem,
    'kubernetes.io/arch': architecture,
  });
  node.status.addresses = [{ type: 'InternalIP', address: podIP ?? hostAddress() }];
  node.status.nodeInfo = {
    architecture,
    operatingSystem,
    kubeletVersion: `v1.36.2-vk-podtender-${version}`,
    ...{ bootID: '', machineID: '', systemUUID: '', kernelVersion: '', osImage: '' },
    ...{ containerRuntimeVersion: '', kubeProxyVersion: '' },
  };
}

const goArchitectures: Readonly<Record<string, string>> = { x64: 'amd64', ia32: '386' };

/**
 * With a client authority: its certificates and tokens that the API server reviews. With a serving certificate alone: everyone, as with
 * virtual-kubelet. With neither: tokens that the API server reviews.
 */
function authOf(
  { certFile, caFile }: VirtualKubeletOptions,
  client: Parameters<typeof webhookAuth>[0],
  logger: Logger,
): ReturnType<typeof noAuth> {
  if (caFile !== undefined || certFile === undefined) return webhookAuth(client);
  logger.warn('APISERVER_CA_CERT_LOCATION is not set: whoever reaches the HTTP API may use it');
  return noAuth();
}

const tracingOf = ({ endpoint, samplesPerMillion }: NonNullable<VirtualKubeletOptions['trace']>) => ({
  ...(endpoint !== undefined && { endpoint }),
  samplingRatePerMillion: samplesPerMillion,
});

interface Making {
  readonly config: ProviderConfig;
  readonly logger: Logger;
}

async function providerOf(
  init: InitFunc,
  options: VirtualKubeletOptions,
  { config, logger }: Making,
): Promise<AnyProvider> {
  const provider = await makeIt(init, options, { config, logger });
  const { configureNode } = provider as Partial<Provider>;
  const context = { signal: new AbortController().signal, logger };
  await configureNode?.call(provider, config.node, context);
  const { nodeInfo } = config.node.status;
  if (nodeInfo)
    config.node.status.nodeInfo = { ...nodeInfo, kubeletVersion: `v1.36.2-vk-podtender-${options.version}` };
  return provider;
}

async function makeIt(
  init: InitFunc,
  options: VirtualKubeletOptions,
  { config, logger }: Making,
): Promise<AnyProvider> {
  try {
    return await init({
      configPath: options.providerConfig ?? '',
      nodeName: options.nodeName,
      operatingSystem: options.operatingSystem,
      internalIP: options.podIP ?? hostAddress(),
      daemonPort: options.port,
      kubeClusterDomain: options.clusterDomain,
      resourceManager: new ResourceManager(config),
      logger,
    });
  } catch (cause) {
    throw invalidInput(`error initializing provider ${options.provider}: ${messageOf(cause)}`, { cause });
  }
}

const isFile = (source: string): boolean => /[/\\]|\.[cm]?[jt]s$/.test(source);

/** The scheme of container IDs and the value of the taint: the last word of a file's name, or the package. */
export function nameOfProvider(provider: string): string {
  if (!isFile(provider)) return provider.replace(/^@/, '').replaceAll('/', '-');
  const base = provider.split(/[/\\]/).at(-1) ?? provider;
  return base.replace(/\.[^.]*$/, '') || 'provider';
}

async function initOf(
  { provider, cwd }: VirtualKubeletOptions,
  { load }: Pick<StartContext, 'load'>,
): Promise<InitFunc> {
  if (provider === '')
    throw invalidInput('no provider: name one with --provider, mock or a module such as ./provider.mjs');
  if (provider === 'mock') return mock;
  const module = await loadProviderModule(provider, provider, { cwd, load });
  const { default: exported } = module as { readonly default?: unknown };
  if (typeof exported === 'function') {
    const isClass = Function.prototype.toString.call(exported).startsWith('class');
    return isClass
      ? (config) => new (exported as new (init: InitConfig) => AnyProvider)(config)
      : (exported as InitFunc);
  }
  if (typeof exported === 'object' && exported !== null) return () => exported as AnyProvider;
  throw invalidInput(
    `--provider ${provider}: the module exports no provider as its default: an object, a class or a function that makes one`,
  );
}

const mock: InitFunc = async ({ configPath, nodeName, operatingSystem, internalIP, daemonPort }) => {
  const text = configPath === '' ? '{}' : await readFile(configPath, 'utf8');
  const config = mockConfigOf(text, nodeName);
  return new MockProvider({ nodeName, config, operatingSystem, internalIP, daemonPort });
};
