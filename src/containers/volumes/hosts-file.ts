/** An entry of `spec.hostAliases`. */
export interface HostAlias {
  readonly ip?: string;
  readonly hostnames?: readonly string[];
}

export interface HostsFileInput {
  /** The pod's addresses, primary first. */
  readonly podIPs: readonly string[];
  readonly hostName: string;
  /** Empty: the pod has no domain. */
  readonly hostDomain: string;
  readonly hostAliases: readonly HostAlias[];
}

const localLines: readonly string[] = [
  '127.0.0.1\tlocalhost',
  '::1\tlocalhost ip6-localhost ip6-loopback',
  'fe00::0\tip6-localnet',
  'fe00::0\tip6-mcastprefix',
  'fe00::1\tip6-allnodes',
  'fe00::2\tip6-allrouters',
];

/** Returns the `/etc/hosts` of a pod with its own network. Follows kubelet `managedHostsFileContent`. */
export function managedHostsFile({ podIPs, hostName, hostDomain, hostAliases }: HostsFileInput): string {
  const names = hostDomain === '' ? hostName : `${hostName}.${hostDomain}\t${hostName}`;
  const own = podIPs.map((ip) => `${ip}\t${names}`);
  return ['# Kubernetes-managed hosts file.', ...localLines, ...own, ''].join('\n') + aliasLines(hostAliases);
}

/** Returns the `/etc/hosts` of a host-network pod: the node's file and the aliases. Follows kubelet `nodeHostsFileContent`. */
export function nodeHostsFile(nodeFile: string, hostAliases: readonly HostAlias[]): string {
  return `# Kubernetes-managed hosts file (host network).\n${nodeFile}${aliasLines(hostAliases)}`;
}

function aliasLines(aliases: readonly HostAlias[]): string {
  if (aliases.length === 0) return '';
  const lines = aliases.map(({ ip = '', hostnames = [] }) => `${ip}\t${hostnames.join('\t')}\n`);
  return `\n# Entries added by HostAliases.\n${lines.join('')}`;
}
