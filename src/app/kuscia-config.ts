import { readFileSync } from 'node:fs';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import { AgentError, messageOf } from '../base/errors.ts';
import { tableOf } from '../base/own.ts';
import { parseDocument } from '../go/yaml/document.ts';
import { agentOf } from './kuscia-document.ts';
import { readPlugins } from './kuscia-plugins.ts';
import { amountOf, type Fields, fieldsOf, Reading, textOf, textsOf } from './kuscia-reading.ts';

/** What a configuration of kuscia's agent means here. */
export interface KusciaSettings {
  /** Flags of `podtender`, each one word. */
  readonly flags: readonly string[];
  /** One sentence for each setting that has no meaning here. */
  readonly notes: readonly string[];
}

/** The commands that take `--kuscia-config`. */
export type KusciaCommand = 'up' | 'run' | 'explain';

const runtimes: Readonly<Record<string, string>> = tableOf({ runc: 'cri', runp: 'oci', runk: 'kubernetes' });
const levels: Readonly<Record<string, string>> = tableOf({
  debug: 'debug',
  info: 'info',
  warn: 'warn',
  warning: 'warn',
  error: 'error',
  fatal: 'error',
});

/** The resource of kuscia's scheduler for bandwidth, Mbit/s. */
const bandwidth = 'kuscia.io/bandwidth';

/** The settings of the agent that need no more than a flag or a reason. */
const topSettings: Readonly<Record<string, string>> = tableOf({
  rootDir: 'data-dir',
  NodeIP: 'node-ip',
  allowPrivileged: "!the API server's admission decides which pods are privileged",
  apiVersion: "!the Node states podtender's own version",
  agentVersion: "!the Node states podtender's own version",
  diskPressurePath: '!DiskPressure is that of the file systems of data-dir and of images',
  head: '!podtender run joins a cluster, podtender up is one',
  logsPath: '!the log goes to stderr',
  stdoutgcduration: '!logs of containers are kept by number and size, and go with their pod',
  ...Object.fromEntries(
    ['namespace', 'stdoutPath', 'capacity', 'reservedResources', 'log', 'source', 'framework']
      .concat(['provider', 'node', 'registry', 'cert', 'plugins', 'domainCAFile', 'domainCAKeyFile'])
      .map((key) => [key, '']),
  ),
});

/**
 * Turns a configuration of kuscia's agent, or of kuscia with its agent, into flags of `podtender` that mean the same, and names each setting
 * that has no meaning here.
 *
 * @param file the path of the file, relative paths in which start in its directory
 * @throws {AgentError} `invalid_argument`, naming the setting that is wrong
 */
export function kusciaSettings(document: unknown, command: KusciaCommand, file: string): KusciaSettings {
  const reading = new Reading();
  const top = reading.section('', agentOf(reading, fieldsOf('', document)), topSettings);
  const provider = fieldsOf('provider', top['provider']);
  const runtime = textOf(provider, 'runtime', 'provider') ?? 'runc';
  const name = runtimes[runtime];
  if (name === undefined)
    throw new AgentError(
      'invalid_argument',
      `provider.runtime: ${JSON.stringify(runtime)} is unknown; known are ${Object.keys(runtimes).join(', ')}`,
    );
  const namespace = textOf(top, 'namespace', '');
  if (namespace !== undefined && name !== 'kubernetes')
    reading.notes.push(
      `namespace: pods of every namespace that are bound to the node are run; bind only pods of ${namespace}`,
    );
  readRegistry(reading, fieldsOf('registry', top['registry']), command, file);
  readNode(reading, top, command);
  if (command !== 'explain') reading.flag('provider', name);
  readLogs(reading, top, name);
  const capacity = readCapacity(reading, top, name);
  readProvider(reading, provider, { name, capacity, command, folder: dirname(file), namespace });
  readPlugins(reading, top, { runtime, isExplained: command === 'explain' });
  return { flags: reading.flags, notes: reading.notes };
}

