import { AgentError } from '../base/errors.ts';
import { tableOf } from '../base/own.ts';
import { type Fields, fieldsOf, type Reading, textOf } from './kuscia-reading.ts';

/** What the plug-ins of an agent depend on besides their own settings. */
interface PluginSurroundings {
  /** `runc`, `runp` or `runk`. */
  readonly runtime: string;
  /** True for `podtender explain`, which has no middleware. */
  readonly isExplained: boolean;
}

/** A plug-in in the file. */
interface Plugin {
  /** Where it is, such as `plugins[1] (env-import)`. */
  readonly where: string;
  readonly config: Fields;
  readonly runtime: string;
  /** The authority for certificates. */
  readonly cert: Fields;
}

const readers: Readonly<Record<string, (reading: Reading, plugin: Plugin) => void>> = tableOf({
  'config-render': readConfigRender,
  'env-import': readEnvImport,
  'cert-issuance': readCertIssuance,
  'bandwidth-filter': readBandwidthFilter,
  'image-security': (reading, { where }) => {
    reading.notes.push(
      `${where}: images are checked by digest, not by the annotation kuscia.secretflow/image-id: name the digest in the image, and require it with --middleware 'imageAllowList={"digests":[…],"requireDigest":true}'`,
    );
  },
});

/** Reads the plug-ins as the middleware that ships. */
export function readPlugins(
  reading: Reading,
  top: Fields,
  { runtime, isExplained }: PluginSurroundings,
): void {
  const list = top['plugins'];
  if (list === undefined || list === null) {
    reading.notes.push(
      `plugins: none is named, where kuscia's agent runs all of its own: ${Object.keys(readers).join(', ')}`,
    );
    return;
  }
  if (!Array.isArray(list)) throw new AgentError('invalid_argument', 'plugins: must be a list');
  if (isExplained) {
    if (list.length > 0) reading.notes.push('plugins: no kubelet settings; they become --middleware');
    return;
  }
  const domain = { signingCertFile: top['domainCAFile'], signingKeyFile: top['domainCAKeyFile'] };
  const cert = reading.section(
    'cert',
    { ...domain, ...fieldsOf('cert', top['cert']) },
    { signingCertFile: '', signingKeyFile: '' },
  );
  for (const [index, entry] of (list as readonly unknown[]).entries()) {
    const at = `plugins[${index}]`;
    const plugin = reading.section(at, entry, { name: '', config: '' });
    const name = textOf(plugin, 'name', at) ?? '';
    const read = readers[name];
    const config = plugin['config'];
    if (read)
      read(reading, {
        where: `${at} (${name})`,
        config: fieldsOf(`${at}.config`, config),
        runtime,
        cert,
      });
    else reading.notes.push(`${at}: ${JSON.stringify(name)} has no meaning here`);
  }
}

function readConfigRender(reading: Reading, { where, config }: Plugin): void {
  reading.section(`${where}.config`, config, {});
  const settings = {
    volumesAnnotation: 'kuscia.secretflow/config-template-volumes',
    valuesConfigMapAnnotation: 'kuscia.secretflow/config-template-value-cm-name',
  };
  reading.flag('middleware', `configRender=${JSON.stringify(settings)}`);
  reading.notes.push(
    `${where}: values are inserted as they are, without JSON's escapes; {{{.NAME}}} and compressed values are not read`,
  );
}

function readCertIssuance(reading: Reading, { where, config, cert }: Plugin): void {
  reading.section(`${where}.config`, config, {});
  reading.flag('middleware', `podCertificates=${JSON.stringify(authorityOf(cert))}`);
  reading.notes.push(
    `${where}: every pod gets tls.crt, tls.key and ca.crt in /var/run/podtender/certificates, whatever its labels say`,
  );
}

const authorityOf = (cert: Fields): Fields => {
  const [certFile, keyFile] = [
    textOf(cert, 'signingCertFile', 'cert'),
    textOf(cert, 'signingKeyFile', 'cert'),
  ];
  if (certFile === undefined || keyFile === undefined) return {};
  return { authority: { certFile, keyFile } };
};

/** Only backing pods lose the bandwidth of kuscia's scheduler, unless the plug-in says otherwise. */
function readBandwidthFilter(reading: Reading, { where, config, runtime }: Plugin): void {
  const { stripOnRunk } = reading.section(`${where}.config`, config, { stripOnRunk: '' });
  if (runtime !== 'runk' || stripOnRunk === false) return;
  reading.flag('middleware', `resourceFilter=${JSON.stringify({ remove: ['kuscia.io/bandwidth'] })}`);
}

/** Lists of variables with selectors as the rules of `envImport`. */
function readEnvImport(reading: Reading, { where, config, runtime }: Plugin): void {
  const { envList = [], usePodLabels } = reading.section(`${where}.config`, config, {
    envList: '',
    usePodLabels: '',
  });
  if (!Array.isArray(envList))
    throw new AgentError('invalid_argument', `${where}.config.envList: must be a list`);
  const isOfImages = usePodLabels === false && runtime !== 'runk';
  const rules = (envList as readonly unknown[]).flatMap((entry, index) => {
    const path = `${where}.config.envList[${index}]`;
    const rule = ruleOf(entry, path);
    if (!isOfImages || rule.selector === undefined) return [rule];
    reading.notes.push(`${path}: selects by labels of images only (usePodLabels), which are not read`);
    return [];
  });
  reading.flag('middleware', `envImport=${JSON.stringify({ rules, limits: true })}`);
  reading.notes.push(
    `${where}: selectors match labels of pods, not of images; CONTAINER_MEM_LIMIT is in bytes, and without a limit what the node has`,
  );
}

interface EnvRule {
  readonly selector?: { readonly matchLabels: Fields };
  readonly env: readonly Fields[];
}

function ruleOf(entry: unknown, path: string): EnvRule {
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
}
