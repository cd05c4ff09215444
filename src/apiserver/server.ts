import {
  findByKind,
  groupVersionOf,
  type Kind,
  metricsKinds,
  trustBundleKinds,
} from '../apimachinery/kinds.ts';
import { type Clock, systemClock } from '../base/clock.ts';
import { messageOf } from '../base/errors.ts';
import { type Logger, silentLogger } from '../base/logger.ts';
import { systemRandom } from '../base/random.ts';
import { authenticatorOf, authorizerOf, signerOf } from './access.ts';
import { AdmissionChain, builtInPlugins, checkPluginNames, type PluginDeps } from './admission/chain.ts';
import { roleEscalation } from './admission/role-escalation.ts';
import type { Authorizer } from './authorization/authorizer.ts';
import { CustomResources } from './apiextensions/custom-resources.ts';
import { ServedObjects } from './apiextensions/served-objects.ts';
import { WebhookClient } from './webhooks/webhook-client.ts';
import { Scales } from './endpoints/handlers/scales.ts';
import { Authority, type KeyPair } from '../pki/certificates.ts';
import { ActingControllers } from './request/acting-controllers.ts';
import type { MetricsApi } from './metrics-server/metrics-api.ts';

import { type ControllerSettings, controllersOf, runControllers } from './controllers/run-controllers.ts';
import { effectiveFlags } from './effective-flags.ts';
import { kubeconfigText } from './kubeconfig.ts';
import { AuditPolicy } from './filters/audit-policy.ts';
import type { FilterDeps } from './filters/chain.ts';
import { Faults } from './filters/faults.ts';
import { listen, type Listening } from './listener.ts';
import { AddressProxy } from './proxy/address-proxy.ts';
import { KubeletProxy } from './proxy/kubelet-proxy.ts';
import { KubeletStreams } from './proxy/kubelet-streams.ts';
import { ResourceApi } from './endpoints/handlers/resource-api.ts';
import { Router } from './endpoints/router.ts';
import { ServiceRange } from './registry/core/service-range.ts';
import { serviceAddresses } from './registry/core/service-addresses.ts';
import { loadSecrets, readKey } from './secrets.ts';
import { seed } from './seed.ts';
import { ServerMetrics } from './server-metrics.ts';
import type { EmbeddedApiServerOptions } from './server-options.ts';
import { compactRegularly } from './storage/compaction.ts';
import { restoreSnapshot, type Snapshot, takeSnapshot } from './storage/snapshot.ts';
import { SqliteJournal } from './storage/sqlite-journal.ts';
import { Store } from './storage/store.ts';
import type { World } from './request/write-context.ts';
import type { UsageReaderDeps } from './metrics-server/usage-reader.ts';
import { validity } from './validity.ts';
import { Subresources } from './endpoints/handlers/subresources.ts';

/**
 * EmbeddedApiServer is an API server inside the process: it serves Kubernetes' built-in kinds over HTTPS with the rules of kube-apiserver
 * 1.36. It stores objects in memory, or durably in a data directory: acknowledged writes survive a kill.
 *
 * @example
 * const server = await EmbeddedApiServer.start();
 * writeFileSync('kubeconfig', server.kubeconfig(), { mode: 0o600 }); // for kubectl
 * await server.stop();
 */
export class EmbeddedApiServer {
  readonly url: string;
  readonly port: number;
  /** Certificate of the authority that signed the server's certificate, PEM. */
  readonly ca: string;
  /** Client certificate of the administrator (group `system:masters`), PEM. */
  readonly admin: KeyPair;
  readonly store: Store;
  /** Failures that a test wants. */
  readonly faults: Faults;
  readonly #authority: Authority;
  readonly #server: Listening;
  readonly #stopping: AbortController;
  readonly #clock: Clock;
  readonly #ends: readonly (() => void)[];
  readonly #acting: ActingControllers;

  private constructor(parts: {
    readonly server: Listening;
    readonly authority: Authority;
    readonly store: Store;
    readonly stopping: AbortController;
    readonly clock: Clock;
    readonly ends: readonly (() => void)[];
    readonly host: string;
    readonly faults: Faults;
    readonly acting: ActingControllers;
  }) {
    this.#server = parts.server;
    this.#authority = parts.authority;
    this.#stopping = parts.stopping;
    this.#clock = parts.clock;
    this.#ends = parts.ends;
    this.#acting = parts.acting;
    this.store = parts.store;
    this.faults = parts.faults;
    this.ca = parts.authority.cert;
    this.port = parts.server.port;
    this.url = `https://${hostInUrl(parts.host)}:${this.port}`;
    this.admin = this.clientCertificate('podtender-admin', ['system:masters']);
  }