/** The directory of container logs, which only the CRI has one of. */
function readLogs(reading: Reading, top: Fields, name: string): void {
  const path = textOf(top, 'stdoutPath', '');
  if (path === undefined) return;
  const root = textOf(top, 'rootDir', '');
  if (name !== 'cri') reading.notes.push(`stdoutPath: ${noLogFolder(name)}`);
  else if (isAbsolute(path)) reading.flag('pod-logs-dir', join(path, 'pods'));
  else if (root !== undefined) reading.flag('pod-logs-dir', join(root, path, 'pods'));
  else reading.notes.push('stdoutPath: a relative path needs rootDir');
}

const logsOfBacking = 'logs are read from the backing cluster on request';

const noLogFolder = (name: string): string =>
  name === 'oci' ? 'logs of containers lie below data-dir' : logsOfBacking;

/** Reads what the node has. @returns the capacity of a node that has no machine */
function readCapacity(reading: Reading, top: Fields, name: string): Fields {
  const own = fieldsOf('capacity', top['capacity']);
  reading.flag('max-pods', own['pods']);
  const ofMachine = '!the node has what the machine has';
  const extended = `!the machine has no ${bandwidth}; add it to the Node's status.capacity`;
  const hasMachine = name !== 'kubernetes';
  reading.section('capacity', own, {
    pods: '',
    ...Object.fromEntries(
      ['cpu', 'memory', 'storage', 'ephemeralStorage'].map((key) => [key, hasMachine ? ofMachine : '']),
    ),
    bandwidth: hasMachine ? extended : '',
  });
  const reserved = reading.section('reservedResources', top['reservedResources'], {
    ...(hasMachine ? { cpu: '', memory: '' } : { cpu: notReserved, memory: notReserved }),
    bandwidth: hasMachine ? extended : notReserved,
  });
  const amounts = ['cpu', 'memory'].flatMap((key) => {
    const amount = amountOf(reserved, key, 'reservedResources');
    return amount === undefined ? [] : [`${key}=${amount}`];
  });
  if (hasMachine && amounts.length > 0) reading.flag('system-reserved', amounts.join(','));
  return Object.fromEntries(
    Object.entries(resourceNames).flatMap(([key, resource]) => {
      const amount = amountOf(own, key, 'capacity');
      return amount === undefined ? [] : [[resource, amount]];
    }),
  );
}

const notReserved = '!nothing is reserved of a backing cluster, nor by kuscia';

/** The resources of a Node by the words of the file. */
const resourceNames: Readonly<Record<string, string>> = {
  cpu: 'cpu',
  memory: 'memory',
  storage: 'storage',
  ephemeralStorage: 'ephemeral-storage',
  bandwidth,
};

function readNode(reading: Reading, top: Fields, command: KusciaCommand): void {
  const log = reading.section('log', top['log'], {
    level: '',
    ...{ filename: '!the log goes to stderr', maxFileSizeMB: '!the log goes to stderr' },
    maxFiles: '!the log goes to stderr',
  });
  const level = textOf(log, 'level', 'log')?.toLowerCase();
  if (command !== 'explain' && level !== undefined) reading.flag('log-level', levels[level] ?? level);
  const source = reading.section('source', top['source'], { apiserver: '', file: '' });
  reading.section('source.apiserver', source['apiserver'], {
    kubeconfigFile: command === 'run' ? 'kubeconfig' : '!only podtender run joins a cluster',
    endpoint: '!the address of the API server comes from the kubeconfig',
    qps: 'kube-api-qps',
    burst: 'kube-api-burst',
    timeout: '!each request has a deadline of its own',
  });
  const file = fieldsOf('source.file', source['file']);
  const isRead = file['enable'] === true;
  const disabled = '!is read with source.file.enable only';
  reading.section('source.file', file, {
    enable: '',
    path: isRead ? 'manifests' : disabled,
    period: isRead ? 'file-check-frequency' : disabled,
  });
  reading.section('framework', top['framework'], { syncFrequency: 'sync-frequency' });
  const node = reading.section('node', top['node'], {
    nodeName: 'node-name',
    enableNodeReuse: '!a Node of the same name is taken over',
    keepNodeOnExit: '',
  });
  if (node['keepNodeOnExit'] !== undefined && command === 'run')
    reading.flag('exit-policy', node['keepNodeOnExit'] === true ? 'keep' : 'delete');
}

