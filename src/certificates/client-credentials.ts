import { mkdir, rename, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { ApiConnection, Credentials, CredentialSource } from '../api/rest/connection.ts';
import { createApiClient, type HttpApiClient } from '../api/rest/http-client.ts';
import { connectionFromKubeconfig, throughProxy } from '../api/kubeconfig/kube-client.ts';
import type { Clock } from '../base/clock.ts';
import { AgentError, messageOf } from '../base/errors.ts';
import type { Logger } from '../base/logger.ts';
import type { ProxyEnvironment } from '../base/proxy.ts';
import type { Random } from '../base/random.ts';
import { type Certificate, nodeSubject, readCertificate } from './certificate.ts';
import { CertificateManager, type CertificateStats } from './certificate-manager.ts';
import { CertificateStore } from './certificate-store.ts';

/** Sources of the agent's own credentials. */
export interface ClientCredentialsOptions {
  /** The kubeconfig for the API server; written when the bootstrap credentials are used. */
  readonly kubeconfig: string;
  /** Kubeconfig that may request the first certificate; absent: `kubeconfig` is used. */
  readonly bootstrapKubeconfig?: string;
  readonly certDir: string;
  readonly nodeName: string;
  /** Kubelet `rotateCertificates`. */
  readonly rotate: boolean;
  /** Environment variables of proxies; default: none. */
  readonly proxies?: ProxyEnvironment;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

/** The agent's connection to the API server, and the renewal of its certificate. */
export interface ClientCredentials {
  readonly connection: ApiConnection;
  /** Requests the first certificate and renews it until `signal` aborts; before that, the connection uses the stored one. */
  run(signal: AbortSignal): Promise<void>;
  /** Resolves when there is a valid certificate, or after a time limit, so that what needs no API server can start. */
  ready(signal: AbortSignal): Promise<void>;
  /** Returns the current certificate. */
  readonly certificate: () => Certificate | undefined;
  readonly stats: () => CertificateStats;
}

/** Time limit for the first certificate at start, and the poll interval, ms. */
const patienceMs = 5000;
const lookMs = 50;

/**
 * Returns the agent's client credentials: from the kubeconfig while it is valid, otherwise requested with the bootstrap credentials, and
 * renewed.
 * It does not wait for the API server: without a certificate, calls fail with the reason.
 *
 * Follows kubelet `bootstrap.LoadClientConfig` and `buildClientCertificateManager`.
 *
 * @throws {AgentError} `invalid_argument` when neither file can be used
 */
export async function clientCredentials(options: ClientCredentialsOptions): Promise<ClientCredentials> {
  const { certDir, nodeName, proxies = {}, clock, random, logger, rotate } = options;
  const store = new CertificateStore(certDir, 'kubelet-client');
  const own = await ownConnection(options);
  const bootstrap = await bootstrapConnection(options, own !== undefined);
  if (bootstrap && !own?.certificate) await writeKubeconfig(options.kubeconfig, bootstrap, store.currentPath);
  const base = baseOf(own, bootstrap);
  const source = new ManagedCredentials(
    clock,
    () => manager,
    base === bootstrap ? undefined : base.credentials,
  );
  const connection = throughProxy({ ...base, credentials: source }, proxies);
  const askers = new RequestClients(
    { own: connection, ...(bootstrap && { bootstrap: throughProxy(bootstrap, proxies) }) },
    clock,
    logger,
  );
  const manager: CertificateManager = new CertificateManager({
    clock,
    random,
    logger,
    store,
    rotate,
    signerName: 'kubernetes.io/kube-apiserver-client-kubelet',
    template: () => ({ subject: nodeSubject(nodeName), hosts: [] }),
    client: (current) => askers.for(current),
    ...(own?.certificate && { initial: own.certificate }),
  });
  manager.load();
  return {
    connection,
    certificate: () => manager.current,
    ready: async (signal) => {
      const isGood = (): boolean => clock.now() < (manager.current?.notAfter ?? 0);
      for (let waited = 0; waited < patienceMs && !isGood(); waited += lookMs)
        await clock.sleep(lookMs, signal).catch(() => undefined);
    },
    stats: () => manager.stats,
    run: async (signal) => {
      await manager.run(signal);
      await askers.close();
    },
  };
}

function baseOf(own: OwnConnection | undefined, bootstrap: ApiConnection | undefined): ApiConnection {
  const base = own?.certificate ? own.connection : (bootstrap ?? own?.connection);
  if (!base) throw new AgentError('invalid_argument', 'neither kubeconfig nor bootstrap credentials exist');
  return base;
}

interface OwnConnection {
  readonly connection: ApiConnection;
  /** Set when the kubeconfig has a valid certificate. */
  readonly certificate?: Certificate;
}

/**
 * Returns the connection of the kubeconfig; `undefined` when it cannot be used and there are bootstrap credentials. @throws {AgentError}
 * when there are none
 */
async function ownConnection({
  kubeconfig,
  bootstrapKubeconfig,
  clock,
  logger,
}: ClientCredentialsOptions): Promise<OwnConnection | undefined> {
  try {
    const connection = await connectionFromKubeconfig(clock, kubeconfig);
    const certificate = certificateOf((await connection.credentials?.current()) ?? {}, clock.now());
    return { connection, ...(certificate && { certificate }) };
  } catch (reason) {
    if (bootstrapKubeconfig === undefined) throw reason;
    logger.info(
      'the kubeconfig cannot be used yet; a certificate is requested with the bootstrap credentials',
      {
        kubeconfig,
        err: messageOf(reason),
      },
    );
    return undefined;
  }
}

function certificateOf({ cert, key }: Partial<Credentials>, now: number): Certificate | undefined {
  if (cert === undefined || key === undefined) return undefined;
  const [certText, keyText] = [String(cert), String(key)];
  const certificate = readCertificate(certText === keyText ? certText : `${certText}\n${keyText}`);
  return now < certificate.notAfter ? certificate : undefined;
}

/** Returns the connection of the bootstrap credentials. A file that was removed is an error only when there is nothing else. */
async function bootstrapConnection(
  { clock, bootstrapKubeconfig, logger }: ClientCredentialsOptions,
  hasOwn: boolean,
): Promise<ApiConnection | undefined> {
  if (bootstrapKubeconfig === undefined) return undefined;
  try {
    return await connectionFromKubeconfig(clock, bootstrapKubeconfig);
  } catch (reason) {
    if (!hasOwn) throw reason;
    logger.debug('there are no bootstrap credentials', { err: messageOf(reason) });
    return undefined;
  }
}

/** Writes a kubeconfig that refers to the future certificate. */
async function writeKubeconfig(
  path: string,
  connection: ApiConnection,
  certificatePath: string,
): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  const part = `${path}.part`;
  await writeFile(part, kubeconfigText(connection, certificatePath), { mode: 0o600 });
  await rename(part, path);
}

/** Returns the kubeconfig as JSON, which is valid YAML. */
function kubeconfigText(
  { server, ca, skipTlsVerify, tlsServerName, proxyUrl, namespace = 'default' }: ApiConnection,
  certificatePath: string,
): string {
  const cluster = {
    server,
    ...(ca !== undefined && { 'certificate-authority-data': Buffer.from(ca).toString('base64') }),
    ...(skipTlsVerify === true && { 'insecure-skip-tls-verify': true }),
    ...(tlsServerName !== undefined && { 'tls-server-name': tlsServerName }),
    ...(proxyUrl !== undefined && { 'proxy-url': proxyUrl }),
  };
  const user = { 'client-certificate': certificatePath, 'client-key': certificatePath };
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'default-cluster', cluster }],
    users: [{ name: 'default-auth', user }],
    contexts: [
      { name: 'default-context', context: { cluster: 'default-cluster', user: 'default-auth', namespace } },
    ],
    'current-context': 'default-context',
  };
  return `${JSON.stringify(config, undefined, 2)}\n`;
}

