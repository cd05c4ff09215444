import { AgentError, messageOf } from '../../base/errors.ts';
import { goFields } from '../../go/go-fields.ts';
import type { Pod } from '../../kube/types.ts';

/** Limits of a resolver: name servers, search domains; in bytes: all search domains in one line, one search domain. */
export const dnsLimits = { nameservers: 3, searches: 32, searchLineChars: 2048, searchChars: 253 } as const;

/** The resolver settings of a pod, as its sandbox gets them. */
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

/** What the node knows of DNS. */
export interface NodeDns {
  readonly clusterDns: readonly string[];
  /** `''`: no cluster domain. */
  readonly clusterDomain: string;
  /** The node's addresses: they tell the loopback family when there is no name server at all. */
  readonly nodeIPs: readonly string[];
  /** The node's resolv.conf: its text, or the error of reading it; absent: none is configured. */
  readonly resolvConf?: { readonly text: string } | { readonly error: string };
}

/** A Warning to be recorded; `node` ones concern the node, not the pod. */
export interface DnsEvent {
  readonly reason: 'MissingClusterDNS' | 'DNSConfigForming' | 'CheckLimitsForResolvConf';
  readonly message: string;
  readonly object: 'pod' | 'node';
}

/**
 * Reads a resolv.conf: of several `nameserver` lines all count, of several `search` and `options` lines the last.
 *
 * @throws {AgentError} `invalid_argument` when a `nameserver` line names none
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
      // one domain with and without its trailing dot counts once; a lone dot names none
      searches = rest.map((domain) => domain.replace(/\.$/, '')).filter((domain) => domain !== '');
    } else if (keyword === 'options') {
      options = mergeOptions(options, rest);
    }
  }
  return { nameservers, searches, options };
}

/** Adds options to others; a later value of one name wins in its place. */
function mergeOptions(old: readonly string[], added: readonly string[]): readonly string[] {
  const byName = new Map<string, string>();
  for (const option of [...old, ...added]) byName.set(option.split(':', 1)[0] ?? option, option);
  return [...byName.values()];
}

type CustomOptions = readonly { readonly name?: string; readonly value?: string }[];

/** The pod's own options added to others: here a name goes to the first colon, or is the pod's whole. Follows kubelet `mergeDNSOptions`. */
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
 * The resolver settings of a pod by its dnsPolicy and dnsConfig, and the warnings when limits cut something.
 *
 * Follows kubelet `Configurer.GetPodDNS`.
 *
 * @throws {AgentError} `invalid_argument` when the node's resolv.conf cannot be used
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

/** Which settings a policy starts from; an unknown or absent policy counts as ClusterFirst, whatever the network. */
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
    // without a resolv.conf a pod is to ask nobody else: its own loopback
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
  const kept = searches
    .slice(0, dnsLimits.searches)
    .filter((domain) => Buffer.byteLength(domain) <= dnsLimits.searchChars);
  while (Buffer.byteLength(kept.join(' ')) > dnsLimits.searchLineChars) kept.pop();
  return kept;
}

const unique = (values: readonly string[]): readonly string[] => [...new Set(values)];

/**
 * What is wrong with the node's resolv.conf, checked once at start. Follows kubelet `CheckLimitsForResolvConf`.
 *
 * @param path how the file is named in the warnings
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
  // a cluster domain adds three search paths of its own
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