  /**
   * Starts a server; resolves when it answers requests.
   *
   * @throws {AgentError} `unavailable` when the port is in use; an {@link AuditPolicyError} or
   * {@link PolicyFileError}; a {@link StorageError} for a data directory of another version, in use,
   * damaged or not writable
   */
  static async start(options: EmbeddedApiServerOptions = {}): Promise<EmbeddedApiServer> {
    const { clock, random, logger, host } = surroundingsOf(options);
    const { disableAdmissionPlugins = [], clusterTrustBundles = false, aggregatedDiscovery = true } = options;
    checkPluginNames(disableAdmissionPlugins);
    const enabled = controllersOf(options);
    const range = rangeOf(options);
    const audit = auditing(options);
    const store = openStore(options, logger);
    const secrets = loadOr(() => loadSecrets(options.dataDir, clock), store);
    const authority = loadOr(() => authorityOf(options.dataDir, secrets.ca), store);
    const features = { trustBundles: clusterTrustBundles };
    const acting = new ActingControllers(options);
    const services = serviceAddresses(store, random, range);
    const world: World = { store, clock, random, services, features, acting };
    const stopping = new AbortController();
    const metrics = new ServerMetrics(clock, store);
    const { decisions, authorizationWebhook } = metrics;
    const judging = { decisions, metrics: authorizationWebhook, stopping: stopping.signal };
    const authorizer = loadOr(() => authorizerOf(options, { store, clock, random, ...judging }), store);
    const client = new WebhookClient({ store, clock, stopping: stopping.signal });
    const customs = new CustomResources(store, { client, random });
    const webhooks = { client, authorizer, objects: new ServedObjects(customs), metrics: metrics.webhooks };
    const deps = { authorizer, webhooks, metrics: metrics.admission, findKind: kindsBeside(customs) };
    const admission = chainOf(deps, disableAdmissionPlugins);
    const watching = { stopping: stopping.signal, watches: metrics.watches };
    const resources = new ResourceApi({ world, admission, customs, ...watching });
    const signer = signerOf(options, secrets.tokenKey);
    const identity = clientOf(authority, clock, 'kube-apiserver-kubelet-client', ['system:masters']);
    const proxy = new KubeletProxy({ store, client: identity });
    const addresses = new AddressProxy({ store, kubelets: proxy });
    const streams = new KubeletStreams({ clock, proxy, client: identity });
    const subresources = new Subresources({ world, resources, admission, proxy, streams, addresses, signer });
    const authenticator = authenticatorOf(options, { store, clock, signer });
    const faults = new Faults(random);
    const router = new Router({
      ...{ clock, random, logger, world, resources, customs, admission },
      ...{ authenticator, authorizer, signer, subresources, clusterTrustBundles, faults },
      aggregatedDiscovery,
      ...audit,
      scales: new Scales({ world, resources, admission, customs }),
      flags: effectiveFlags(options),
      vitals: { store, stopping: stopping.signal },
      access: metrics.access,
      requests: metrics.requests,
      auditMetrics: metrics.audit,
      families: () => metrics.families(),
      ...(options.metricsApi && {
        metrics: metricsApi({ store, clock, logger, kubelets: proxy, stopping: stopping.signal }),
      }),
    });
    const server = await listen(router, authority, listenOptions(options, clock, host));
    seed(resources, world, options.kubernetesService === false ? undefined : server.port);
    const settings = { enabled, ...controllerSettings(options, server, authority.cert) };
    const parts = { world, resources, customs, authority, clock, logger };
    const ends = runControllers(parts, subresources, settings);
    ends.push(compactRegularly(store, clock));
    store.flush();
    return new EmbeddedApiServer({ server, authority, store, stopping, clock, ends, host, faults, acting });
  }

  /** Returns a client certificate for a user of this server. */
  clientCertificate(commonName: string, organizations: readonly string[] = []): KeyPair {
    return clientOf(this.#authority, this.#clock, commonName, organizations);
  }

  /** Returns a serving certificate signed by this server's authority. */
  servingCertificate(commonName: string, hosts: readonly string[]): KeyPair {
    return this.#authority.issue({
      subject: { commonName, organizations: ['system:nodes'] },
      ...validity(this.#clock),
      usages: ['server auth'],
      hosts,
    });
  }

  /**
   * Declares that a controller of the kind runs beside the server: creators of such objects receive no warning. The returned function
   * declares that it has stopped.
   */
  declareController(kind: { readonly group: string; readonly resource: string }): () => void {
    return this.#acting.declare(kind);
  }

  /** Returns a kubeconfig file for a user. Default: the administrator. */
  kubeconfig(user: KeyPair = this.admin, namespace = 'default'): string {
    return kubeconfigText({ server: this.url, ca: this.ca, user, namespace });
  }

  /** Returns the current objects, for {@link EmbeddedApiServer.restore}. */
  snapshot(): Snapshot {
    return takeSnapshot(this.store);
  }

  /**
   * Brings the objects of a snapshot back, in milliseconds. Watches see what changes; objects that did not change keep their
   * resourceVersion, all others get new ones.
   */
  restore(snapshot: Snapshot): void {
    restoreSnapshot(this.store, snapshot);
  }

  /** Discards the history: watches and lists at older versions answer 410. */
  compact(): void {
    this.store.compact();
  }