/** ManagedCredentials presents the manager's certificate; until there is one, that of the kubeconfig. */
class ManagedCredentials implements CredentialSource {
  readonly #clock: Clock;
  readonly #manager: () => CertificateManager;
  readonly #fallback: CredentialSource | undefined;
  #shown: { readonly certificate: Certificate; readonly credentials: Credentials } | undefined;

  constructor(clock: Clock, manager: () => CertificateManager, fallback: CredentialSource | undefined) {
    this.#clock = clock;
    this.#manager = manager;
    this.#fallback = fallback;
  }

  current(): Credentials | Promise<Credentials> {
    const { current, lastError } = this.#manager();
    if (current && this.#clock.now() < current.notAfter) {
      const base = this.#fallback?.current();
      return base instanceof Promise
        ? base.then(
            ({ ca }) => this.#own(current, ca),
            () => this.#own(current, this.#shown?.credentials.ca),
          )
        : this.#own(current, base?.ca);
    }
    if (this.#fallback) return this.#fallback.current();
    const what = current ? 'the client certificate has expired' : 'there is no client certificate yet';
    const why = lastError ?? 'the request for one is not decided';
    return Promise.reject(new AgentError('unauthenticated', `${what}: ${why}`));
  }

  /** @param ca authorities that the kubeconfig currently trusts */
  #own(certificate: Certificate, ca: Credentials['ca']): Credentials {
    if (this.#shown?.certificate !== certificate || this.#shown.credentials.ca !== ca) {
      const { cert, key } = certificate;
      this.#shown = { certificate, credentials: { headers: {}, cert, key, ...(ca !== undefined && { ca }) } };
    }
    return this.#shown.credentials;
  }

  invalidate(): void {
    this.#fallback?.invalidate();
  }
}

/** Clients for certificate requests: the node's own while its certificate is valid, otherwise the bootstrap credentials'. */
class RequestClients {
  readonly #make: (connection: ApiConnection) => HttpApiClient;
  readonly #connections: { readonly own: ApiConnection; readonly bootstrap?: ApiConnection };
  readonly #clock: Clock;
  readonly #clients = new Map<ApiConnection, HttpApiClient>();

  constructor(
    connections: { readonly own: ApiConnection; readonly bootstrap?: ApiConnection },
    clock: Clock,
    logger: Logger,
  ) {
    this.#connections = connections;
    this.#clock = clock;
    this.#make = (connection) => createApiClient(connection, { clock, logger });
  }

  for(current: Certificate | undefined): HttpApiClient {
    const { own, bootstrap } = this.#connections;
    const isGood = current !== undefined && this.#clock.now() < current.notAfter;
    const connection = isGood ? own : (bootstrap ?? own);
    const client = this.#clients.get(connection) ?? this.#make(connection);
    this.#clients.set(connection, client);
    return client;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#clients.values()].map((client) => client.close()));
  }
}
