import type { ApiClient } from '../api/client.ts';
import type { Resource } from '../api/resources.ts';
import { type Clock, systemClock } from '../base/clock.ts';
import { fileName } from '../base/files/below.ts';
import { AgentError } from '../base/errors.ts';
import { type Logger, silentLogger } from '../base/logger.ts';
import { isStaticPod, uidOf } from '../kube/names.ts';
import type { KubeObject, Pod, PodStatus } from '../kube/types.ts';
import type { PodProvider } from '../provider/provider.ts';
import type { PodUsage } from '../provider/usage.ts';
import { alwaysAllow } from '../server/access.ts';
import type { ServerHost } from '../server/host.ts';
import { KubeletServer, type KubeletServerOptions, webhookAccess } from '../server/kubelet-server.ts';
import type { MetricFamily } from '../metrics/family.ts';
import type { ServedPodUsage, Usage } from '../containers/stats/usage.ts';
import type { ProgramStatus } from '../kube/zpages.ts';
import {
  type CertificateFiles,
  followClientCa,
  followPair,
  readClientCa,
  readPair,
} from '../certificates/certificate-files.ts';
import type { CgroupReadings } from '../containers/stats/cgroup-readings.ts';
import { kubeletMetrics, type MetricSources } from './metrics/kubelet-metrics.ts';
import { CpuRates, machineUsage } from '../containers/stats/machine-usage.ts';
import type { NodeSummary } from '../containers/stats/summary-provider.ts';
import type { EngineMetrics } from '../pods/metrics/agent-metrics.ts';
import type { Reviews, SubjectAccessReviewSpec, TokenReviewStatus, WebhookTimes } from '../server/webhook.ts';
import { join } from 'node:path';
import { rfc3339 } from '../kube/time.ts';
import { mkdir } from 'node:fs/promises';

/** The parts of the engines that the kubelet API serves. */
export interface ServedEngines {
  readonly provider: PodProvider;
  readonly podManager: MetricSources['podManager'] & {
    getPods(): readonly Pod[];
    getPodByName(namespace: string, name: string): Pod | undefined;
  };
  readonly podWorkers: MetricSources['podWorkers'];
  readonly pleg: MetricSources['pleg'];
  readonly syncHandler: MetricSources['syncHandler'];
  readonly statusManager: MetricSources['statusManager'] & {
    getPodStatus(uid: string): PodStatus | undefined;
  };
  readonly metrics?: Pick<EngineMetrics, 'collect' | 'collectProbes'>;
}

export interface ServerHostOptions {
  readonly engines: ServedEngines;
  readonly nodeName: string;
  readonly clock?: Clock;
  /** The metrics of other subsystems, for `/metrics`. */
  readonly moreMetrics?: () => readonly MetricFamily[];
  /** The node summary for `/stats/summary`, in addition to the usage of containers; absent when it is not measured. */
  readonly summary?: () => Pick<NodeSummary, 'of'> | undefined;
  /** The cgroup readings for `/metrics/cadvisor`; absent: the provider's usage is served. */
  readonly cgroups?: Pick<CgroupReadings, 'collect'>;
  /** Returns the problem of the sync loop; absent when it is not checked. */
  readonly syncLoopFault?: () => string | undefined;
  /** The directory whose file system counts as the node's. Default `/`. */
  readonly statsRoot?: string;
  /** The root directory for container checkpoints; absent when there are none. */
  readonly rootDir?: string;
  /** The directory that `/logs/` serves; absent for none. */
  readonly logsRoot?: string;
  /** For `/statusz`. */
  readonly program?: ProgramStatus;
  /** For `/debug/pprof/cmdline`; absent when it is not served. */
  readonly commandLine?: readonly string[];
  /** For `/configz`. */
  readonly configz?: () => unknown;
  /** For `/flagz`. */
  readonly flags?: () => Readonly<Record<string, string>>;
  /** For `/debug/flags/v`. */
  readonly setVerbosity?: (verbosity: number) => void;
}

