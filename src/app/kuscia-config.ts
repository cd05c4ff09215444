import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { AgentError, messageOf } from '../base/errors.ts';
import { tableOf } from '../base/own.ts';
import { parseDocument } from '../go/yaml/document.ts';

/** What a configuration of kuscia's agent means here. */
export interface KusciaSettings {
  /** Flags of `podtender`, each one word. */
  readonly flags: readonly string[];
  /** One sentence for each setting that has no meaning here. */
  readonly notes: readonly string[];
}

/** The commands that take `--kuscia-config`. */
export type KusciaCommand = 'up' | 'run' | 'explain';

type Fields = Readonly<Record<string, unknown>>;

/** Collects flags, and names what was not used of a section. */
class Reading {
  readonly flags: string[] = [];
  readonly notes: string[] = [];

  /** Adds a flag for a value that is set. */
  flag(name: string, value: unknown): void {
    if (value === undefined || value === null || value === '') return;
    if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'boolean')
      throw new AgentError('invalid_argument', `the value for --${name} must be a text or a number`);
    this.flags.push(`--${name}=${String(value)}`);
  }

  /** Adds flags for the members of a section by their names. `''`: a member that is read elsewhere; a sentence: why there is none. */
  section(path: string, value: unknown, names: Readonly<Record<string, string>>): Fields {
    const fields = fieldsOf(path, value);
    for (const [key, one] of Object.entries(fields)) {
      const name = names[key];
      const where = path === '' ? key : `${path}.${key}`;
      if (name === undefined) this.notes.push(`${where}: has no meaning here`);
      else if (name.startsWith('!')) this.notes.push(`${where}: ${name.slice(1)}`);
      else if (name !== '') this.flag(name, one);
    }
    return fields;
  }
}

function fieldsOf(path: string, value: unknown): Fields {
  if (value === undefined || value === null) return {};
  if (typeof value === 'object' && !Array.isArray(value)) return value as Fields;
  throw new AgentError('invalid_argument', `${path === '' ? 'the file' : path}: must be a map`);
}

const runtimes: Readonly<Record<string, string>> = tableOf({ runc: 'cri', runp: 'oci', runk: 'kubernetes' });
const levels: Readonly<Record<string, string>> = tableOf({
  debug: 'debug',
  info: 'info',
  warn: 'warn',
  warning: 'warn',
  error: 'error',
  fatal: 'error',
});

/**
 * Turns a configuration of kuscia's agent into flags of `podtender` that mean the same, and names each setting that has no meaning here.
 *
 * @param file the path of the file, relative paths in which start in its directory
 * @throws {AgentError} `invalid_argument`, naming the setting that is wrong
 */
export function kusciaSettings(document: unknown, command: KusciaCommand, file: string): KusciaSettings {
  const reading = new Reading();
  const top = reading.section('', document, {
    rootDir: 'data-dir',
    namespace: '',
    NodeIP: 'node-ip',
    allowPrivileged: "!the API server's admission decides which pods are privileged",
    ...{ capacity: '', log: '', source: '', framework: '', provider: '', node: '' },
    ...{ registry: '', cert: '', plugins: '', domainCAFile: '', domainCAKeyFile: '' },
    ...{ logsPath: '!the log goes to stderr', stdoutPath: '!set podLogsDir (--pod-logs-dir) instead' },
  });
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
  const capacity = fieldsOf('capacity', top['capacity']);
  reading.flag('max-pods', capacity['pods']);
  if (name !== 'kubernetes')
    for (const key of Object.keys(capacity).filter((one) => one !== 'pods'))
      reading.notes.push(
        `capacity.${key}: the node has what the machine has; use --system-reserved to lower it`,
      );
  readProvider(reading, provider, { name, capacity, command, folder: dirname(file), namespace });
  if (command !== 'explain') readPlugins(reading, top);
  return { flags: reading.flags, notes: reading.notes };
}

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
  if (file['enable'] === true) {
    reading.flag('manifests', file['path']);
    reading.flag('file-check-frequency', file['period']);
  }
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
  reading.section('provider', provider, { runtime: '', cri: '', k8s: '' });
  if (name === 'cri') {
    const cri = reading.section('provider.cri', provider['cri'], {
      remoteRuntimeEndpoint: 'container-runtime-endpoint',
      remoteImageEndpoint: 'image-service-endpoint',
      runtimeRequestTimeout: 'runtime-request-timeout',
      containerLogMaxSize: 'container-log-max-size',
      containerLogMaxFiles: 'container-log-max-files',
      clusterDomain: 'cluster-domain',
      clusterDNS: '',
      resolverConfig: 'resolv-conf',
    });
    const dns = textsOf(cri, 'clusterDNS', 'provider.cri');
    if (dns.length > 0) reading.flag('cluster-dns', dns.join(','));
  }
  if (name !== 'kubernetes' || command === 'explain') return;
  const settings = backingSettings(reading, fieldsOf('provider.k8s', provider['k8s']), { folder, namespace });
  const { pods: _pods, storage, ...amounts } = capacity;
  const node = { ...amounts, ...(storage !== undefined && { 'ephemeral-storage': storage }) };
  if (Object.keys(node).length > 0) settings['capacity'] = texts(node);
  reading.flag('provider-config', JSON.stringify(settings));
}

