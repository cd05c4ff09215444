import type { Server } from 'node:https';
import type { Duplex } from 'node:stream';
import type { AddressInfo } from 'node:net';
import { type Clock, systemClock } from '../base/clock.ts';
import { messageOf } from '../base/errors.ts';
import { type Logger, silentLogger } from '../base/logger.ts';
import { type Random, systemRandom } from '../base/random.ts';
import type { ConnectionLimits } from '../streams/bounded-connections.ts';
import { AdmissionChain, builtInPlugins, checkPluginNames } from './admission/chain.ts';
import { Authenticator } from './authentication/authenticator.ts';
import { Authorizer } from './authorization/authorizer.ts';
import { Authority, hour, type KeyPair, year } from '../pki/certificates.ts';
import {
  type ControllerDeps,
  emptyNamespaces,
  furnishNamespaces,
  keepQuotas,
} from './controllers/controllers.ts';
import { ActingControllers } from './controllers/acting-controllers.ts';
import { signRequests, type SigningTimes } from './controllers/csr-signer.ts';

import type { JsonObject } from '../apimachinery/json.ts';
import type { MetricsApi } from './metrics-server/metrics-api.ts';

import { kubeconfigText } from './kubeconfig.ts';
import { listen } from './listener.ts';
import { AddressProxy } from './proxy/address-proxy.ts';
import { KubeletProxy } from './proxy/kubelet-proxy.ts';
import { KubeletStreams } from './proxy/kubelet-streams.ts';
import { ResourceApi } from './endpoints/handlers/resource-api.ts';
import { minimalScheduler } from './controllers/scheduler.ts';
import { Router } from './endpoints/router.ts';
import { serviceAddresses } from './registry/core/service-addresses.ts';
import { loadSecrets, readKey, saveSecret } from './secrets.ts';
import { seed } from './seed.ts';
import { SqliteJournal } from './storage/sqlite-journal.ts';
import { Store } from './storage/store.ts';
import type { World } from './request/write-context.ts';
import type { UsageReaderDeps } from './metrics-server/usage-reader.ts';
import { Subresources } from './endpoints/handlers/subresources.ts';
import { TokenSigner, type TokenUser } from './authentication/users.ts';

/** Settings of an embedded API server; every one has a default. */
export interface EmbeddedApiServerOptions {
  /** Where objects and keys are kept; absent: in memory, gone when the server stops. */
  readonly dataDir?: string;
  /** 0 or absent: any free port. */
  readonly port?: number;
  /** Address to listen on; 127.0.0.1 unless said. */
  readonly host?: string;
  readonly clock?: Clock;
  readonly random?: Random;
  readonly logger?: Logger;
  /** Bearer tokens besides the admin's client certificate. */
  readonly tokens?: readonly TokenUser[];
  /** Requests without credentials are `system:anonymous`; true unless said. */
  readonly anonymous?: boolean;
  /** Binds pods without a node to a ready one; true unless said. */
  readonly minimalScheduler?: boolean;
  /** Service accounts, emptying of namespaces and signing of certificates; true unless said. */
  readonly controllers?: boolean;
  /** Lives of the certificates that are issued on request; a year unless said. */
  readonly signing?: Partial<SigningTimes>;
  /** Serves `metrics.k8s.io` as metrics-server does, for `kubectl top`: kubelets are asked when somebody asks; false unless said. */
  readonly metricsApi?: boolean;
  /** Serves `clustertrustbundles` (v1beta1), and lets pods project them; false unless said, as with kube-apiserver 1.36. */
  readonly clusterTrustBundles?: boolean;
  /** Makes the service `default/kubernetes`, as kube-apiserver does; true unless said. Its address leads nowhere without a proxy on the nodes. */
  readonly kubernetesService?: boolean;
  /** Bounds on connections, in number and in time. */
  readonly limits?: Partial<ConnectionLimits>;
  /**
   * Whether controllers beside this server act on Deployments, Jobs and the like; without them the creator of such an object is warned that
   * nothing will happen; false unless said.
   */
  readonly externalControllers?: boolean;
  /** Names of admission plug-ins that are not to run, as with kube-apiserver: `ServiceAccount`, `LimitRanger`; none unless said. */
  readonly disableAdmissionPlugins?: readonly string[];
  /** Takes an audit event (`audit.k8s.io/v1`) for each request that was answered; absent: nothing is audited. */
  readonly audit?: (event: JsonObject) => void;
  /** How many changes of each kind are remembered for watches; 10000 unless said. */
  readonly history?: number;
}