/** The timeout of a `/run` command, ms. */
const runTimeoutMs = 600_000;

/** Makes the host of the kubelet API from the agent's subsystems. */
export function serverHost(options: ServerHostOptions): ServerHost {
  const { engines, nodeName, clock = systemClock } = options;
  const { provider, podManager, statusManager } = engines;
  const { streamUrls } = provider;
  const { rootDir } = options;
  const checkpoint = rootDir === undefined ? undefined : containerCheckpoints({ provider, rootDir, clock });
  return {
    nodeName,
    pods: () => podManager.getPods().map((pod) => withStatus(pod, statusManager)),
    podByName: (namespace, name) => podManager.getPodByName(namespace, name),
    podStatus: (uid) => statusManager.getPodStatus(uid),
    runningPods: () => provider.listPods(),
    syncLoopFault: () => options.syncLoopFault?.(),
    ...livePowers(engines),
    ...(streamUrls && { streamUrls }),
    ...usagePowers(options),
    metrics: () => [
      ...kubeletMetrics(engines, nodeName),
      ...(engines.metrics?.collect() ?? []),
      ...(options.moreMetrics?.() ?? []),
    ],
    probeMetrics: () => engines.metrics?.collectProbes() ?? [],
    ...(checkpoint && { checkpoint }),
    ...ownPages(options),
  };
}

const ownPageKeys = ['logsRoot', 'program', 'commandLine', 'configz', 'flags', 'setVerbosity'] as const;

/** The pages about the agent itself, as far as the options have them. */
const ownPages = (options: ServerHostOptions): Pick<ServerHost, (typeof ownPageKeys)[number]> =>
  Object.fromEntries(
    ownPageKeys.flatMap((key) => (options[key] === undefined ? [] : [[key, options[key]] as const])),
  );

/** Makes the reader of the usage of node and pods. Rates are computed between two readings. */
function usageOf(
  { engines, clock = systemClock, statsRoot = '/', summary, cgroups }: ServerHostOptions,
  listUsage: () => Promise<readonly PodUsage[]>,
): () => Promise<Usage> {
  const rates = new CpuRates();
  return async () => {
    const [node, measured] = await Promise.all([machineUsage(statsRoot, clock), listUsage()]);
    const pods = rates
      .fill(measured)
      .map((pod) => withStarts(pod, engines.statusManager.getPodStatus(pod.uid)));
    const cpuNanoCores = rates.rate('node', node.cpuNanos, node.at);
    const details = summary?.();
    const usage = { node: { ...node, ...(cpuNanoCores !== undefined && { cpuNanoCores }) }, pods };
    return {
      ...usage,
      ...(cgroups && { cgroups: () => cgroups.collect(usage, podsByUid(engines)) }),
      ...(details && { details: () => details.of(node, measured) }),
    };
  };
}

const podsByUid = ({ podManager }: ServedEngines): ReadonlyMap<string, Pod> =>
  new Map(podManager.getPods().map((pod) => [uidOf(pod), pod]));

function withStarts(pod: PodUsage, status: PodStatus | undefined): ServedPodUsage {
  const lists = [status?.containerStatuses, status?.initContainerStatuses];
  const found = new Map(lists.flatMap((list) => list ?? []).map((one) => [one.containerID, one]));
  const containers = pod.containers.map((one) => {
    const { state, image } = found.get(one.id) ?? {};
    const startedAt = state?.running?.startedAt;
    return {
      ...(image !== undefined && { image }),
      ...(startedAt !== undefined && { startedAt: Date.parse(startedAt) }),
      ...one,
    };
  });
  const { startTime } = status ?? {};
  return { ...pod, containers, ...(startTime !== undefined && { startedAt: Date.parse(startTime) }) };
}

