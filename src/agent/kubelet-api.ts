import type { ApiClient } from '../api/client.ts';
import { isAborted } from '../base/abort.ts';
import type { KeyPair } from '../pki/certificates.ts';
import { type Clock, steadyNow } from '../base/clock.ts';
import { AgentError, messageOf } from '../base/errors.ts';
import type { Logger } from '../base/logger.ts';
import type { Random } from '../base/random.ts';
import type { Tracer } from '../base/tracing.ts';
import { servingTemplate } from '../certificates/certificate.ts';
import { CertificateManager } from '../certificates/certificate-manager.ts';
import { CertificateStore } from '../certificates/certificate-store.ts';
import {
  type KubeletServer,
  type OpenServerOptions,
  serveHealthz,
  serveReadOnly,
} from '../server/kubelet-server.ts';
import type { MetricFamily } from '../metrics/family.ts';
import { certificateMetrics } from './metrics/certificate-metrics.ts';
import type { PodsController } from '../pods/pods-controller.ts';
import type { NodeAddresses } from './node-addresses.ts';
import { serverHost, type ServeOptions, serveKubeletApi, type ServerHostOptions } from './server-host.ts';

/** The options of the kubelet API server. */
export interface KubeletApiOptions
  extends
    Omit<ServeOptions, keyof ServerHostOptions | 'client' | 'logger' | 'tls' | 'address' | 'tracer'>,
    ServedSettings {
  /** `node` for the node's first address only. Default: all interfaces. */
  readonly address?: string;
  /** The serving key pair, or a function that makes one for these names and addresses. Default: self-signed. */
  readonly tls?: KeyPair | ((hosts: readonly string[]) => KeyPair);
  /** The directory of a serving certificate that is requested from the API server (`serverTLSBootstrap`); takes precedence over `tls`. */
  readonly requestedCertDir?: string;
}

type ServedSettings = Pick<
  ServerHostOptions,
  'configz' | 'flags' | 'program' | 'commandLine' | 'logsRoot' | 'statsRoot' | 'setVerbosity'
>;

/** The address of a server without TLS and authentication. */
export interface OpenPort {
  readonly address: string;
  readonly port: number;
}

/** The HTTP servers of an agent. */
export interface ServedPorts {
  /** The kubelet API; absent when it is not served. */
  readonly kubeletApi?: KubeletApiOptions;
  /** The read-only port; absent when off. */
  readonly readOnly?: OpenPort;
  /** The healthz port; absent when off. */
  readonly healthz?: OpenPort;
}

interface KubeletApiParts {
  readonly controller: PodsController;
  readonly client: ApiClient | undefined;
  readonly nodeName: string;
  /** The root directory; its file system counts as the node's. */
  readonly rootDir: string;
  readonly nodeIPs: readonly string[];
  readonly addresses: NodeAddresses;
  readonly summary: ServerHostOptions['summary'];
  readonly cgroupReadings: ServerHostOptions['cgroups'];
  readonly moreMetrics: () => readonly MetricFamily[];
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly tracer: Tracer | undefined;
}

/** The running HTTP servers of an agent. */
export interface Served {
  /** The port of the kubelet API; 0 when it is not served. */
  readonly port: number;
  close(): Promise<void>;
}

/** The minimum limit for one iteration of the sync loop, ms; the limit is two resync periods (kubelet `syncLoopHealthCheck`). */
const loopPatienceMs = 120_000;

/** The time between two attempts to listen on the healthz port, ms. */
const listenAgainMs = 5000;

/**
 * Starts the HTTP servers of an agent. Resolves when the kubelet API listens.
 *
 * @throws {AgentError} when the kubelet API or the read-only port cannot listen. The healthz port is retried instead, as in the kubelet.
 */
export async function servePorts(ports: ServedPorts, base: KubeletApiParts): Promise<Served> {
  const { kubeletApi, readOnly, healthz } = ports;
  const certDir = kubeletApi?.requestedCertDir;
  const manager = certDir === undefined ? undefined : servingManager(certDir, base);
  const parts = manager ? { ...base, moreMetrics: withCertificate(manager, base) } : base;
  const stop = new AbortController();
  const open: { close(): Promise<void> }[] = [];
  const close = async (): Promise<void> => {
    stop.abort();
    await Promise.all(open.map((one) => one.close()));
  };
  try {
    const server = kubeletApi && (await startKubeletApi(kubeletApi, parts, manager, stop.signal));
    if (server) open.push(server);
    const { clock, logger } = parts;
    const host = serverHost(hostOptions(kubeletApi ?? {}, parts));
    if (readOnly) open.push(await serveReadOnly({ ...readOnly, host, clock, logger }));
    if (healthz) void keepHealthz({ ...healthz, host, clock, logger }, open, stop.signal);
    return { port: server?.port ?? 0, close };
  } catch (reason) {
    await close();
    throw reason;
  }
}

