import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parse, TomlError } from 'smol-toml';
import { AgentError, messageOf } from '../../base/errors.ts';

/** What an endpoint may be asked for: `resolve` finds a manifest by tag, `pull` gets content by digest. */
export type EndpointCapability = 'resolve' | 'pull';

/** TLS options of an endpoint; PEM texts. */
export interface EndpointTls {
  readonly ca?: readonly string[];
  readonly cert?: string;
  readonly key?: string;
  /** True to accept any certificate. */
  readonly skipVerify?: boolean;
}

/** A server that has a registry's images: the registry itself or a mirror. */
export interface Endpoint {
  /** The URL below which repositories lie, without a slash at its end, such as `https://mirror.example/v2`. */
  readonly base: string;
  readonly capabilities: ReadonlySet<EndpointCapability>;
  readonly headers: Readonly<Record<string, string>>;
  readonly tls: EndpointTls;
  /** The registry that a mirror stands for, sent as `ns`; absent for the registry itself, which alone gets credentials. */
  readonly mirrorOf?: string;
}

/** Returns the endpoints of a registry in the order in which they are asked; the registry itself is the last. */
export type FindEndpoints = (registry: string) => readonly Endpoint[];

const everything: ReadonlySet<EndpointCapability> = new Set(['resolve', 'pull']);

/** True for a host of this machine. */
export const isLoopback = (host: string): boolean => /^(?:localhost|127(?:\.\d+){3}|\[?::1\]?)$/.test(host);

/** Returns the registry itself as the only endpoint. Registries on this machine are asked without TLS. */
export const registryItself: FindEndpoints = (registry) => [
  { base: `${originOf(registry)}/v2`, capabilities: everything, headers: {}, tls: {} },
];

function originOf(registry: string): string {
  const host = registry === 'docker.io' ? 'registry-1.docker.io' : registry;
  return `${isLoopback(host.replace(/:\d+$/, '')) ? 'http' : 'https'}://${host}`;
}

/**
 * Returns the endpoints that a directory configures in containerd's format: `DIR/HOST/hosts.toml`, also `DIR/HOST_PORT_/hosts.toml`, or
 * `DIR/_default/hosts.toml` for registries without one. The files are read at each pull.
 *
 * @throws {AgentError} `invalid_argument` with file and table for one that is invalid
 */
export const endpointsIn =
  (dir: string): FindEndpoints =>
  (registry) => {
    const names = [registry, registry.replace(/:(\d+)$/, '_$1_'), '_default'];
    const path = names.map((name) => join(dir, name, 'hosts.toml')).find((file) => existsSync(file));
    return path === undefined ? registryItself(registry) : readHosts(path, registry);
  };

type Table = Readonly<Record<string, unknown>>;

function readHosts(path: string, registry: string): readonly Endpoint[] {
  const top = tomlOf(path);
  const hosts = top['host'] ?? {};
  if (!isTable(hosts)) throw fault(path, 'host', 'is not a table');
  const mirrors = Object.entries(hosts).map(([url, table]) => {
    const where = `host."${url}"`;
    if (!isTable(table)) throw fault(path, where, 'is not a table');
    return endpointOf({ path, where, url }, table, registry);
  });
  const { server } = top;
  if (server !== undefined && typeof server !== 'string') throw fault(path, 'server', 'is not a string');
  const url = server ?? originOf(registry);
  const { mirrorOf: _, ...itself } = endpointOf({ path, where: 'server', url }, top, registry);
  return [...mirrors, { ...itself, capabilities: everything }];
}

function tomlOf(path: string): Table {
  try {
    return parse(readFileSync(path, 'utf8'));
  } catch (cause) {
    const text = messageOf(cause);
    const what = cause instanceof TomlError ? `line ${cause.line}: ${text.split('\n')[0] ?? ''}` : text;
    throw new AgentError('invalid_argument', `${path}: ${what}`, { cause });
  }
}

interface Place {
  readonly path: string;
  /** The table in the file, for messages. */
  readonly where: string;
  readonly url: string;
}

function endpointOf({ path, where, url: text }: Place, table: Table, registry: string): Endpoint {
  const url = text.includes('://') ? text : `https://${text}`;
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol))
    throw fault(path, where, 'is not the http:// or https:// URL of a registry');
  const bare = url.replace(/\/+$/, '');
  const own = table['override_path'] === true || bare.endsWith('/v2');
  return {
    base: own ? bare : `${bare}/v2`,
    capabilities: capabilitiesOf(table['capabilities'], path, where),
    headers: headersOf(table['header'] ?? {}, path, where),
    tls: tlsOf(table, path, where),
    mirrorOf: registry,
  };
}

function capabilitiesOf(value: unknown, path: string, where: string): ReadonlySet<EndpointCapability> {
  if (value === undefined) return everything;
  const names = ['pull', 'resolve', 'push', 'referrers'];
  if (!Array.isArray(value) || value.some((one) => !names.includes(one as string)))
    throw fault(path, `${where}.capabilities`, `is not a list of ${names.join(', ')}`);
  return new Set(value.filter((one): one is EndpointCapability => one === 'pull' || one === 'resolve'));
}

function headersOf(value: unknown, path: string, where: string): Readonly<Record<string, string>> {
  if (!isTable(value)) throw fault(path, `${where}.header`, 'is not a table');
  return Object.fromEntries(
    Object.entries(value).map(([name, content]) => {
      const texts = listOf(content);
      if (!texts) throw fault(path, `${where}.header.${name}`, 'is neither a string nor a list of strings');
      return [name.toLowerCase(), texts.join(', ')];
    }),
  );
}

function tlsOf(table: Table, path: string, where: string): EndpointTls {
  const { ca, client, skip_verify: skipVerify = false } = table;
  if (typeof skipVerify !== 'boolean') throw fault(path, `${where}.skip_verify`, 'is not true or false');
  const read = (file: string, name: string): string => {
    try {
      return readFileSync(resolve(path, '..', file), 'utf8');
    } catch (cause) {
      throw fault(path, `${where}.${name}`, messageOf(cause));
    }
  };
  const authorities = ca === undefined ? undefined : listOf(ca);
  if (ca !== undefined && !authorities)
    throw fault(path, `${where}.ca`, 'is neither a file nor a list of files');
  const pair = client === undefined ? undefined : pairOf(client);
  if (client !== undefined && !pair)
    throw fault(path, `${where}.client`, 'is neither a file nor a pair of certificate and key');
  return {
    ...(authorities && { ca: authorities.map((file) => read(file, 'ca')) }),
    ...(pair && { cert: read(pair[0], 'client'), key: read(pair[1], 'client') }),
    ...(skipVerify && { skipVerify }),
  };
}

/** Returns the files of a client's certificate and key: one file with both, a pair, or a list whose first element is one of these. */
function pairOf(client: unknown): readonly [string, string] | undefined {
  const inner: unknown = Array.isArray(client) && Array.isArray(client[0]) ? client[0] : client;
  const [cert, key = cert] = listOf(inner) ?? [];
  return cert === undefined || key === undefined ? undefined : [cert, key];
}

function listOf(value: unknown): readonly string[] | undefined {
  if (typeof value === 'string') return [value];
  return Array.isArray(value) && value.every((one) => typeof one === 'string') ? value : undefined;
}

const isTable = (value: unknown): value is Table =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const fault = (path: string, where: string, what: string): AgentError =>
  new AgentError('invalid_argument', `${path}: ${where} ${what}`);