/** The provider's usage methods: usage by pod, or whole pages of its backend. */
function usagePowers(
  options: ServerHostOptions,
): Pick<ServerHost, 'usage' | 'statsSummary' | 'resourceMetrics'> {
  const { provider } = options.engines;
  const listUsage = provider.listUsage?.bind(provider);
  const statsSummary = provider.statsSummary?.bind(provider);
  const resourceMetrics = provider.resourceMetrics?.bind(provider);
  return {
    ...(listUsage && { usage: usageOf(options, listUsage) }),
    ...(statsSummary && { statsSummary }),
    ...(resourceMetrics && { resourceMetrics }),
  };
}

type Live = Pick<ServerHost, 'readLog' | 'run' | 'exec' | 'attach' | 'portForward'>;

/** The provider's methods on running containers. */
function livePowers({ provider, podManager }: ServedEngines): Live {
  const readLogs = provider.readLogs?.bind(provider);
  const run = provider.execSync?.bind(provider);
  const exec = provider.exec?.bind(provider);
  const attach = provider.attach?.bind(provider);
  const forward = provider.portForward?.bind(provider);
  const portForward: Live['portForward'] = async (podUid, port, stream, signal) => {
    const pod = podManager.getPods().find((one) => uidOf(one) === podUid);
    const { name = '', namespace = '' } = pod?.metadata ?? {};
    const status = await provider.getPodStatus({ uid: podUid, name, namespace }, signal);
    await forward?.(status, port, stream, signal);
  };
  return {
    ...(readLogs && {
      readLog: ({ container, options }, sink, signal) => readLogs(container, options, sink, signal),
    }),
    ...(run && { run: (container, command) => run(container, command, runTimeoutMs) }),
    ...(exec && { exec }),
    ...(attach && { attach }),
    ...(forward && { portForward }),
  };
}

/** Adds the agent's status to a static pod, which has no other (kubelet `GetPods`). */
function withStatus(pod: Pod, statuses: ServedEngines['statusManager']): Pod {
  const status = isStaticPod(pod) ? statuses.getPodStatus(uidOf(pod)) : undefined;
  return status ? { ...pod, status } : pod;
}

const review = (group: string, resource: string, kind: string): Resource => ({
  group,
  version: 'v1',
  resource,
  kind,
  namespaced: false,
});
const tokenReviews = review('authentication.k8s.io', 'tokenreviews', 'TokenReview');
const accessReviews = review('authorization.k8s.io', 'subjectaccessreviews', 'SubjectAccessReview');

/**
 * Makes the token and access reviews by the API server.
 *
 * @example
 * const auth = new ApiAuthenticator(apiReviews(client));
 */
export const apiReviews = (client: ApiClient): Reviews => ({
  tokenReview: async (token) => {
    const object = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', spec: { token } };
    const review: KubeObject & { status?: TokenReviewStatus } = await client.create(tokenReviews, object);
    return review.status ?? {};
  },
  subjectAccessReview: async (spec: SubjectAccessReviewSpec) => {
    const object = { apiVersion: 'authorization.k8s.io/v1', kind: 'SubjectAccessReview', spec };
    const review: KubeObject & { status?: { allowed?: boolean } } = await client.create(
      accessReviews,
      object,
    );
    return review.status ?? {};
  },
});