/**
 * An API server inside the process: objects of Kubernetes' built-in kinds over HTTPS, with the rules of kube-apiserver 1.36. In memory, or durable in
 * a data directory: what was acknowledged outlives a kill.
 */
export class EmbeddedApiServer {
  readonly url: string;
  readonly port: number;
  /** The certificate of the authority that signed the server's certificate, PEM. */
  readonly ca: string;
  /** Client certificate of the administrator (group `system:masters`), PEM. */
  readonly admin: KeyPair;
  readonly store: Store;
  readonly #authority: Authority;
  readonly #server: Server;
  /** Connections that Node has let go of, and that are joined with others. */
  readonly #upgraded = new Set<Duplex>();
  readonly #stopping: AbortController;
  readonly #clock: Clock;
  readonly #ends: readonly (() => void)[];

  private constructor(parts: {
    readonly server: Server;
    readonly authority: Authority;
    readonly store: Store;
    readonly stopping: AbortController;
    readonly clock: Clock;
    readonly ends: readonly (() => void)[];
    readonly host: string;
  }) {
    this.#server = parts.server;
    this.#server.on('upgrade', (_request, socket) => {
      this.#upgraded.add(socket);
      socket.once('close', () => this.#upgraded.delete(socket));
    });
    this.#authority = parts.authority;
    this.#stopping = parts.stopping;
    this.#clock = parts.clock;
    this.#ends = parts.ends;
    this.store = parts.store;
    this.ca = parts.authority.cert;
    this.port = portOf(parts.server);
    this.url = `https://${parts.host.includes(':') ? `[${parts.host}]` : parts.host}:${this.port}`;
    this.admin = this.clientCertificate('podtender-admin', ['system:masters']);
  }

  /**
   * Starts serving; resolves when requests are answered.
   *
   * @throws {AgentError} `unavailable` for a port that is taken; a {@link StorageError} for a data directory of another version, in use, damaged or not
   *   writable
   */
  static async start(options: EmbeddedApiServerOptions = {}): Promise<EmbeddedApiServer> {
    const { clock, random, logger, host } = surroundingsOf(options);
    const { disableAdmissionPlugins = [], clusterTrustBundles = false } = options;
    checkPluginNames(disableAdmissionPlugins);
    const store = openStore(options, logger);
    const secrets = loadOr(() => loadSecrets(options.dataDir, clock.now()), store);
    const authority = loadOr(() => authorityOf(options.dataDir, secrets.ca), store);
    const features = { trustBundles: clusterTrustBundles };
    const acting = new ActingControllers(options.externalControllers);
    const services = serviceAddresses(store, random);
    const world: World = { store, clock, random, services, features, acting };
    const stopping = new AbortController();
    const authorizer = new Authorizer(store, clusterTrustBundles);
    const admission = new AdmissionChain(
      builtInPlugins(authorizer).filter(({ name }) => !disableAdmissionPlugins.includes(name)),
    );
    const resources = new ResourceApi({ world, stopping: stopping.signal, admission });
    const signer = new TokenSigner(secrets.tokenKey, (pem) => {
      saveSecret(options.dataDir, 'service-account.key', pem);
    });
    const client = clientOf(authority, clock, 'kube-apiserver-kubelet-client', ['system:masters']);
    const proxy = new KubeletProxy({ store, client });
    const addresses = new AddressProxy({ store, kubelets: proxy });
    const streams = new KubeletStreams({ clock, proxy, client });
    const subresources = new Subresources({ world, resources, admission, proxy, streams, addresses, signer });
    const authenticator = new Authenticator({
      store,
      clock,
      signer,
      tokens: options.tokens ?? [],
      anonymous: options.anonymous ?? true,
    });
    const router = new Router({
      clock,
      logger,
      authenticator,
      authorizer,
      random,
      world,
      admission,
      ...(options.audit && { audit: options.audit }),
      resources,
      subresources,
      signer,
      clusterTrustBundles,
      ...(options.metricsApi && {
        metrics: metricsApi({ store, clock, logger, kubelets: proxy, stopping: stopping.signal }),
      }),
    });
    const server = await listen(router, authority, {
      host,
      port: options.port ?? 0,
      clock,
      limits: options.limits,
    });
    seed(resources, world, options.kubernetesService === false ? undefined : portOf(server));
    const ends = control({ world, resources, authority, clock, logger }, subresources, options);
    store.flush();
    return new EmbeddedApiServer({ server, authority, store, stopping, clock, ends, host });
  }

  /** A client certificate for a user of this server. */
  clientCertificate(commonName: string, organizations: readonly string[] = []): KeyPair {
    return clientOf(this.#authority, this.#clock, commonName, organizations);
  }

  /** A serving certificate signed by this server's authority. */
  servingCertificate(commonName: string, hosts: readonly string[]): KeyPair {
    const now = this.#clock.now();
    return this.#authority.issue({
      subject: { commonName, organizations: ['system:nodes'] },
      notBefore: now - hour,
      notAfter: now + year,
      usages: ['server auth'],
      hosts,
    });
  }

  /** A kubeconfig file for a user; the administrator unless said. */
  kubeconfig(user: KeyPair = this.admin, namespace = 'default'): string {
    return kubeconfigText({ server: this.url, ca: this.ca, user, namespace });
  }

  /** Forgets the past: watches and lists at older versions answer 410. */
  compact(): void {
    this.store.compact();
  }

  /** Ends every watch and connection, and closes the database. */
  async stop(): Promise<void> {
    for (const end of this.#ends) end();
    this.#stopping.abort();
    const closed = new Promise<void>((resolve) => {
      this.#server.close(() => {
        resolve();
      });
    });
    this.#server.closeAllConnections();
    for (const socket of this.#upgraded) socket.destroy();
    await closed;
    this.store.close();
  }
}