interface ProviderReading {
  readonly name: string;
  readonly capacity: Fields;
  readonly command: KusciaCommand;
  readonly folder: string;
  /** The namespace whose pods are run. */
  readonly namespace: string | undefined;
}

function readProvider(
  reading: Reading,
  provider: Fields,
  { name, capacity, command, folder, namespace }: ProviderReading,
): void {
  reading.section('provider', provider, {
    runtime: '',
    cri: name === 'kubernetes' ? '!is not used with the runtime runk' : '',
    k8s: name === 'kubernetes' ? '' : '!is used with the runtime runk only',
  });
  if (name !== 'kubernetes') readRuntime(reading, provider['cri'], name);
  else if (command === 'explain') reading.notes.push('provider.k8s: no kubelet settings');
  else {
    const k8s = fieldsOf('provider.k8s', provider['k8s']);
    const settings = backingSettings(reading, k8s, { folder, namespace });
    if (Object.keys(capacity).length > 0) settings['capacity'] = capacity;
    reading.flag('provider-config', JSON.stringify(settings));
  }
}

/** Reads the settings of local containers. */
function readRuntime(reading: Reading, section: unknown, name: string): void {
  const ofRuntime = (flag: string): string =>
    name === 'cri' ? flag : '!the oci provider needs no container runtime';
  const ofNetwork = (flag: string): string =>
    name === 'cri' ? flag : "!pods of the oci provider use the host's resolv.conf";
  const cri = reading.section('provider.cri', section, {
    remoteRuntimeEndpoint: ofRuntime('container-runtime-endpoint'),
    remoteImageEndpoint: ofRuntime('image-service-endpoint'),
    runtimeRequestTimeout: ofRuntime('runtime-request-timeout'),
    containerLogMaxSize: 'container-log-max-size',
    containerLogMaxFiles: 'container-log-max-files',
    clusterDomain: ofNetwork('cluster-domain'),
    clusterDNS: ofNetwork(''),
    resolverConfig: ofNetwork('resolv-conf'),
    localRuntime: '!images and containers lie below data-dir',
  });
  const dns = textsOf(cri, 'clusterDNS', 'provider.cri');
  if (name === 'cri' && dns.length > 0) reading.flag('cluster-dns', dns.join(','));
}

/** The settings of the kubernetes provider. With a namespace, pods of others are refused; several agents always share a lease. */
function backingSettings(
  reading: Reading,
  k8s: Fields,
  { folder, namespace }: Pick<ProviderReading, 'folder' | 'namespace'>,
): Record<string, unknown> {
  const ofServer = `!${logsOfBacking}`;
  reading.section('provider.k8s', k8s, {
    ...{ kubeconfigFile: '', namespace: '', dns: '', labelsToAdd: '', annotationsToAdd: '', qps: '' },
    ...{ affinitiesToAdd: '', burst: '', runtimeClassName: '' },
    endpoint: '!the address of the backing cluster comes from the kubeconfig',
    timeout: '!each request has a deadline of its own',
    backend: '!backing pods are the same for all kinds of clusters',
    ...{ enableLogging: ofServer, logDirectory: ofServer, logMaxSize: ofServer, logMaxFiles: ofServer },
  });
  const kubeconfig = textOf(k8s, 'kubeconfigFile', 'provider.k8s');
  const backing = textOf(k8s, 'namespace', 'provider.k8s') ?? 'default';
  const dns = backingDns(reading, k8s['dns']);
  return {
    ...(kubeconfig !== undefined && { kubeconfig: resolve(folder, kubeconfig) }),
    ...(namespace === undefined ? { namespace: backing } : { namespaces: { [namespace]: backing } }),
    leaderElection: { namespace: backing },
    ...Object.fromEntries(
      Object.entries(backingNames).flatMap(([key, name]) => {
        const value = k8s[key];
        return value === undefined || value === null || value === '' ? [] : [[name, value]];
      }),
    ),
    ...(Object.keys(dns).length > 0 && { dns }),
  };
}