/** The settings of the kubernetes provider. With a namespace, pods of others are refused; several agents always share a lease. */
function backingSettings(
  reading: Reading,
  k8s: Fields,
  { folder, namespace }: Pick<ProviderReading, 'folder' | 'namespace'>,
): Record<string, unknown> {
  reading.section('provider.k8s', k8s, {
    ...{
      kubeconfigFile: '',
      namespace: '',
      dns: '',
      labelsToAdd: '',
      annotationsToAdd: '',
      qps: '',
      burst: '',
      runtimeClassName: '',
    },
    endpoint: '!the address of the backing cluster comes from the kubeconfig',
    timeout: '!each request has a deadline of its own',
    backend: '!backing pods are the same for all kinds of clusters',
  });
  const dns = reading.section('provider.k8s.dns', k8s['dns'], {
    ...{ servers: '', searches: '' },
    policy: '!pods keep the dnsPolicy of their spec; servers and searches are added',
    resolverConfig: '!name the servers in provider.k8s.dns.servers',
  });
  const kubeconfig = textOf(k8s, 'kubeconfigFile', 'provider.k8s');
  const nameservers = textsOf(dns, 'servers', 'provider.k8s.dns');
  const searches = textsOf(dns, 'searches', 'provider.k8s.dns');
  const backing = textOf(k8s, 'namespace', 'provider.k8s') ?? 'default';
  const runtimeClassName = textOf(k8s, 'runtimeClassName', 'provider.k8s');
  return {
    ...(kubeconfig !== undefined && { kubeconfig: resolve(folder, kubeconfig) }),
    ...(namespace === undefined ? { namespace: backing } : { namespaces: { [namespace]: backing } }),
    leaderElection: { namespace: backing },
    ...(runtimeClassName !== undefined && { runtimeClassName }),
    ...(k8s['labelsToAdd'] !== undefined && { labels: k8s['labelsToAdd'] }),
    ...(k8s['annotationsToAdd'] !== undefined && { annotations: k8s['annotationsToAdd'] }),
    ...(nameservers.length + searches.length > 0 && {
      dns: { ...(nameservers.length > 0 && { nameservers }), ...(searches.length > 0 && { searches }) },
    }),
    ...(k8s['qps'] !== undefined && { qps: k8s['qps'] }),
    ...(k8s['burst'] !== undefined && { burst: k8s['burst'] }),
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

const texts = (fields: Fields): Fields =>
  Object.fromEntries(Object.entries(fields).map(([key, value]) => [key, String(value)]));

function textOf(fields: Fields, key: string, path: string): string | undefined {
  const value = fields[key];
  if (value === undefined || value === null || value === '') return undefined;
  if (typeof value === 'string') return value;
  throw new AgentError('invalid_argument', `${path}.${key}: must be a text`);
}

function textsOf(fields: Fields, key: string, path: string): readonly string[] {
  const value = fields[key] ?? [];
  if (Array.isArray(value) && value.every((one) => typeof one === 'string')) return value;
  throw new AgentError('invalid_argument', `${path}.${key}: must be a list of texts`);
}

/** The plug-ins as the middleware that ships. */
function readPlugins(reading: Reading, top: Fields): void {
  const list = top['plugins'] ?? [];
  if (!Array.isArray(list)) throw new AgentError('invalid_argument', 'plugins: must be a list');
  const domain = { signingCertFile: top['domainCAFile'], signingKeyFile: top['domainCAKeyFile'] };
  const cert = { ...domain, ...fieldsOf('cert', top['cert']) };
  for (const [index, entry] of (list as readonly unknown[]).entries()) {
    const plugin = fieldsOf(`plugins[${index}]`, entry);
    const name = textOf(plugin, 'name', `plugins[${index}]`) ?? '';
    const where = `plugins[${index}].config`;
    switch (name) {
      case 'config-render':
        reading.flag('middleware', 'configRender');
        reading.notes.push(
          `plugins[${index}] (config-render): pods name their volumes by the annotation podtender.io/template-volumes`,
        );
        break;
      case 'env-import':
        reading.flag(
          'middleware',
          `envImport=${JSON.stringify(importedEnv(fieldsOf(where, plugin['config']), where))}`,
        );
        reading.notes.push(`plugins[${index}] (env-import): selectors match labels of pods, not of images`);
        break;
      case 'cert-issuance':
        reading.flag('middleware', `podCertificates=${JSON.stringify(authorityOf(cert))}`);
        reading.notes.push(
          `plugins[${index}] (cert-issuance): every pod gets tls.crt, tls.key and ca.crt in /var/run/podtender/certificates`,
        );
        break;
      case 'bandwidth-filter':
        reading.flag('middleware', `resourceFilter=${JSON.stringify({ remove: ['kuscia.secretflow/*'] })}`);
        break;
      default:
        reading.notes.push(
          name === 'image-security'
            ? `plugins[${index}] (image-security): images are checked by digest, not by the annotation kuscia.secretflow/image-id: name the digest in the image, and require it with --middleware 'imageAllowList={"digests":[…],"requireDigest":true}'`
            : `plugins[${index}]: ${JSON.stringify(name)} has no meaning here`,
        );
    }
  }
}

const authorityOf = (cert: Fields): Fields => {
  const [certFile, keyFile] = [
    textOf(cert, 'signingCertFile', 'cert'),
    textOf(cert, 'signingKeyFile', 'cert'),
  ];
  if (certFile === undefined || keyFile === undefined) return {};
  return { authority: { certFile, keyFile } };
};

/** Lists of variables with selectors as the rules of `envImport`. */
function importedEnv(config: Fields, where: string): Fields {
  const list = config['envList'] ?? [];
  if (!Array.isArray(list)) throw new AgentError('invalid_argument', `${where}.envList: must be a list`);
  const rules = (list as readonly unknown[]).map((entry, index) => {
    const path = `${where}.envList[${index}]`;
    const { envs = [], selectors = [] } = fieldsOf(path, entry);
    if (!Array.isArray(envs) || !Array.isArray(selectors))
      throw new AgentError('invalid_argument', `${path}: envs and selectors must be lists`);
    const labels = (selectors as readonly unknown[]).map((one) => {
      const { key = '', value = '' } = fieldsOf(`${path}.selectors`, one);
      return [String(key), String(value)] as const;
    });
    return {
      ...(labels.length > 0 && { selector: { matchLabels: Object.fromEntries(labels) } }),
      env: (envs as readonly unknown[]).map((one) => {
        const { name = '', value = '' } = fieldsOf(`${path}.envs`, one);
        return { name: String(name), value: String(value) };
      }),
    };
  });
  return { rules };
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
