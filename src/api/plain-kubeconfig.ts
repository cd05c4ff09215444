import { readFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import type { Clock } from '../base/clock.ts';
import type { ApiConnection, Credentials, CredentialSource } from './connection.ts';

/** Values by name. */
type Fields = Readonly<Record<string, unknown>>;

/** How long what was read from files is used before they are read again (client-go reads token files once a minute). */
const freshMs = 60_000;

const plainCluster = new Set([
  'server',
  'certificate-authority',
  'certificate-authority-data',
  'insecure-skip-tls-verify',
  'tls-server-name',
]);
const plainUser = new Set([
  'token',
  'tokenFile',
  'client-certificate',
  'client-certificate-data',
  'client-key',
  'client-key-data',
]);

/**
 * The connection of a kubeconfig whose user has certificates or a token and nothing that must be run or asked for: read without
 * `@kubernetes/client-node`, which costs more memory than the rest of the agent. Files of certificates and tokens are read again every minute.
 *
 * @returns nothing when the file says more, or is at fault: then client-node reads it, and says what is wrong
 */
export async function plainConnection(
  clock: Clock,
  path: string,
  context: string | undefined,
): Promise<ApiConnection | undefined> {
  const config = await readYaml(path);
  const parts = config && partsOf(config, context);
  if (!parts) return undefined;
  const files = new Files(parts.cluster, parts.user, dirname(path));
  const first = await files.read().catch(() => undefined);
  return (
    first && {
      ...settingsOf(parts),
      ...(first.ca && { ca: first.ca }),
      credentials: new FileCredentials(files, first.credentials, clock),
    }
  );
}

interface Parts {
  readonly server: string;
  readonly place: Fields;
  readonly cluster: Fields;
  readonly user: Fields;
}

/** What the context names; nothing when something is missing or not plain. */
function partsOf(config: Fields, context: string | undefined): Parts | undefined {
  const place = named(config['contexts'], context ?? config['current-context'], 'context');
  if (!place) return undefined;
  const cluster = named(config['clusters'], place['cluster'], 'cluster');
  const user = named(config['users'], place['user'], 'user');
  if (!cluster || !user || !holdsOnly(cluster, plainCluster) || !holdsOnly(user, plainUser)) return undefined;
  const { server } = cluster;
  return typeof server === 'string' ? { server, place, cluster, user } : undefined;
}

function settingsOf({ server, place, cluster }: Parts): ApiConnection {
  const { namespace } = place;
  const serverName = cluster['tls-server-name'];
  return {
    server,
    ...(cluster['insecure-skip-tls-verify'] === true && { skipTlsVerify: true }),
    ...(typeof serverName === 'string' && { tlsServerName: serverName }),
    ...(typeof namespace === 'string' && { namespace }),
  };
}

async function readYaml(path: string): Promise<Fields | undefined> {
  try {
    const [{ parse }, text] = await Promise.all([import('yaml'), readFile(path, 'utf8')]);
    return fieldsOf(parse(text));
  } catch {
    return undefined;
  }
}

const fieldsOf = (value: unknown): Fields | undefined =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : undefined;

/** The entry of that name in one of the lists of a kubeconfig. */
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

/** What a user's certificates and token are now. */
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
    return { ca, credentials: { headers, ...(cert && { cert }), ...(key && { key }) } };
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

/** Credentials that are read again now and then, and are the same object as long as they say the same. */
class FileCredentials implements CredentialSource {
  readonly #files: Files;
  readonly #clock: Clock;
  #known: Credentials;
  #readAt: number;
  #reading: Promise<Credentials> | undefined;

  constructor(files: Files, first: Credentials, clock: Clock) {
    this.#files = files;
    this.#known = first;
    this.#clock = clock;
    this.#readAt = clock.now();
  }

  current(): Promise<Credentials> | Credentials {
    if (this.#clock.now() - this.#readAt < freshMs) return this.#known;
    this.#reading ??= this.#read().finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

  invalidate(): void {
    this.#readAt = -Infinity;
  }

  async #read(): Promise<Credentials> {
    const { credentials } = await this.#files.read();
    this.#readAt = this.#clock.now();
    if (!isSame(credentials, this.#known)) this.#known = credentials;
    return this.#known;
  }
}

const isSame = (a: Credentials, b: Credentials): boolean =>
  a.headers['authorization'] === b.headers['authorization'] &&
  String(a.cert) === String(b.cert) &&
  String(a.key) === String(b.key);
