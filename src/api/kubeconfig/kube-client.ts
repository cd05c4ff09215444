import { readFileSync } from 'node:fs';
import { access, readFile } from 'node:fs/promises';
import { delimiter, dirname } from 'node:path';
import type { KubeConfig } from '@kubernetes/client-node';
import { type Clock, steadyNow } from '../../base/clock.ts';
import { AgentError, messageOf } from '../../base/errors.ts';
import { type ProxyEnvironment, proxyFor, proxyUrl } from '../../base/proxy.ts';
import type { ApiConnection, Credentials, CredentialSource } from '../rest/connection.ts';
import { withLineFeeds, yamlText } from '../../go/yaml/reader.ts';
import { plainConnection } from './plain-kubeconfig.ts';

/** How long credentials of a plug-in or a file are used before they are read again (client-go reads token files once a minute). */
const freshMs = 60_000;

/**
 * Returns the connection of a kubeconfig's server and user. Fixed credentials are read once; exec plug-ins and token files are read again
 * once a minute and whenever the server rejects the credentials. `@kubernetes/client-node` is loaded only for what {@link
 * plainConnection} does not support.
 *
 * @param path the file, or several separated by `:`; absent: `KUBECONFIG`, `~/.kube/config` or in-cluster, as kubectl searches
 * @throws {AgentError} `invalid_argument` when the file or the context is missing or incomplete
 *
 * @example
 * const connection = await connectionFromKubeconfig(systemClock, '/etc/kubernetes/kubelet.conf');
 * const client = createApiClient(connection, { clock: systemClock });
 */
export async function connectionFromKubeconfig(
  clock: Clock,
  path?: string,
  context?: string,
): Promise<ApiConnection> {
  const plain = path === undefined ? undefined : await plainConnection(clock, path, context);
  if (plain) return throughProxy(plain, {});
  const load = async (): Promise<KubeConfig> => loadConfig(path, context);
  return throughProxy(await connectionOf(await load(), load, clock), {});
}

/**
 * Adds the proxy of the environment (client-go) to a connection without one of its own. @throws {AgentError} `invalid_argument` for an
 * invalid proxy URL
 *
 * @example
 * const proxied = throughProxy(connection, { HTTPS_PROXY: 'http://proxy:3128', NO_PROXY: '10.0.0.0/8' });
 */
export function throughProxy(connection: ApiConnection, proxies: ProxyEnvironment): ApiConnection {
  const { server, proxyUrl: own } = connection;
  const proxy =
    own === undefined
      ? URL.canParse(server) && proxyFor(new URL(server), proxies)
      : proxyUrl(own, 'proxy-url of the kubeconfig');
  return { ...connection, ...(typeof proxy === 'string' && { proxyUrl: proxy }) };
}

async function loadConfig(path?: string, context?: string): Promise<KubeConfig> {
  const { KubeConfig } = await import('@kubernetes/client-node');
  const config = new KubeConfig();
  try {
    if (path === undefined) config.loadFromDefault();
    else
      config.loadFromOptions(merged((await filesOf(path)).map((file) => loadFile(new KubeConfig(), file))));
  } catch (reason) {
    const where = path ?? 'the default place';
    // The following lines quote the file, which may contain secrets.
    const [why = ''] = messageOf(reason).split('\n');
    // a refusal of the system holds nothing of the file
    const cause = reason instanceof Error && 'syscall' in reason && { cause: reason };
    throw new AgentError('invalid_argument', `kubeconfig ${where}: ${why}`, { ...cause });
  }
  if (context !== undefined) {
    const names = config.getContexts().map(({ name }) => name);
    if (!names.includes(context))
      throw new AgentError(
        'invalid_argument',
        `kubeconfig ${path ?? ''} has no context ${context}; it has ${names.join(', ') || 'none'}`,
      );
    config.setCurrentContext(context);
  }
  return config;
}

/** Splits a list of paths separated by `:` and returns the existing ones, as for `$KUBECONFIG`. */
async function filesOf(path: string): Promise<readonly string[]> {
  const isThere = (file: string): Promise<boolean> =>
    access(file).then(
      () => true,
      () => false,
    );
  if (!path.includes(delimiter) || (await isThere(path))) return [path];
  const files = path.split(delimiter).filter((file) => file !== '');
  const there = await Promise.all(files.map(isThere));
  const found = files.filter((_, at) => there[at]);
  return found.length > 0 ? found : files;
}

