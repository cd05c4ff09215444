import { AgentError, messageOf } from '../../base/errors.ts';
import { goFields } from '../../go/go-fields.ts';
import type { Pod } from '../../kube/types.ts';

/** Resolver limits: number of name servers and search domains; in bytes: the search line, one search domain. */
export const dnsLimits = { nameservers: 3, searches: 32, searchLineChars: 2048, searchChars: 253 } as const;

/** Resolver settings of a pod's sandbox. */
export interface DnsConfig {
  readonly servers: readonly string[];
  readonly searches: readonly string[];
  readonly options: readonly string[];
}

/** The three lists of a resolv.conf. */
export interface ResolvConf {
  readonly nameservers: readonly string[];
  readonly searches: readonly string[];
  readonly options: readonly string[];
}

/** DNS settings of the node. */
export interface NodeDns {
  readonly clusterDns: readonly string[];
  /** Empty: no cluster domain. */
  readonly clusterDomain: string;
  /** The node's addresses; they determine the loopback family when there is no name server. */
  readonly nodeIPs: readonly string[];
  /** The node's resolv.conf: its text, or the error from reading it; absent: none is configured. */
  readonly resolvConf?: { readonly text: string } | { readonly error: string };
}

/** A Warning event; with `object: 'node'` it is about the node instead of the pod. */
export interface DnsEvent {
  readonly reason: 'MissingClusterDNS' | 'DNSConfigForming' | 'CheckLimitsForResolvConf';
  readonly message: string;
  readonly object: 'pod' | 'node';
}

/**
 * Parses a resolv.conf: all `nameserver` lines count, and the last `search` and `options` line.
 *
 * @throws {AgentError} `invalid_argument` when a `nameserver` line has no address
 */
export function parseResolvConf(text: string): ResolvConf {
  const nameservers: string[] = [];
  let searches: readonly string[] = [];
  let options: readonly string[] = [];
  for (const line of text.split('\n')) {
    const [keyword, ...rest] = goFields(line);
    if (keyword === 'nameserver') {
      const first = rest[0];
      if (first === undefined) throw new AgentError('invalid_argument', 'nameserver list is empty ');
      nameservers.push(first);
    } else if (keyword === 'search') {
      // A trailing dot is dropped; a lone dot is not a domain.
      searches = rest.map((domain) => domain.replace(/\.$/, '')).filter((domain) => domain !== '');
    } else if (keyword === 'options') {
      options = mergeOptions(options, rest);
    }
  }
  return { nameservers, searches, options };
}

/** Merges options; a later value of the same name replaces the earlier one in place. */
function mergeOptions(old: readonly string[], added: readonly string[]): readonly string[] {
  const byName = new Map<string, string>();
  for (const option of [...old, ...added]) byName.set(option.split(':', 1)[0] ?? option, option);
  return [...byName.values()];
}

type CustomOptions = readonly { readonly name?: string; readonly value?: string }[];

/**
 * Adds the pod's options: a base option's name ends at the first colon, a pod's option has its own name field. Follows kubelet
 * `mergeDNSOptions`.
 */
function customOptions(base: readonly string[], custom: CustomOptions): readonly string[] {
  const byName = new Map<string, string>();
  for (const option of base) {
    const [name = '', ...value] = option.split(':');
    byName.set(name, value.join(':'));
  }
  for (const { name = '', value = '' } of custom) byName.set(name, value);
  return [...byName].map(([name, value]) => (value === '' ? name : `${name}:${value}`));
}

/**
 * Returns the resolver settings of a pod by its dnsPolicy and dnsConfig, and warnings for what exceeds the limits.
 *
 * Follows kubelet `Configurer.GetPodDNS`.
 *
 * @throws {AgentError} `invalid_argument` when the node's resolv.conf is invalid
 */
export function podDns(
  pod: Pod,
  node: NodeDns,
): { readonly dns: DnsConfig; readonly events: readonly DnsEvent[] } {
  const events: DnsEvent[] = [];
  const host = readHost(node);
  const base = byPolicy(pod, node, host, events);
  const custom = pod.spec?.dnsConfig;
  const merged: DnsConfig = custom
    ? {
        servers: unique([...base.servers, ...(custom.nameservers ?? [])]),
        searches: unique([...base.searches, ...(custom.searches ?? [])]),
        options: customOptions(base.options, custom.options ?? []),
      }
    : base;
  return { dns: withinLimits(merged, events), events };
}

function readHost(node: NodeDns): ResolvConf {
  const { resolvConf } = node;
  if (!resolvConf) return { nameservers: [], searches: [], options: [] };
  if ('error' in resolvConf) throw new AgentError('invalid_argument', resolvConf.error);
  try {
    return parseResolvConf(resolvConf.text);
  } catch (reason) {
    const text = messageOf(reason);
    throw new AgentError(
      'invalid_argument',
      `Encountered error while parsing resolv conf file. Error: ${text}`,
    );
  }
}

