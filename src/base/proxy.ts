import { BlockList, isIP } from 'node:net';
import { hostPortOf } from './host-port.ts';
import { AgentError } from './errors.ts';

/** Environment variables by name. `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY` are used, the upper-case spelling first. */
export type ProxyEnvironment = Readonly<Record<string, string | undefined>>;

const kinds: ReadonlySet<string> = new Set(['http:', 'https:', 'socks5:', 'socks5h:']);

/**
 * The URL of the proxy for requests to `target`; `undefined` for a direct connection. Targets on this machine never use a proxy. Follows
 * Go's `golang.org/x/net/http/httpproxy`, which the kubelet's clients use.
 *
 * @throws {AgentError} `invalid_argument` when the environment's value is no proxy URL
 */
export function proxyFor(target: URL, env: ProxyEnvironment): string | undefined {
  const name = target.protocol === 'https:' ? 'HTTPS_PROXY' : 'HTTP_PROXY';
  const proxy = read(env, name);
  if (proxy === '' || !usesProxy(target, read(env, 'NO_PROXY'))) return undefined;
  return proxyUrl(proxy, name);
}

/**
 * Completes a configured proxy URL with its scheme: `http`, `https` (TLS to the proxy itself), `socks5` or `socks5h`; the default is
 * `http`.
 *
 * @param where the setting that holds the URL, for the error message
 * @throws {AgentError} `invalid_argument`; the text may hold a password and is not shown
 */
export function proxyUrl(proxy: string, where: string): string {
  const text = proxy.includes('://') ? proxy : `http://${proxy}`;
  if (URL.canParse(text) && kinds.has(new URL(text).protocol)) return text;
  throw new AgentError(
    'invalid_argument',
    `${where} is not a proxy URL: it should be http://HOST:PORT, https://HOST:PORT or socks5://HOST:PORT`,
  );
}

const read = (env: ProxyEnvironment, name: string): string =>
  [env[name], env[name.toLowerCase()]].find((value) => value !== undefined && value !== '') ?? '';

function usesProxy(target: URL, exempt: string): boolean {
  const { host, port: number } = hostPortOf(target);
  const port = String(number);
  if (host === 'localhost' || inNetwork(host, '127.0.0.0/8') || inNetwork(host, '::1/128')) return false;
  const entries = exempt.split(',').map((entry) => entry.trim().toLowerCase());
  return !entries.some((entry) => entry !== '' && covers(entry, host, port));
}

/**
 * True when an entry of `NO_PROXY` matches the host: `*`, a network, an address, or a domain with its subdomains, the last two also with a
 * port.
 */
function covers(entry: string, host: string, port: string): boolean {
  if (entry === '*') return true;
  if (isNetwork(entry)) return inNetwork(host, entry);
  const { name, at } = splitPort(entry);
  if (name === '' || (at !== '' && at !== port)) return false;
  if (isIP(name) !== 0) return inNetwork(host, `${name}/${isIP(name) === 4 ? 32 : 128}`);
  if (isIP(host) !== 0) return false;
  const below = name.startsWith('*.') ? name.slice(1) : name;
  return below.startsWith('.') ? host.endsWith(below) : host === below || host.endsWith(`.${below}`);
}

function splitPort(entry: string): { readonly name: string; readonly at: string } {
  if (isIP(entry) !== 0) return { name: entry, at: '' };
  const [, bracketed, plain = '', at = ''] = /^(?:\[(.*)\]|([^:]*))(?::(.*))?$/.exec(entry) ?? [];
  return { name: bracketed ?? plain, at };
}

function isNetwork(text: string): boolean {
  const [, address = '', bits = ''] = /^([^/]*)\/(\d{1,3})$/.exec(text) ?? [];
  const family = isIP(address);
  return family !== 0 && Number(bits) <= (family === 4 ? 32 : 128);
}

function inNetwork(host: string, network: string): boolean {
  const [address = '', bits = ''] = network.split('/');
  const [mine, its] = [isIP(host), isIP(address)];
  if (mine === 0 || mine !== its) return false;
  const list = new BlockList();
  const family = its === 4 ? 'ipv4' : 'ipv6';
  list.addSubnet(address, Number(bits), family);
  return list.check(host, family);
}