  /** Ends every watch and connection, and closes the database. */
  async stop(): Promise<void> {
    for (const end of this.#ends) end();
    this.#stopping.abort();
    await this.#server.close();
    this.store.close();
  }
}

const rangeOf = ({ serviceClusterIpRange }: EmbeddedApiServerOptions): ServiceRange | undefined =>
  serviceClusterIpRange === undefined ? undefined : ServiceRange.of(serviceClusterIpRange);

/** Returns what controllers and the server's own objects are made of. */
const controllerSettings = (
  options: EmbeddedApiServerOptions,
  { port }: Listening,
  ownAuthority: string,
): Omit<ControllerSettings, 'enabled'> => {
  const { clusterTrustBundles, metricsApi: metrics, advertiseAddress: address } = options;
  return {
    signing: options.signing,
    ...(options.kubernetesService !== false && { service: { port, address } }),
    trusted: {
      authorities: [ownAuthority, ...(options.clientAuthorities ?? [])].join(''),
      requestHeaders: options.requestHeaders,
    },
    optionalKinds: [...(clusterTrustBundles ? trustBundleKinds : []), ...(metrics ? metricsKinds : [])],
  };
};

/** Returns the chain of the plug-ins that are not disabled. */
const chainOf = (
  deps: PluginDeps & { readonly authorizer: Authorizer },
  disabled: readonly string[],
): AdmissionChain =>
  new AdmissionChain(
    [...builtInPlugins(deps).filter(({ name }) => !disabled.includes(name)), roleEscalation(deps.authorizer)],
    deps.metrics,
  );

/** Returns a look-up of served kinds, built-in or custom. */
const kindsBeside =
  (customs: CustomResources) =>
  (apiVersion: string, kind: string): Kind | undefined =>
    findByKind(apiVersion, kind) ??
    customs.kinds.find((one) => one.kind === kind && groupVersionOf(one) === apiVersion);

/** Returns the metrics API, loaded and created on first use. */
function metricsApi(deps: UsageReaderDeps & { readonly store: Store }): () => Promise<MetricsApi> {
  let api: Promise<MetricsApi> | undefined;
  const make = async (): Promise<MetricsApi> => {
    const [api, reader] = await Promise.all([
      import('./metrics-server/metrics-api.ts'),
      import('./metrics-server/usage-reader.ts'),
    ]);
    return new api.MetricsApi({ ...deps, usage: new reader.UsageReader(deps) });
  };
  return () => (api ??= make());
}

/** Returns the host part of the server's URL: for a wildcard address, the loopback one. */
function hostInUrl(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  const address = host === '::' ? '::1' : host;
  return address.includes(':') ? `[${address}]` : address;
}

const surroundingsOf = ({
  clock = systemClock,
  random = systemRandom,
  logger = silentLogger,
  host = '127.0.0.1',
}: EmbeddedApiServerOptions): Required<
  Pick<EmbeddedApiServerOptions, 'clock' | 'random' | 'logger' | 'host'>
> => ({ clock, random, logger, host });

const auditing = ({
  audit,
  auditPolicy,
  auditMode,
}: EmbeddedApiServerOptions): Pick<FilterDeps, 'audit' | 'auditPolicy' | 'auditMode'> => ({
  ...(audit && { audit }),
  ...(auditPolicy && { auditPolicy: AuditPolicy.of(auditPolicy) }),
  ...(auditMode && { auditMode }),
});

const listenOptions = (
  options: EmbeddedApiServerOptions,
  clock: Clock,
  host: string,
): Parameters<typeof listen>[2] => ({
  host,
  port: options.port ?? 0,
  clock,
  limits: options.limits,
  ...(options.servingCertificate && { serving: options.servingCertificate }),
  hosts: options.servingHosts ?? [],
  clientAuthorities: options.clientAuthorities ?? [],
  http2: options.http2 ?? true,
});

function openStore(options: EmbeddedApiServerOptions, logger: Logger): Store {
  return new Store({
    ...(options.dataDir !== undefined && { journal: new SqliteJournal(options.dataDir, options.fsync) }),
    ...(options.history !== undefined && { history: options.history }),
    onFailure: (reason) => {
      logger.error('API server cannot store writes; rejecting them', {
        err: messageOf(reason),
      });
    },
  });
}

const clientOf = (
  authority: Authority,
  clock: Clock,
  commonName: string,
  organizations: readonly string[],
): KeyPair =>
  authority.issue({
    subject: { commonName, organizations },
    ...validity(clock),
    usages: ['client auth'],
  });

/** @throws {StorageError} naming the file of a damaged authority */
const authorityOf = (dataDir: string | undefined, ca: KeyPair): Authority =>
  readKey(dataDir, 'ca.pem', () => new Authority(ca));

/** Closes the store when its secrets cannot be loaded. */
function loadOr<T>(load: () => T, store: Store): T {
  try {
    return load();
  } catch (reason) {
    store.close();
    throw reason;
  }
}