function loadFile(config: KubeConfig, file: string): KubeConfig {
  config.loadFromString(withLineFeeds(yamlText(readFileSync(file))).replace(/^\ufeff/, ''));
  config.makePathsAbsolute(dirname(file));
  return config;
}

type Named = 'clusters' | 'users' | 'contexts';

/**
 * Merges several files: of entries with the same name the first counts, and so does the first current context (client-go
 * `ClientConfigLoadingRules`).
 */
function merged(configs: readonly KubeConfig[]): Pick<KubeConfig, Named | 'currentContext'> {
  const firsts = <T extends { readonly name: string }>(lists: readonly (readonly T[] | undefined)[]): T[] => {
    const byName = new Map<string, T>();
    for (const one of lists.flatMap((list) => list ?? []))
      if (!byName.has(one.name)) byName.set(one.name, one);
    return [...byName.values()];
  };
  return {
    clusters: firsts(configs.map(({ clusters }) => clusters)),
    users: firsts(configs.map(({ users }) => users)),
    contexts: firsts(configs.map(({ contexts }) => contexts)),
    currentContext: configs.find(({ currentContext }) => currentContext)?.currentContext ?? '',
  };
}

async function connectionOf(
  config: KubeConfig,
  load: () => Promise<KubeConfig>,
  clock: Clock,
): Promise<ApiConnection> {
  const cluster = config.getCurrentCluster();
  if (!cluster)
    throw new AgentError(
      'invalid_argument',
      `kubeconfig: context ${config.getCurrentContext() || '(none)'} names no cluster that is there`,
    );
  const ca = await material(cluster.caData, cluster.caFile);
  const namespace = config.getContextObject(config.getCurrentContext())?.namespace;
  return {
    server: cluster.server,
    ...(ca && { ca }),
    ...(cluster.skipTLSVerify && { skipTlsVerify: true }),
    ...(cluster.tlsServerName !== undefined && { tlsServerName: cluster.tlsServerName }),
    ...(cluster.proxyUrl !== undefined && cluster.proxyUrl !== '' && { proxyUrl: cluster.proxyUrl }),
    ...(namespace !== undefined && { namespace }),
    credentials: new KubeconfigCredentials(config, load, clock),
  };
}

async function material(data: string | undefined, file: string | undefined): Promise<Buffer | undefined> {
  if (data !== undefined && data !== '') return Buffer.from(data, 'base64');
  return file === undefined || file === '' ? undefined : await readFile(file);
}

/** Obtains the credentials of a kubeconfig's user through client-node. */
class KubeconfigCredentials implements CredentialSource {
  readonly #load: () => Promise<KubeConfig>;
  readonly #clock: Clock;
  #config: KubeConfig | undefined;
  #credentials: Credentials | undefined;
  #asking: Promise<Credentials> | undefined;
  #requestedAt = 0;

  constructor(config: KubeConfig, load: () => Promise<KubeConfig>, clock: Clock) {
    this.#config = config;
    this.#load = load;
    this.#clock = clock;
  }

  current(): Promise<Credentials> | Credentials {
    const fresh = steadyNow(this.#clock) - this.#requestedAt < freshMs;
    if (this.#credentials && fresh) return this.#credentials;
    this.#asking ??= this.#ask().finally(() => {
      this.#asking = undefined;
    });
    return this.#asking;
  }

  invalidate(): void {
    this.#credentials = undefined;
    this.#config = undefined;
  }

  async #ask(): Promise<Credentials> {
    this.#config ??= await this.#load();
    const options: { headers: Record<string, string>; cert?: string | Buffer; key?: string | Buffer } = {
      headers: {},
    };
    await this.#config.applyToHTTPSOptions(options).catch(unlessPlain(this.#config));
    const headers: Record<string, string> = {};
    for (const [name, value] of Object.entries(options.headers)) headers[name.toLowerCase()] = value;
    const { auth } = options as { auth?: string };
    if (auth !== undefined) headers['authorization'] = `Basic ${Buffer.from(auth).toString('base64')}`;
    this.#requestedAt = steadyNow(this.#clock);
    this.#credentials = {
      headers,
      ...(options.cert !== undefined && { cert: options.cert }),
      ...(options.key !== undefined && { key: options.key }),
    };
    return this.#credentials;
  }
}

/** client-node creates an agent, which is not used here, and refuses to for `http:`; the headers are already set by then. */
const unlessPlain =
  (config: KubeConfig) =>
  (reason: unknown): void => {
    if (config.getCurrentCluster()?.server.startsWith('http:') !== true) throw reason;
  };
