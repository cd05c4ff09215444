import { createApiClient } from '../api/rest/http-client.ts';
import type { ApiConnection } from '../api/rest/connection.ts';
import { connectionFromKubeconfig } from '../api/kubeconfig/kube-client.ts';
import { namespaceResource } from '../api/resources.ts';
import { isAlreadyExists } from '../api/client.ts';
import {
  type AuditEvent,
  type EmbeddedApiServerOptions,
  startApiServer,
  type TestApiServer,
} from '../apiserver/index.ts';
import { type Clock, systemClock } from '../base/clock.ts';
import { AgentError } from '../base/errors.ts';
import { parseDuration } from '../kube/duration.ts';
import type { ControlPlane, TestUser } from './control-plane.ts';
import { installRead, readCrds } from './crds.ts';
import { kubeconfigOf } from './kubeconfig.ts';
import type { ReadManifest } from './manifests.ts';
import {
  convertedLocally,
  convertsByService,
  installWebhooks,
  type WebhookPlace,
  webhookPlace,
  type WebhookServing,
} from './webhooks.ts';

/** Options of a test environment; every one has a default. */
export interface TestEnvironmentOptions {
  /**
   * CustomResourceDefinitions: files, folders and objects. They are served when {@link TestEnvironment.start} resolves. Versions that a
   * service converts are converted at {@link TestEnvironment.webhookServer} instead.
   */
  readonly crds?: readonly (string | object)[];
  /**
   * Webhook configurations: files, folders and objects. Webhooks that name a service are called at {@link TestEnvironment.webhookServer}
   * instead.
   */
  readonly webhooks?: readonly (string | object)[];
  /** Uses the cluster of the kubeconfig. Default: whether `USE_EXISTING_CLUSTER` is `true`. */
  readonly useExistingCluster?: boolean;
  /** Kubeconfig of the existing cluster. Default: `$KUBECONFIG`, then `~/.kube/config`. */
  readonly kubeconfig?: string;
  /**
   * Directory with kube-apiserver and etcd, which are started as envtest starts them. Default: `KUBEBUILDER_ASSETS`; without either the
   * embedded server runs in this process.
   */
  readonly binaries?: string;
  /** How long each of these programs may take until it is ready, ms. Default: `KUBEBUILDER_CONTROLPLANE_START_TIMEOUT` (`60s`), then 20 s. */
  readonly startTimeoutMs?: number;
  /** Namespaces that are created. */
  readonly namespaces?: readonly string[];
  /** Options of the embedded server. Default: no controllers run and no service accounts are required, as with envtest. */
  readonly server?: EmbeddedApiServerOptions;
  readonly clock?: Clock;
  /** Environment variables that are read. Default: the process's. */
  readonly env?: Readonly<Record<string, string | undefined>>;
}

/**
 * TestEnvironment is an API server for tests, as controller-runtime's envtest: by default embedded in this process and ready in
 * milliseconds, on request kube-apiserver and etcd from a directory, or a cluster that exists.
 *
 * @example
 * const env = new TestEnvironment({ crds: ['config/crd/bases'] });
 * const connection = await env.start();
 * // … tests …
 * await env.stop();
 */
export class TestEnvironment {
  readonly #options: TestEnvironmentOptions;
  readonly #clock: Clock;
  #plane: ControlPlane | undefined;
  #place: WebhookPlace | undefined;

