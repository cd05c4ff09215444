import { readFile, rename, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { type Clock, steadyNow } from '../../base/clock.ts';
import { AgentError, messageOf } from '../../base/errors.ts';
import type { ApiConnection, Credentials, CredentialSource } from '../rest/connection.ts';
import { type OidcConfig, OidcCredentials, type OidcTokens } from './oidc.ts';

/** Values by name. */
type Fields = Readonly<Record<string, unknown>>;

/** How long values read from files are used before they are read again (client-go reads token files once a minute). */
const freshMs = 60_000;

const plainCluster = new Set([
  'server',
  'certificate-authority',
  'certificate-authority-data',
  'insecure-skip-tls-verify',
  'tls-server-name',
  'proxy-url',
]);
const plainUser = new Set([
  'token',
  'tokenFile',
  'client-certificate',
  'client-certificate-data',
  'client-key',
  'client-key-data',
  'auth-provider',
]);

/**
 * Returns the connection of a kubeconfig whose user has certificates, a token or OpenID Connect, and no exec plug-in: without
 * `@kubernetes/client-node`, which needs more memory than the rest of the agent. Files of certificates and tokens are read again every
 * minute.
 *
 * @returns undefined when the file needs more, or has an error: client-node then reads it and reports the error
 */
export async function plainConnection(
  clock: Clock,
  path: string,
  context: string | undefined,
): Promise<ApiConnection | undefined> {
  const config = await readYaml(path);
  const parts = config && partsOf(config, context);
  if (!parts) return undefined;
  const provider = parts.user['auth-provider'];
  const oidc = provider === undefined ? undefined : oidcOf(provider);
  if (provider !== undefined && !oidc) return undefined;
  const files = new Files(parts.cluster, parts.user, dirname(path));
  const first = await files.read().catch(() => undefined);
  if (!first) return undefined;
  const credentials = oidc
    ? await oidcCredentials(oidc, { clock, path, user: parts.userName })
    : new FileCredentials(files, first.credentials, clock);
  return { ...settingsOf(parts), ...(first.ca && { ca: first.ca }), credentials };
}

/** Where a pod finds its service account and cluster. */
export interface InCluster {
  /** `KUBERNETES_SERVICE_HOST` and `KUBERNETES_SERVICE_PORT` */
  readonly host: string | undefined;
  readonly port: string | undefined;
  /** Folder of `token`, `ca.crt` and `namespace`. */
  readonly dir?: string;
}

/**
 * Returns the connection of a pod to its own cluster: service account token (read again every minute, and when it is rejected) and
 * authority.
 *
 * @throws {AgentError} `invalid_argument` outside of a cluster
 *
 * @example
 * const connection = await inClusterConnection(clock, { host: env.KUBERNETES_SERVICE_HOST, port: env.KUBERNETES_SERVICE_PORT });
 */
export async function inClusterConnection(
  clock: Clock,
  { host = '', port = '', dir = '/var/run/secrets/kubernetes.io/serviceaccount' }: InCluster,
): Promise<ApiConnection> {
  if (host === '' || port === '')
    throw new AgentError('invalid_argument', 'not inside a cluster: KUBERNETES_SERVICE_HOST is not set');
  const files = new Files({ 'certificate-authority': 'ca.crt' }, { tokenFile: 'token' }, dir);
  const first = await files.read().catch((cause: unknown) => {
    const message = `the service account of this pod cannot be read: ${messageOf(cause)}`;
    throw new AgentError('invalid_argument', message, { cause });
  });
  const namespace = await readFile(join(dir, 'namespace'), 'utf8').catch(() => '');
  return {
    server: `https://${host.includes(':') ? `[${host}]` : host}:${port}`,
    ...(first.ca && { ca: first.ca }),
    ...(namespace !== '' && { namespace: namespace.trim() }),
    credentials: new FileCredentials(files, first.credentials, clock),
  };
}

/** Returns the settings of an OpenID Connect provider; undefined for another provider, or when a value is not a text. */
function oidcOf(provider: unknown): OidcConfig | undefined {
  const { name, config } = fieldsOf(provider) ?? {};
  const fields = fieldsOf(config);
  const isText = fields && Object.values(fields).every((value) => typeof value === 'string');
  return name === 'oidc' && isText ? (fields as OidcConfig) : undefined;
}

async function oidcCredentials(
  config: OidcConfig,
  { clock, path, user }: { readonly clock: Clock; readonly path: string; readonly user: string },
): Promise<OidcCredentials> {
  const { 'idp-certificate-authority': file = '', 'idp-certificate-authority-data': data = '' } = config;
  const fromFile = file === '' ? undefined : await readFile(resolve(dirname(path), file));
  const ca = data === '' ? fromFile : Buffer.from(data, 'base64');
  return new OidcCredentials(config, { clock, ca, keep: (tokens) => keepTokens(path, user, tokens) });
}

/**
 * Writes new tokens into the kubeconfig, as kubectl does: the old refresh token may be single use. A file that cannot be written is left
 * unchanged.
 */
async function keepTokens(path: string, user: string, tokens: OidcTokens): Promise<void> {
  try {
    const [{ isMap, isSeq, parseDocument }, before] = await Promise.all([import('yaml'), readText(path)]);
    const document = parseDocument(before);
    const users = document.get('users');
    const at = isSeq(users) ? users.items.findIndex((one) => isMap(one) && one.get('name') === user) : -1;
    if (at < 0) return;
    for (const [name, token] of Object.entries(tokens))
      document.setIn(['users', at, 'user', 'auth-provider', 'config', name], token);
    await writeFile(`${path}.part`, document.toString({ lineWidth: 0 }), { mode: 0o600 });
    await rename(`${path}.part`, path);
  } catch {
    // The tokens are still valid for this run.
  }
}

interface Parts {
  readonly server: string;
  readonly place: Fields;
  readonly cluster: Fields;
  readonly user: Fields;
  readonly userName: string;
}

/** Returns the parts that the context names; undefined when one is missing or not plain. */
function partsOf(config: Fields, context: string | undefined): Parts | undefined {
  const place = named(config['contexts'], context ?? config['current-context'], 'context');
  if (!place) return undefined;
  const cluster = named(config['clusters'], place['cluster'], 'cluster');
  const user = named(config['users'], place['user'], 'user');
  if (!cluster || !user || !holdsOnly(cluster, plainCluster) || !holdsOnly(user, plainUser)) return undefined;
  const { server } = cluster;
  return typeof server === 'string'
    ? { server, place, cluster, user, userName: String(place['user']) }
    : undefined;
}

function settingsOf({ server, place, cluster }: Parts): ApiConnection {
  const { namespace } = place;
  const { 'tls-server-name': serverName, 'proxy-url': proxyUrl } = cluster;
  return {
    server,
    ...(cluster['insecure-skip-tls-verify'] === true && { skipTlsVerify: true }),
    ...(typeof serverName === 'string' && { tlsServerName: serverName }),
    ...(typeof proxyUrl === 'string' && proxyUrl !== '' && { proxyUrl }),
    ...(typeof namespace === 'string' && { namespace }),
  };
}

/** Reads a file in any encoding that Go reads YAML in. */
async function readText(path: string): Promise<string> {
  const [{ withLineFeeds, yamlText }, bytes] = await Promise.all([
    import('../../go/yaml/reader.ts'),
    readFile(path),
  ]);
  return withLineFeeds(yamlText(bytes));
}

async function readYaml(path: string): Promise<Fields | undefined> {
  try {
    const [{ parse }, text] = await Promise.all([import('yaml'), readText(path)]);
    return fieldsOf(parse(text));
  } catch {
    return undefined;
  }
}

const fieldsOf = (value: unknown): Fields | undefined =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : undefined;

/** Returns the entry of that name in one of the lists of a kubeconfig. */
function named(list: unknown, name: unknown, member: string): Fields | undefined {
  const entries: readonly unknown[] = Array.isArray(list) ? list : [];
  const entry = entries.map(fieldsOf).find((each) => each?.['name'] === name);
  return fieldsOf(entry?.[member]);
}

const holdsOnly = (fields: Fields, names: ReadonlySet<string>): boolean =>
  Object.keys(fields).every((name) => names.has(name));

interface Material {
  readonly ca: Buffer | undefined;
  readonly credentials: Credentials;
}

/** Reads a user's current certificates and token. */
class Files {
  readonly #cluster: Fields;
  readonly #user: Fields;
  readonly #dir: string;

  constructor(cluster: Fields, user: Fields, dir: string) {
    this.#cluster = cluster;
    this.#user = user;
    this.#dir = dir;
  }

  async read(): Promise<Material> {
    const [ca, cert, key, token] = await Promise.all([
      this.#material(this.#cluster, 'certificate-authority'),
      this.#material(this.#user, 'client-certificate'),
      this.#material(this.#user, 'client-key'),
      this.#token(),
    ]);
    const headers: Credentials['headers'] = token === undefined ? {} : { authorization: `Bearer ${token}` };
    return { ca, credentials: { headers, ...(cert && { cert }), ...(key && { key }), ...(ca && { ca }) } };
  }

  async #material(fields: Fields, name: string): Promise<Buffer | undefined> {
    const [data, file] = [fields[`${name}-data`], fields[name]];
    if (typeof data === 'string' && data !== '') return Buffer.from(data, 'base64');
    return typeof file === 'string' && file !== '' ? readFile(resolve(this.#dir, file)) : undefined;
  }

  async #token(): Promise<string | undefined> {
    const { token, tokenFile } = this.#user;
    if (typeof tokenFile === 'string' && tokenFile !== '')
      return (await readFile(resolve(this.#dir, tokenFile), 'utf8')).trim();
    return typeof token === 'string' ? token : undefined;
  }
}

/** Credentials that are read again periodically; the same object is returned while they are unchanged. */
class FileCredentials implements CredentialSource {
  readonly #files: Files;
  readonly #clock: Clock;
  #credentials: Credentials;
  #readAt: number;
  #reading: Promise<Credentials> | undefined;

  constructor(files: Files, first: Credentials, clock: Clock) {
    this.#files = files;
    this.#credentials = first;
    this.#clock = clock;
    this.#readAt = steadyNow(clock);
  }

  current(): Promise<Credentials> | Credentials {
    if (steadyNow(this.#clock) - this.#readAt < freshMs) return this.#credentials;
    this.#reading ??= this.#read().finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

  invalidate(): void {
    this.#readAt = -Infinity;
  }

  /** Files that cannot be read, for example while they are replaced, count as unchanged (client-go `cachingTokenSource`). */
  async #read(): Promise<Credentials> {
    const found = await this.#files.read().catch(() => undefined);
    if (!found) return this.#credentials;
    const { credentials } = found;
    this.#readAt = steadyNow(this.#clock);
    if (!isSame(credentials, this.#credentials)) this.#credentials = credentials;
    return this.#credentials;
  }
}

const isSame = (a: Credentials, b: Credentials): boolean =>
  a.headers['authorization'] === b.headers['authorization'] &&
  String(a.cert) === String(b.cert) &&
  String(a.key) === String(b.key) &&
  String(a.ca) === String(b.ca);