/** The metrics API, loaded and made by the first who asks. */
function metricsApi(deps: UsageReaderDeps & { readonly store: Store }): () => Promise<MetricsApi> {
  let made: Promise<MetricsApi> | undefined;
  const make = async (): Promise<MetricsApi> => {
    const [api, reader] = await Promise.all([
      import('./metrics-server/metrics-api.ts'),
      import('./metrics-server/usage-reader.ts'),
    ]);
    return new api.MetricsApi({ ...deps, usage: new reader.UsageReader(deps) });
  };
  return () => (made ??= make());
}

const portOf = (server: Server): number => (server.address() as AddressInfo).port;

const surroundingsOf = ({
  clock = systemClock,
  random = systemRandom,
  logger = silentLogger,
  host = '127.0.0.1',
}: EmbeddedApiServerOptions): Required<
  Pick<EmbeddedApiServerOptions, 'clock' | 'random' | 'logger' | 'host'>
> => ({ clock, random, logger, host });

function openStore(options: EmbeddedApiServerOptions, logger: Logger): Store {
  return new Store({
    ...(options.dataDir !== undefined && { journal: new SqliteJournal(options.dataDir) }),
    ...(options.history !== undefined && { history: options.history }),
    onFailure: (reason) => {
      logger.error('the API server cannot keep what it is asked to; it refuses that', {
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
    notBefore: clock.now() - hour,
    notAfter: clock.now() + year,
    usages: ['client auth'],
  });

/** @throws {StorageError} naming the file of a damaged authority */
const authorityOf = (dataDir: string | undefined, ca: KeyPair): Authority =>
  readKey(dataDir, 'ca.pem', () => new Authority(ca));

/** Closes the store when what belongs to it cannot be loaded. */
function loadOr<T>(load: () => T, store: Store): T {
  try {
    return load();
  } catch (reason) {
    store.close();
    throw reason;
  }
}

function control(
  deps: ControllerDeps,
  subresources: Subresources,
  options: EmbeddedApiServerOptions,
): (() => void)[] {
  const ends: (() => void)[] = [];
  if (options.controllers ?? true)
    ends.push(
      furnishNamespaces(deps),
      emptyNamespaces(deps),
      keepQuotas(deps),
      signRequests(deps, options.signing),
    );
  if (options.minimalScheduler ?? true)
    ends.push(
      minimalScheduler(deps, (namespace, name, node) => {
        subresources.bind(namespace, name, { metadata: { name }, target: { kind: 'Node', name: node } });
      }),
    );
  return ends;
}
