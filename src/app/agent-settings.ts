import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import type { AgentOptions } from '../agent/agent-options.ts';
import { kubernetesVersion } from '../agent/node-setters.ts';
import { selfSignedIn } from '../certificates/certificate-files.ts';
import type { LeveledLogger, LogLevel } from '../base/pino-logger.ts';
import type { KubeletApiOptions } from '../agent/kubelet-api.ts';
import type { UpkeepSettings } from '../agent/garbage-collection.ts';
import { AgentError, messageOf } from '../base/errors.ts';
import type { Logger } from '../base/logger.ts';
import { durationMs } from '../kube/duration.ts';
import { parseQuantity, valueOf } from '../kube/resources/quantity.ts';
import { valueAt } from '../options/decode.ts';
import { isGateOn } from '../options/kubelet/feature-gates.ts';
import { agentFields } from '../options/agent/fields.ts';
import { louder } from '../options/agent/read.ts';
import { flagTargets } from '../options/flags.ts';
import { type EffectiveOptions, loadOptions } from '../options/load.ts';
import { formatFault } from '../options/options-error.ts';
import type { UpOptions } from './running.ts';
import { tlsSettings } from './tls.ts';
import { readFlagsOnly } from '../options/command-line.ts';
import { originOf } from '../options/origin.ts';

/** Flags of `podtender up` and `run` that are not settings, for suggestions to a mistyped flag. */
const ownFlags = ['manifests', 'manifest-url', 'node-name'];

/**
 * Returns the effective settings from the command line, the environment and the KubeletConfiguration file.
 *
 * @throws {OptionsError} with every fault of file, flags and environment
 */
export function effectiveOptions(
  options: Pick<UpOptions, 'kubeletFlags' | 'config' | 'nodeName' | 'logLevel' | 'logFormat'>,
): EffectiveOptions {
  const { nodeName, logLevel, logFormat } = options;
  return loadOptions({
    flags: {
      ...readFlagsOnly(options.kubeletFlags),
      ...(nodeName !== undefined && { 'hostname-override': nodeName }),
      ...(logLevel !== undefined && { 'log-level': logLevel }),
      ...(logFormat !== undefined && { 'log-format': logFormat }),
    },
    env: process.env,
    hostname: hostname(),
    ownFlags,
    ...(options.config !== undefined && { configFile: options.config }),
  });
}

/** Returns the object without undefined members. */
function definedOnly<T extends object>(values: { readonly [K in keyof T]: T[K] | undefined }): Partial<T> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as Partial<T>;
}

/** Returns the agent's options that the settings determine. */
export function agentSettings({ kubelet, agent }: EffectiveOptions): Partial<AgentOptions> {
  return definedOnly<AgentOptions>({
    nodeIPs: agent.nodeIp.length > 0 ? agent.nodeIp : undefined,
    clusterDomain: kubelet.clusterDomain,
    clusterDns: kubelet.clusterDNS,
    manifests: notEmpty(kubelet.staticPodPath),
    manifestUrl: notEmpty(kubelet.staticPodURL),
    manifestHeaders: kubelet.staticPodURLHeader,
    proxies: process.env,
    manifestPeriodMs: durationMs(kubelet.fileCheckFrequency),
    manifestUrlPeriodMs: durationMs(kubelet.httpCheckFrequency),
    keepLastGoodManifest: agent.keepLastGoodManifest,
    allowedUnsafeSysctls: kubelet.allowedUnsafeSysctls,
    periods: { resyncMs: durationMs(kubelet.syncFrequency) },
    events: { qps: kubelet.eventRecordQPS, burst: kubelet.eventBurst },
    node: nodeSettings(kubelet, agent),
  } as { [K in keyof AgentOptions]: AgentOptions[K] | undefined });
}

const notEmpty = (text: string | undefined): string | undefined => (text === '' ? undefined : text);

function nodeSettings(
  kubelet: EffectiveOptions['kubelet'],
  { nodeLabels: labels, cloudProvider, exitPolicy, registerAgain }: EffectiveOptions['agent'],
): NonNullable<AgentOptions['node']> {
  return definedOnly<NonNullable<AgentOptions['node']>>({
    labels,
    providerId: notEmpty(kubelet.providerID),
    externalCloudProvider: cloudProvider === 'external',
    taints: kubelet.registerWithTaints,
    maxPods: kubelet.maxPods,
    podsPerCore: kubelet.podsPerCore,
    ...reservedAmounts(kubelet),
    registerNode: kubelet.registerNode,
    registerAgain,
    exitPolicy,
    maxImages: kubelet.nodeStatusMaxImages,
    controllerAttachDetach: kubelet.enableControllerAttachDetach,
    leaseDurationSeconds: kubelet.nodeLeaseDurationSeconds,
    statusUpdateIntervalMs: durationMs(kubelet.nodeStatusUpdateFrequency),
    statusReportIntervalMs: durationMs(kubelet.nodeStatusReportFrequency),
  });
}