/** The options of {@link serveKubeletApi}. */
export interface ServeOptions
  extends
    ServerHostOptions,
    Pick<
      KubeletServerOptions,
      | 'address'
      | 'port'
      | 'tls'
      | 'tlsSettings'
      | 'clientCa'
      | 'anonymousAuth'
      | 'debugging'
      | 'disabled'
      | 'splitStreams'
      | 'checkpoints'
      | 'openMetrics'
      | 'limits'
      | 'streams'
      | 'tracer'
      | 'handler'
    > {
  /** `webhook` makes access reviews with `client`; `alwaysAllow` allows every authenticated request. */
  readonly authorization: 'webhook' | 'alwaysAllow';
  /** The authenticators and the authorizer, in place of `authorization`, `client` and `anonymousAuth`. */
  readonly access?: Pick<KubeletServerOptions, 'authorizer' | 'authenticators' | 'anonymousAuth'>;
  /** Whether bearer tokens are accepted (`authentication.webhook.enabled`). Default true. */
  readonly reviewTokens?: boolean;
  /** The API client for reviews; absent: only client certificates are accepted. */
  readonly client?: ApiClient;
  /** How long review results are cached. */
  readonly webhookTimes?: Partial<WebhookTimes>;
  readonly logger?: Logger;
  /** The files of the serving key pair, reloaded when they change; take precedence over `tls`. */
  readonly tlsFiles?: CertificateFiles;
  /** The file of client CAs, reloaded when it changes; takes precedence over `clientCa`. */
  readonly clientCaFile?: string;
}

/**
 * Serves the kubelet API of an agent until `close()`.
 *
 * @throws {AgentError} `invalid_argument` when webhook authorization has no API server
 */
export async function serveKubeletApi(options: ServeOptions): Promise<KubeletServer> {
  const { clock = systemClock, logger = silentLogger } = options;
  const { tlsFiles, clientCaFile } = options;
  const pair = tlsFiles && (await readPair(tlsFiles));
  const clientCa = clientCaFile === undefined ? undefined : await readClientCa(clientCaFile);
  const stop = new AbortController();
  const server = new KubeletServer({
    ...options,
    ...(pair && { tls: pair }),
    ...(clientCa !== undefined && { clientCa }),
    onClose: () => {
      stop.abort();
    },
    ...(options.access ?? accessOf(options, clock)),
    host: serverHost(options),
    clock,
    logger,
  });
  await server.listen();
  const deps = { clock, logger, signal: stop.signal };
  if (tlsFiles && pair)
    void followPair(
      tlsFiles,
      pair,
      (renewed) => {
        server.renew(renewed);
      },
      deps,
    );
  if (clientCaFile !== undefined && clientCa !== undefined)
    void followClientCa(
      clientCaFile,
      clientCa,
      (renewed) => {
        server.trust(renewed);
      },
      deps,
    );
  return server;
}

function accessOf(
  { authorization, client, reviewTokens = true, webhookTimes }: ServeOptions,
  clock: Clock,
): Pick<KubeletServerOptions, 'authorizer' | 'authenticators'> {
  const access = client && webhookAccess(apiReviews(client), clock, webhookTimes);
  const who = access && reviewTokens ? { authenticators: access.authenticators ?? [] } : {};
  if (authorization === 'alwaysAllow') return { ...who, authorizer: alwaysAllow };
  if (access) return { ...who, authorizer: access.authorizer };
  throw new AgentError(
    'invalid_argument',
    'webhook authorization needs an API server; use alwaysAllow without one',
  );
}

interface ContainerCheckpointsDeps {
  readonly provider: Pick<PodProvider, 'checkpoint'>;
  readonly rootDir: string;
  readonly clock: Pick<Clock, 'now'>;
}

/**
 * Makes the handler that writes container checkpoints below the root directory, with the kubelet's file names (`CheckpointContainer`,
 * pkg/kubelet/kubelet.go).
 */
export function containerCheckpoints(deps: ContainerCheckpointsDeps): ServerHost['checkpoint'] {
  const write = deps.provider.checkpoint?.bind(deps.provider);
  return (
    write &&
    (async (container, timeoutSeconds, signal) => {
      const folder = join(deps.rootDir, 'checkpoints');
      const { pod, namespace, container: name } = container;
      const at = rfc3339(deps.clock.now());
      const file = fileName(`checkpoint-${pod}_${namespace}-${name}-${at}.tar`, 'a checkpoint');
      const location = join(folder, file);
      await mkdir(folder, { recursive: true, mode: 0o700 });
      await write(container, location, timeoutSeconds, signal);
      return [location];
    })
  );
}
