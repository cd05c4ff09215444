import { type Command, InvalidArgumentError, Option } from 'commander';
import { resolve } from 'node:path';
import type { VirtualKubeletOptions } from '../app/virtual-kubelet.ts';
import { parseDuration } from '../kube/duration.ts';

/** The parts of the process that the command reads. */
interface Surroundings {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly version: string;
}

type Raw = Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>;

/** Adds `podtender virtual-kubelet`, with virtual-kubelet's flags and environment variables. */
export function addVirtualKubelet(
  program: Command,
  around: Surroundings,
  act: (options: VirtualKubeletOptions) => Promise<void>,
): void {
  const command = program.command('virtual-kubelet').alias('vk');
  addNodeOptions(command, around);
  addHttpOptions(command)
    .allowUnknownOption()
    .allowExcessArguments()
    .helpOption('-h, --help', 'print this help')
    .addHelpText('after', helpText)
    .action(async (raw: Raw, self: Command) => {
      await act(checked(self, () => optionsOf(raw, around)));
    });
}

/** Reports faults as other mistakes on the command line are reported. */
function checked(command: Command, read: () => VirtualKubeletOptions): VirtualKubeletOptions {
  try {
    refuseUnknown(command.args);
    return read();
  } catch (reason) {
    if (reason instanceof InvalidArgumentError) command.error(`error: ${reason.message}`);
    throw reason;
  }
}

const addNodeOptions = (command: Command, { env }: Surroundings): Command =>
  command
    .description("Run a node of a virtual-kubelet provider, with virtual-kubelet's flags and environment.")
    .option(
      '--kubeconfig <file>',
      'kubeconfig of the cluster; default: $KUBECONFIG, ~/.kube/config, or the pod that this runs in',
    )
    .addOption(
      new Option('--namespace <namespace>', 'ignored: a node has the pods of all namespaces').hideHelp(),
    )
    .option('--cluster-domain <domain>', 'domain of the cluster', 'cluster.local')
    .option('--nodename <name>', 'name of the node', env['DEFAULT_NODE_NAME'] ?? 'virtual-kubelet')
    .option('--os <system>', 'operating system of the pods: linux or windows', operatingSystem, 'linux')
    .option(
      '--provider <name>',
      'mock, or a module with a provider: a file such as ./provider.mjs, or a package',
      '',
    )
    .option('--provider-config <file>', 'configuration of the provider')
    .option(
      '--metrics-addr <address>',
      'address of an HTTP server without authentication for metrics and statistics',
    )
    .addOption(new Option('--taint <key>', 'key of the taint; set VKUBELET_TAINT_KEY instead').hideHelp())
    .option('--disable-taint', 'register the node without a taint', false)
    .option(
      '--pod-sync-workers <count>',
      'kept for compatibility: each pod has a worker of its own',
      count,
      10,
    )
    .addOption(new Option('--enable-node-lease [enable]', 'ignored: leases are always kept').hideHelp())
    .option(
      '--full-resync-period <duration>',
      'how often the pods of the provider are listed all the same',
      duration,
      60_000,
    );

const addHttpOptions = (command: Command): Command =>
  command
    .option(
      '--startup-timeout <duration>',
      'how long the node may take to become ready; 0: as long as it takes',
      duration,
      0,
    )
    .option(
      '--stream-idle-timeout <duration>',
      'a stream without a byte for this long is closed',
      duration,
      30_000,
    )
    .option(
      '--stream-creation-timeout <duration>',
      'how long a client has to open its streams',
      duration,
      30_000,
    )
    .option('--trace-exporter <name>', 'send traces by OTLP; the name does not matter', collect, [])
    .option('--trace-service-name <name>', 'name of the service in traces', 'virtual-kubelet')
    .addOption(
      new Option('--trace-tag <key=value>', 'tag of the traces').argParser(collect).default([]).hideHelp(),
    )
    .option(
      '--trace-sample-rate <rate>',
      'always, never, or percents of the requests that are traced',
      sampleRate,
      0,
    )
    .addOption(
      new Option('--log-level <level>', 'least level of the log')
        .choices(['debug', 'info', 'warn', 'error'])
        .default('info'),
    );

const helpText = `
Environment:
  KUBECONFIG, KUBELET_PORT, VKUBELET_POD_IP, DEFAULT_NODE_NAME
  APISERVER_CERT_LOCATION, APISERVER_KEY_LOCATION, APISERVER_CA_CERT_LOCATION
  VKUBELET_TAINT_KEY, VKUBELET_TAINT_VALUE, VKUBELET_TAINT_EFFECT
  OTEL_EXPORTER_OTLP_ENDPOINT, OCAGENT_ENDPOINT

Examples:
  podtender vk --provider ./my-provider.mjs --nodename rooms
  podtender vk --provider mock --provider-config mock.json --nodename vkubelet-mock-0
`;

const collect = (value: string, before: readonly string[]): readonly string[] => [...before, value];

function operatingSystem(text: string): string {
  const system = text.toLowerCase();
  if (system === 'linux' || system === 'windows') return system;
  throw new InvalidArgumentError(`operating system "${text}" is not supported: linux or windows`);
}