/** Returns the reserved resources: processors reserved by number take precedence over amounts (kubelet `reservedSystemCPUs`). */
function reservedAmounts({
  reservedSystemCPUs = '',
  systemReserved,
  kubeReserved,
}: EffectiveOptions['kubelet']): Pick<NonNullable<AgentOptions['node']>, 'systemReserved' | 'kubeReserved'> {
  const reserved = cpusIn(reservedSystemCPUs);
  if (reserved === 0) return definedOnly({ systemReserved, kubeReserved });
  const { cpu: _, ...rest } = kubeReserved ?? {};
  return { systemReserved: { ...systemReserved, cpu: String(reserved) }, kubeReserved: rest };
}

/** Returns the number of processors in a list such as `0-3,8`. */
function cpusIn(list: string): number {
  const cpus = new Set<number>();
  for (const part of list.split(',').filter(Boolean)) {
    const [first = 0, last = first] = part.split('-').map(Number);
    for (let cpu = first; cpu <= last; cpu++) cpus.add(cpu);
  }
  return cpus.size;
}

/** Returns the settings of container log rotation. */
export const logUpkeep = ({
  containerLogMaxSize,
  containerLogMaxFiles,
  containerLogMonitorInterval,
}: Pick<
  EffectiveOptions['kubelet'],
  'containerLogMaxSize' | 'containerLogMaxFiles' | 'containerLogMonitorInterval'
>): UpkeepSettings['logs'] => ({
  maxBytes: valueOf(parseQuantity(containerLogMaxSize)),
  maxFiles: containerLogMaxFiles,
  periodMs: durationMs(containerLogMonitorInterval),
});

/** The settings of {@link deadContainers}; default: the flags'. */
export type DeadContainerSettings = Partial<
  Pick<
    EffectiveOptions['agent'],
    'maximumDeadContainers' | 'maximumDeadContainersPerContainer' | 'minimumContainerTtlDuration'
  >
>;

/** Returns how many dead containers are retained, and how long. */
export const deadContainers = ({
  maximumDeadContainers = -1,
  maximumDeadContainersPerContainer = 1,
  minimumContainerTtlDuration = '0s',
}: DeadContainerSettings): NonNullable<UpkeepSettings['containers']> => ({
  minAgeMs: durationMs(minimumContainerTtlDuration),
  maxPerPodContainer: maximumDeadContainersPerContainer,
  maxContainers: maximumDeadContainers,
});

/** Returns the log level without the effect of the initial verbosity. */
const configuredLevel = ({ agent, origins }: EffectiveOptions): LogLevel =>
  origins.has('logLevel') ? agent.logLevel : (agentFields.logLevel.default as LogLevel);

/** Where the kubelet API keeps its certificates, and its clock and logger. */
export interface KubeletApiPlace {
  /** Directory of certificates. */
  readonly certDir: string;
  readonly nodeName: string;
  readonly now: number;
  readonly logger: LeveledLogger;
}

/**
 * Returns the options of the kubelet API; undefined when it is disabled (`enableServer: false`).
 *
 * @throws {AgentError} when a configured file cannot be read
 */