/** Returns the base settings of a policy; an unknown or absent policy counts as ClusterFirst, whatever the network. */
function byPolicy(pod: Pod, node: NodeDns, host: ResolvConf, events: DnsEvent[]): DnsConfig {
  const policy = pod.spec?.dnsPolicy;
  const hostNetwork = pod.spec?.hostNetwork === true;
  if (policy === 'None') return { servers: [], searches: [], options: [] };
  if (policy === 'Default' || (policy === 'ClusterFirst' && hostNetwork)) return hostDns(node, host);
  if (node.clusterDns.length > 0) return clusterDns(pod, node, host);
  warnMissing(pod, events);
  return hostDns(node, host);
}

function warnMissing(pod: Pod, events: DnsEvent[]): void {
  const message =
    'kubelet does not have ClusterDNS IP configured and cannot create Pod using "ClusterFirst" policy. Falling back to "Default" policy.';
  const { name = '', namespace = '', uid = '' } = pod.metadata ?? {};
  const ofPod = `pod: "${name}_${namespace}(${uid})". ${message}`;
  events.push({ reason: 'MissingClusterDNS', message, object: 'node' });
  events.push({ reason: 'MissingClusterDNS', message: ofPod, object: 'pod' });
}

function clusterDns(pod: Pod, { clusterDns: servers, clusterDomain }: NodeDns, host: ResolvConf): DnsConfig {
  if (clusterDomain === '') return { servers, searches: host.searches, options: ['ndots:5'] };
  const namespace = pod.metadata?.namespace ?? '';
  const own = [`${namespace}.svc.${clusterDomain}`, `svc.${clusterDomain}`, clusterDomain];
  return { servers, searches: unique([...own, ...host.searches]), options: ['ndots:5'] };
}

function hostDns(node: NodeDns, host: ResolvConf): DnsConfig {
  if (!node.resolvConf) {
    // Without a resolv.conf, the pod's own loopback is the only name server.
    const loopback = node.nodeIPs.map((ip) => (ip.includes(':') ? '::1' : '127.0.0.1'));
    return { servers: loopback.length > 0 ? loopback : ['127.0.0.1'], searches: ['.'], options: [] };
  }
  return { servers: host.nameservers, searches: host.searches, options: host.options };
}

function withinLimits(dns: DnsConfig, events: DnsEvent[]): DnsConfig {
  const servers = dns.servers.slice(0, dnsLimits.nameservers);
  if (servers.length < dns.servers.length) {
    const message = `Nameserver limits were exceeded, some nameservers have been omitted, the applied nameserver line is: ${servers.join(' ')}`;
    events.push({ reason: 'DNSConfigForming', message, object: 'pod' });
  }
  const searches = cutSearches(dns.searches);
  if (searches.length < dns.searches.length) {
    const message = `Search Line limits were exceeded, some search paths have been omitted, the applied search line is: ${searches.join(' ')}`;
    events.push({ reason: 'DNSConfigForming', message, object: 'pod' });
  }
  return { servers, searches, options: dns.options };
}

function cutSearches(searches: readonly string[]): readonly string[] {
  const fitting = searches
    .slice(0, dnsLimits.searches)
    .filter((domain) => Buffer.byteLength(domain) <= dnsLimits.searchChars);
  while (Buffer.byteLength(fitting.join(' ')) > dnsLimits.searchLineChars) fitting.pop();
  return fitting;
}

const unique = (values: readonly string[]): readonly string[] => [...new Set(values)];

/**
 * Returns warnings about the node's resolv.conf; checked once at start. Follows kubelet `CheckLimitsForResolvConf`.
 *
 * @param path name of the file in the warnings
 */
export function checkResolvConf(text: string, clusterDomain: string, path: string): readonly DnsEvent[] {
  const warn = (message: string): readonly DnsEvent[] => [
    { reason: 'CheckLimitsForResolvConf', message, object: 'node' },
  ];
  let searches: readonly string[];
  try {
    searches = parseResolvConf(text).searches;
  } catch (reason) {
    return warn(messageOf(reason));
  }
  // The cluster domain adds three search domains.
  const most = clusterDomain === '' ? dnsLimits.searches : dnsLimits.searches - 3;
  if (searches.length > most)
    return warn(`Resolv.conf file '${path}' contains search line consisting of more than ${most} domains!`);
  if (searches.some((domain) => Buffer.byteLength(domain) > dnsLimits.searchChars))
    return warn(
      `Resolv.conf file "${path}" contains a search path which length is more than allowed ${dnsLimits.searchChars} chars!`,
    );
  if (Buffer.byteLength(searches.join(' ')) > dnsLimits.searchLineChars)
    return warn(
      `Resolv.conf file '${path}' contains search line which length is more than allowed ${dnsLimits.searchLineChars} chars!`,
    );
  return [];
}