function count(text: string): number {
  const number = Number(text);
  if (Number.isInteger(number) && number > 0) return number;
  throw new InvalidArgumentError('a whole number above 0 is wanted');
}

/** ms of a duration as Go writes it. */
function duration(text: string): number {
  const nanos = parseDuration(text);
  if (typeof nanos === 'string' || nanos < 0n)
    throw new InvalidArgumentError('a duration such as 30s or 1m30s is wanted');
  return Number(nanos) / 1e6;
}

/** Samples of a million. */
function sampleRate(text: string): number {
  if (text === 'always') return 1_000_000;
  if (text === 'never' || text === '') return 0;
  const percent = Number(text);
  if (Number.isFinite(percent) && percent >= 0 && percent <= 100) return Math.round(percent * 10_000);
  throw new InvalidArgumentError('always, never or a number from 0 to 100 is wanted');
}

/** Flags of klog are taken and ignored, with or without a value of their own; everything else is a mistake. */
function refuseUnknown(args: readonly string[]): void {
  for (let at = 0; at < args.length; at++) {
    const arg = args[at] ?? '';
    if (!arg.startsWith('--klog.'))
      throw new InvalidArgumentError(`unknown argument ${arg}: podtender vk --help tells what there is`);
    if (!arg.includes('=') && args[at + 1]?.startsWith('-') === false) at++;
  }
}

const effects = ['NoSchedule', 'NoExecute', 'PreferNoSchedule'];

function taintOf(raw: Raw, { env }: Surroundings, provider: string): VirtualKubeletOptions['taint'] {
  if (raw['disableTaint'] === true) return undefined;
  const effect = env['VKUBELET_TAINT_EFFECT'] ?? 'NoSchedule';
  if (!effects.includes(effect))
    throw new InvalidArgumentError(`taint effect "${effect}" is not supported: ${effects.join(', ')}`);
  const key = env['VKUBELET_TAINT_KEY'] ?? textOf(raw['taint']) ?? 'virtual-kubelet.io/provider';
  return { key, value: env['VKUBELET_TAINT_VALUE'] ?? provider, effect };
}

function portOf({ env }: Surroundings): number {
  const text = env['KUBELET_PORT'] ?? '';
  if (text === '') return 10_250;
  const port = Number(text);
  if (Number.isInteger(port) && port >= 0 && port <= 65_535) return port;
  throw new InvalidArgumentError(`error parsing KUBELET_PORT environment variable: "${text}" is no port`);
}

const textOf = (value: Raw[string]): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined;

/** What is left of a provider's name in a label value. */
const labelOf = (provider: string): string =>
  (provider.split(/[/\\]/).at(-1) ?? provider).replace(/\.[cm]?[jt]s$/, '').replace(/[^-._A-Za-z0-9]/g, '-');

function optionsOf(raw: Raw, around: Surroundings): VirtualKubeletOptions {
  const { env, cwd } = around;
  const provider = String(raw['provider']);
  const taint = taintOf(raw, around, labelOf(provider));
  const file = (value: string | undefined): string | undefined => (value ? resolve(cwd, value) : undefined);
  const [kubeconfig, providerConfig] = [file(textOf(raw['kubeconfig'])), file(textOf(raw['providerConfig']))];
  const [certFile, keyFile, caFile] = ['CERT', 'KEY', 'CA_CERT'].map((name) =>
    file(env[`APISERVER_${name}_LOCATION`]),
  );
  const metricsAddr = textOf(raw['metricsAddr']);
  const exporters = raw['traceExporter'] as readonly string[];
  const endpoint = env['OTEL_EXPORTER_OTLP_ENDPOINT'] ?? env['OCAGENT_ENDPOINT'];
  const podIP = env['VKUBELET_POD_IP'];
  return {
    cwd,
    nodeName: String(raw['nodename']),
    operatingSystem: String(raw['os']),
    provider,
    clusterDomain: String(raw['clusterDomain']),
    port: portOf(around),
    podSyncWorkers: Number(raw['podSyncWorkers']),
    fullResyncPeriodMs: Number(raw['fullResyncPeriod']),
    startupTimeoutMs: Number(raw['startupTimeout']),
    streamIdleTimeoutMs: Number(raw['streamIdleTimeout']),
    streamCreationTimeoutMs: Number(raw['streamCreationTimeout']),
    logLevel: String(raw['logLevel']) as VirtualKubeletOptions['logLevel'],
    version: around.version,
    ...defined({ kubeconfig, providerConfig, metricsAddr, taint, certFile, keyFile, caFile }),
    ...(podIP !== undefined && podIP !== '' && { podIP }),
    ...(exporters.length > 0 && {
      trace: {
        serviceName: String(raw['traceServiceName']),
        ...(endpoint !== undefined && { endpoint }),
        samplesPerMillion: Number(raw['traceSampleRate']),
      },
    }),
  };
}

const defined = <T extends object>(members: T): { [K in keyof T]?: Exclude<T[K], undefined> } =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as never;