async function keepHealthz(
  options: Required<Pick<OpenServerOptions, 'address' | 'port' | 'host' | 'clock' | 'logger'>>,
  open: { close(): Promise<void> }[],
  signal: AbortSignal,
): Promise<void> {
  const { clock, logger, address, port } = options;
  while (!isAborted(signal)) {
    try {
      const server = await serveHealthz(options);
      if (isAborted(signal)) await server.close();
      else open.push(server);
      return;
    } catch (reason) {
      logger.error('healthz port cannot listen', { address, port, err: messageOf(reason) });
    }
    await clock.sleep(listenAgainMs, signal).catch(() => undefined);
  }
}

const hostOptions = (
  settings: ServedSettings,
  { controller, nodeName, rootDir, clock, summary, cgroupReadings, moreMetrics }: KubeletApiParts,
): ServerHostOptions => ({
  moreMetrics,
  statsRoot: rootDir,
  rootDir,
  ...(summary && { summary }),
  ...(cgroupReadings && { cgroups: cgroupReadings }),
  ...settings,
  engines: controller.engines,
  nodeName,
  clock,
  syncLoopFault: () => syncLoopFault(controller, steadyNow(clock)),
});

const withCertificate =
  (manager: CertificateManager, { moreMetrics, clock }: KubeletApiParts): KubeletApiParts['moreMetrics'] =>
  () => [
    ...moreMetrics(),
    ...certificateMetrics(
      'server',
      { certificate: manager.current, failures: manager.stats.failures },
      clock.now(),
    ),
  ];

async function startKubeletApi(
  { address, tls, requestedCertDir: _, ...options }: KubeletApiOptions,
  parts: KubeletApiParts,
  manager: CertificateManager | undefined,
  signal: AbortSignal,
): Promise<KubeletServer> {
  const { nodeIPs, nodeName, client, clock, logger, tracer } = parts;
  const [nodeIP = '127.0.0.1'] = nodeIPs;
  const hosts = [nodeName, ...nodeIPs, 'localhost', '127.0.0.1'];
  const pair = manager ? (manager.current ?? 'later') : typeof tls === 'function' ? tls(hosts) : tls;
  const server = await serveKubeletApi({
    ...options,
    ...hostOptions(options, parts),
    clock,
    logger,
    ...(address !== undefined && { address: address === 'node' ? nodeIP : address }),
    ...(client && { client }),
    ...(tracer && { tracer }),
    ...(pair && { tls: pair }),
  });
  if (manager) keepCertificate(manager, server, parts.addresses, signal);
  return server;
}

/**
 * Makes the manager of a requested serving certificate (kubelet `NewKubeletServerCertificateManager`). @throws {AgentError}
 * `invalid_argument` without an API server
 */
function servingManager(
  certDir: string,
  { client, nodeName, addresses, clock, random, logger }: KubeletApiParts,
): CertificateManager {
  if (!client)
    throw new AgentError(
      'invalid_argument',
      'serverTLSBootstrap needs an API server to request the certificate from',
    );
  const manager = new CertificateManager({
    clock,
    random,
    logger,
    store: new CertificateStore(certDir, 'kubelet-server'),
    signerName: 'kubernetes.io/kubelet-serving',
    template: () => servingTemplate(nodeName, addresses.current()),
    client: () => client,
  });
  manager.load();
  return manager;
}

function keepCertificate(
  manager: CertificateManager,
  server: KubeletServer,
  addresses: NodeAddresses,
  signal: AbortSignal,
): void {
  manager.onCertificate = (certificate) => {
    server.renew(certificate);
  };
  const off = addresses.onChange(() => {
    manager.templateChanged();
  });
  signal.addEventListener('abort', off, { once: true });
  void manager.run(signal);
}

/** The result of the health check `syncloop` (R37). @param now steady time, ms */
export function syncLoopFault({ lastIteration, resyncMs }: PodsController, now: number): string | undefined {
  const patience = Math.max(2 * resyncMs, loopPatienceMs);
  if (!lastIteration || now - lastIteration.startedAt <= patience) return undefined;
  return 'sync Loop took longer than expected';
}