export function kubeletApiOptions(
  settings: EffectiveOptions,
  { certDir, nodeName, now, logger }: KubeletApiPlace,
): KubeletApiOptions | undefined {
  const { kubelet } = settings;
  if (!kubelet.enableServer) return undefined;
  const { authentication, authorization } = kubelet;
  const caFile = authentication.x509.clientCAFile ?? '';
  return {
    port: kubelet.port,
    address: kubelet.address,
    authorization: authorization.mode === 'AlwaysAllow' ? 'alwaysAllow' : 'webhook',
    anonymousAuth: authentication.anonymous.enabled,
    reviewTokens: authentication.webhook.enabled,
    debugging: kubelet.enableDebuggingHandlers,
    splitStreams: isGateOn('PodLogsQuerySplitStreams', kubelet.featureGates),
    checkpoints: isGateOn('ContainerCheckpoint', kubelet.featureGates),
    configz: () => kubelet,
    flags: () => flagValues(settings),
    program: {
      startedAt: performance.timeOrigin,
      runtimeVersion: process.version,
      version: kubernetesVersion,
    },
    ...(kubelet.enableSystemLogHandler && { logsRoot: '/var/log' }),
    ...(kubelet.enableProfilingHandler && { commandLine: process.argv }),
    disabled: {
      logs: !kubelet.enableSystemLogHandler,
      profiling: !kubelet.enableProfilingHandler,
      debugFlags: !kubelet.enableDebugFlagsHandler,
    },
    setVerbosity: (verbosity) => {
      logger.level = louder(configuredLevel(settings), verbosity);
    },
    streams: { idleMs: durationMs(kubelet.streamingConnectionIdleTimeout) },
    webhookTimes: {
      tokenMs: durationMs(authentication.webhook.cacheTTL),
      allowedMs: durationMs(authorization.webhook.cacheAuthorizedTTL),
      deniedMs: durationMs(authorization.webhook.cacheUnauthorizedTTL),
    },
    ...(caFile !== '' && { clientCa: textOf('authentication.x509.clientCAFile', caFile) }),
    ...(caFile !== '' &&
      isGateOn('ReloadKubeletClientCAFile', kubelet.featureGates) && { clientCaFile: caFile }),
    tlsSettings: tlsSettings(kubelet),
    ...servingPair(kubelet, certDir),
    tls: () => selfSignedIn(certDir, nodeName, now),
  };
}

/** Returns every flag with its effective value, as text. */
function flagValues({ kubelet, agent }: EffectiveOptions): Readonly<Record<string, string>> {
  const texts = [...flagTargets.values()].map(({ flag, path, group }) => {
    const value = valueAt(group === 'kubelet' ? kubelet : agent, path.join('.'));
    // headers of the manifest URL may contain credentials
    return [flag, flag === 'manifest-url-header' ? '<masked>' : flagText(value)];
  });
  return Object.fromEntries(texts) as Readonly<Record<string, string>>;
}

function flagText(value: unknown): string {
  if (value === undefined) return '';
  if (Array.isArray(value)) return `[${value.map(flagText).join(',')}]`;
  if (typeof value === 'object' && value !== null)
    return Object.entries(value)
      .map(([key, inner]) => `${key}=${flagText(inner)}`)
      .join(',');
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** Returns a requested serving certificate, or the configured files; without either it is self-signed. */
function servingPair(
  { tlsCertFile = '', tlsPrivateKeyFile = '', serverTLSBootstrap }: EffectiveOptions['kubelet'],
  certDir: string,
): Pick<KubeletApiOptions, 'tlsFiles' | 'requestedCertDir'> {
  if (serverTLSBootstrap === true) return { requestedCertDir: certDir };
  return tlsCertFile === '' ? {} : { tlsFiles: { certFile: tlsCertFile, keyFile: tlsPrivateKeyFile } };
}

/** Reports whether a setting is set and not a default. */
export const isExplicit = (path: string, { origins }: EffectiveOptions): boolean =>
  originOf(path, origins).from !== 'default';

/** Logs settings that are unknown or have no effect. */
export function logWarnings({ warnings }: EffectiveOptions, logger: Logger): void {
  for (const warning of warnings) logger.warn('setting has no effect', { setting: formatFault(warning) });
}

/** Returns the directory of certificates: as set, or in the agent's data directory. */
export const certDirOf = (settings: EffectiveOptions, dataDir: string): string =>
  isExplicit('certDir', settings) || isExplicit('rootDir', settings)
    ? settings.agent.certDir
    : join(dataDir, 'pki');

/** Returns the ports without TLS: the read-only port if set, the health port unless disabled. */
export function openPorts({ kubelet }: EffectiveOptions): Pick<AgentOptions, 'readOnly' | 'healthz'> {
  const { readOnlyPort = 0, address, healthzPort, healthzBindAddress } = kubelet;
  return {
    ...(readOnlyPort > 0 && { readOnly: { port: readOnlyPort, address } }),
    ...(healthzPort > 0 && { healthz: { port: healthzPort, address: healthzBindAddress } }),
  };
}

function textOf(setting: string, path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (cause) {
    throw new AgentError('invalid_argument', `${setting}: ${messageOf(cause)}`, { cause });
  }
}