/** The settings of the kubernetes provider by the words of the file. */
const backingNames: Readonly<Record<string, string>> = {
  runtimeClassName: 'runtimeClassName',
  labelsToAdd: 'labels',
  annotationsToAdd: 'annotations',
  affinitiesToAdd: 'affinity',
  qps: 'qps',
  burst: 'burst',
};

/** The DNS settings of backing pods. Servers take the place of those of the backing cluster unless a policy says otherwise. */
function backingDns(reading: Reading, section: unknown): Fields {
  const dns = reading.section('provider.k8s.dns', section, {
    ...{ policy: '', servers: '', searches: '' },
    resolverConfig: '!name the servers in provider.k8s.dns.servers',
  });
  const nameservers = textsOf(dns, 'servers', 'provider.k8s.dns');
  const searches = textsOf(dns, 'searches', 'provider.k8s.dns');
  const policy = textOf(dns, 'policy', 'provider.k8s.dns') ?? (nameservers.length > 0 ? 'None' : undefined);
  const isEmpty = policy === 'None' && nameservers.length === 0;
  if (isEmpty) reading.notes.push('provider.k8s.dns.policy: None needs servers; there is none on this node');
  return {
    ...(policy !== undefined && !isEmpty && { policy }),
    ...(nameservers.length > 0 && { nameservers }),
    ...(searches.length > 0 && { searches }),
  };
}

/**
 * Passes the file on as that of the registries, which have the same form in it. What is no setting of a registry is refused when the file is
 * read again; here it is only named that `explain` does not read it.
 */
function readRegistry(reading: Reading, registry: Fields, command: KusciaCommand, file: string): void {
  if (Object.keys(registry).length === 0) return;
  if (command === 'explain') reading.notes.push('registry: no kubelet setting; --image-registries reads it');
  else reading.flag('image-registries', file);
}

const flagName = '--kuscia-config';

/**
 * Replaces `--kuscia-config FILE` of a command line by the flags that the file stands for, before all others, so that the others win.
 *
 * @throws {AgentError} `invalid_argument`, naming the file and its fault
 */
export function withKusciaConfig(
  args: readonly string[],
  cwd: string,
): { readonly args: readonly string[]; readonly notes: readonly string[] } {
  const [command, ...rest] = args;
  const at = rest.findIndex((word) => word === flagName || word.startsWith(`${flagName}=`));
  if (at < 0 || (command !== 'up' && command !== 'run' && command !== 'explain')) return { args, notes: [] };
  const isJoined = rest[at] !== flagName;
  const named = isJoined ? rest[at]?.slice(flagName.length + 1) : rest[at + 1];
  if (named === undefined || named === '')
    throw new AgentError('invalid_argument', `${flagName}: needs the path of a file`);
  const others = rest.toSpliced(at, isJoined ? 1 : 2);
  const file = resolve(cwd, named);
  try {
    const { flags, notes } = kusciaSettings(documentOf(file), command, file);
    return {
      args: [command, ...flags, ...others],
      notes: notes.map((note) => `${flagName} ${named}: ${note}`),
    };
  } catch (reason) {
    throw new AgentError('invalid_argument', `${flagName} ${named}: ${messageOf(reason)}`, { cause: reason });
  }
}

function documentOf(file: string): unknown {
  const result = parseDocument(readFileSync(file, 'utf8'));
  if (result.ok) return result.document.value;
  throw new AgentError('invalid_argument', result.fault.message);
}