  constructor(options: TestEnvironmentOptions = {}) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
  }

  /**
   * Starts the server, creates namespaces, definitions and webhook configurations, and returns the administrator's connection.
   *
   * @throws {AgentError} for files that cannot be used, or a server that does not start; nothing is left running then
   */
  async start(): Promise<ApiConnection> {
    if (this.#plane) throw new AgentError('failed_precondition', 'the test environment runs already');
    const { crds = [], webhooks = [], namespaces = [] } = this.#options;
    const plane = await this.#controlPlane();
    this.#plane = plane;
    try {
      await this.#createNamespaces(plane.connection, namespaces);
      const definitions = await readCrds(crds);
      if (webhooks.length > 0 || definitions.some(({ object }) => convertsByService(object)))
        this.#place = await webhookPlace(this.#clock);
      await this.#install(plane.connection, definitions);
      return plane.connection;
    } catch (reason) {
      await this.stop();
      throw reason;
    }
  }

  /** Returns a connection of a new user with a client certificate. @throws {AgentError} in an existing cluster, where none can be issued */
  addUser(user: TestUser): Promise<ApiConnection> {
    return Promise.resolve().then(() => this.#running().addUser(user));
  }

  /** Kubeconfig of the administrator, as a text. */
  get kubeconfig(): string {
    return kubeconfigOf(this.#running().connection);
  }

  /** Every request since the start that has been answered; empty in an existing cluster. */
  get audit(): readonly AuditEvent[] {
    return this.#running().audit();
  }

  /** The embedded server, with its snapshots and faults. @throws {AgentError} when another one is used */
  get server(): TestApiServer {
    const { server } = this.#running();
    if (server) return server;
    throw new AgentError(
      'failed_precondition',
      'the API server of this test environment does not run in this process',
    );
  }

  /** Where the webhooks of the options are called: the tests' own server listens there. @throws {AgentError} without webhooks */
  get webhookServer(): WebhookServing {
    if (this.#place) return this.#place;
    throw new AgentError(
      'failed_precondition',
      'the test environment has no webhooks: name them in its options',
    );
  }

  /** Ends what {@link TestEnvironment.start} has started. */
  async stop(): Promise<void> {
    const [plane, place] = [this.#plane, this.#place];
    [this.#plane, this.#place] = [undefined, undefined];
    place?.remove();
    await plane?.stop();
  }

  async #install(connection: ApiConnection, definitions: readonly ReadManifest[]): Promise<void> {
    const [place, clock] = [this.#place, this.#clock];
    const local = definitions.map(({ object, from }) => ({
      object: place ? convertedLocally(object, place) : object,
      from,
    }));
    if (local.length > 0) await installRead(connection, local, clock);
    const { webhooks = [] } = this.#options;
    if (place && webhooks.length > 0) await installWebhooks(connection, webhooks, { place, clock });
  }

  #running(): ControlPlane {
    if (this.#plane) return this.#plane;
    throw new AgentError('failed_precondition', 'the test environment does not run: call start() first');
  }

  async #controlPlane(): Promise<ControlPlane> {
    // eslint-disable-next-line no-restricted-syntax -- the variables of envtest are its users' way to choose
    const env = this.#options.env ?? process.env;
    const existing =
      this.#options.useExistingCluster ?? env['USE_EXISTING_CLUSTER']?.toLowerCase() === 'true';
    if (existing) return existingCluster(this.#clock, this.#options.kubeconfig ?? env['KUBECONFIG']);
    const binaries = this.#options.binaries ?? (this.#options.server ? undefined : env['KUBEBUILDER_ASSETS']);
    if (binaries === undefined || binaries === '') return embedded(this.#clock, this.#options.server);
    const { startBinaries } = await import('./binaries.ts');
    return startBinaries(binaries, this.#clock, this.#options.startTimeoutMs ?? startTimeoutOf(env));
  }

  async #createNamespaces(connection: ApiConnection, names: readonly string[]): Promise<void> {
    if (names.length === 0) return;
    const client = createApiClient(connection, { clock: this.#clock, qps: 0 });
    try {
      for (const name of names) {
        const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name } };
        await client.create(namespaceResource, namespace).catch((reason: unknown) => {
          if (!isAlreadyExists(reason)) throw reason;
        });
      }
    } finally {
      await client.close();
    }
  }
}

async function embedded(clock: Clock, options: EmbeddedApiServerOptions = {}): Promise<ControlPlane> {
  const server = await startApiServer({
    clock,
    controllers: false,
    minimalScheduler: false,
    externalControllers: true,
    disableAdmissionPlugins: ['ServiceAccount'],
    ...options,
  });
  const connect = (pair: { readonly cert: string; readonly key: string }): ApiConnection => ({
    server: server.url,
    ca: server.ca,
    ...pair,
  });
  return {
    server,
    connection: connect(server.admin),
    addUser: ({ name, groups }) => connect(server.clientCertificate(name, groups)),
    audit: () => server.audit,
    stop: () => server.stop(),
  };
}

async function existingCluster(clock: Clock, kubeconfig: string | undefined): Promise<ControlPlane> {
  const connection = await connectionFromKubeconfig(clock, kubeconfig);
  return {
    connection,
    addUser: () => {
      throw new AgentError(
        'failed_precondition',
        'addUser: an existing cluster issues no certificates here: use a connection of your own',
      );
    },
    audit: () => [],
    stop: () => Promise.resolve(),
  };
}

/** @throws {AgentError} for a value that is no positive duration */
function startTimeoutOf(env: Readonly<Record<string, string | undefined>>): number | undefined {
  const text = env['KUBEBUILDER_CONTROLPLANE_START_TIMEOUT'] ?? '';
  if (text === '') return undefined;
  const nanos = parseDuration(text);
  if (typeof nanos === 'bigint' && nanos > 0n) return Number(nanos) / 1e6;
  throw new AgentError(
    'invalid_argument',
    `KUBEBUILDER_CONTROLPLANE_START_TIMEOUT is not a positive duration such as 60s: ${text}`,
  );
}
