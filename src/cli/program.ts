import { Command, CommanderError, Option } from 'commander';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { existsSync } from 'node:fs';
import { definedMembers } from '../base/members-of.ts';
import { agentFields } from '../options/agent/fields.ts';
import { commaList, controllersHelp, entriesOf, examples, port, settingsOf, url } from './arguments.ts';
import type { ConformanceOptions } from './conformance.ts';
import { addApiServer, addEnvtestAssets, type ApiServerArguments } from './apiserver-command.ts';
import { addControllerCommands } from './controller-commands.ts';
import { exitCodes } from './exit-codes.ts';
import { addImage, type ImageArguments } from './image-command.ts';
import { addNewProvider } from './new-provider-command.ts';
import { addSimulate } from './simulate-command.ts';
import { addVirtualKubelet } from './virtual-kubelet-command.ts';
import type { LogFormat, LogLevel, RunOptions, UpOptions } from '../app/running.ts';
import type { GenerateTypesOptions } from '../app/generate-types.ts';
import type { NewControllerOptions } from '../app/new-controller.ts';
import type { NewProviderOptions } from '../app/new-provider.ts';
import type { SimulateOptions } from '../app/simulate-options.ts';
import type { VirtualKubeletOptions } from '../app/virtual-kubelet.ts';

/** The subcommands; each is loaded on demand, since start-up time counts. They return the exit code. */
export interface Commands {
  up(options: UpOptions): Promise<number>;
  run(options: RunOptions): Promise<number>;
  /** @param provider whose refusals are reported too */
  validate(files: readonly string[], provider?: string): Promise<number>;
  explain(options: ExplainOptions): Promise<number>;
  virtualKubelet(options: VirtualKubeletOptions): Promise<number>;
  simulate(options: SimulateOptions): Promise<number>;
  newProvider(options: NewProviderOptions): Promise<number>;
  newController(options: NewControllerOptions): Promise<number>;
  generateTypes(options: GenerateTypesOptions): Promise<number>;
  conformance(options: ConformanceOptions): Promise<number>;
  apiserver(options: ApiServerArguments): Promise<number>;
  image(options: ImageArguments): Promise<number>;
  /** Writes launchers into a directory. */
  envtestAssets(dir: string): Promise<number>;
  /** Runs as kube-apiserver or etcd, with their flags. */
  launch(name: LauncherName, args: readonly string[]): Promise<number>;
}

/** Programs that podtender stands in for. */
export type LauncherName = 'kube-apiserver' | 'etcd';

const isLauncher = (word: string | undefined): word is LauncherName =>
  word === 'kube-apiserver' || word === 'etcd';

/** The port of the API server of `podtender up` without `--port`. */
export const defaultApiPort = 16443;

/** Command line options of `podtender explain`. */
export interface ExplainOptions {
  readonly config?: string;
  readonly dataDir?: string;
  /** Whether the data directory is set by its flag; otherwise it comes from the environment or the default. */
  readonly isDataDirSet?: boolean;
  readonly manifests?: string;
  readonly manifestUrl?: string;
  readonly nodeName?: string;
  /** Kubelet flags, and the path of the settings to print. */
  readonly rest: readonly string[];
  readonly output: 'text' | 'json';
}

/** The parts of the process that the command line reads. */
export interface Surroundings {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  /** Directory of the example manifests in the package. */
  readonly exampleManifests: string;
  readonly uid: number;
  readonly version: string;
  /** Writes a line about the command line to stderr. */
  readonly warn?: (line: string) => void;
}

/** Returns the command line parser of podtender. Parsing calls one of `commands` and passes its exit code to `done`. */
export function makeProgram(commands: Commands, around: Surroundings, done: (code: number) => void): Command {
  const program = new Command('podtender')
    .description("The kubelet's pod lifecycle as a node agent, with or without a cluster.")
    .version(around.version, '--version', 'print the version')
    .helpOption('-h, --help', 'print this help')
    .helpCommand(false)
    .showHelpAfterError('(see podtender COMMAND --help)')
    .exitOverride()
    .addHelpText(
      'after',
      examples(['podtender up', 'podtender run --kubeconfig ~/.kube/config --node-name worker-1']),
    );
  addUp(program, around, async (options) => {
    done(await commands.up(options));
  });
  addRun(program, around, async (options) => {
    done(await commands.run(options));
  });
  addValidate(program, async (files, provider) => {
    done(await commands.validate(files, provider));
  });
  addExplain(program, around, async (options) => {
    done(await commands.explain(options));
  });
  addNewProvider(program, around, async (options) => {
    done(await commands.newProvider(options));
  });
  addControllerCommands(program, around, {
    newController: async (options) => {
      done(await commands.newController(options));
    },
    generateTypes: async (options) => {
      done(await commands.generateTypes(options));
    },
  });
  addVirtualKubelet(program, around, async (options) => {
    done(await commands.virtualKubelet(options));
  });
  addSimulate(program, around, async (options) => {
    done(await commands.simulate(options));
  });
  addConformance(program, around, async (options) => {
    done(await commands.conformance(options));
  });
  addApiServer(program, around.cwd, async (options) => {
    done(await commands.apiserver(options));
  });
  addImage(program, { cwd: around.cwd, dataDir: defaultDataDir(around) }, async (options) => {
    done(await commands.image(options));
  });
  addEnvtestAssets(program, around.cwd, async (dir) => {
    done(await commands.envtestAssets(dir));
  });
  return program;
}

/** Runs one command line and returns the exit code. */
export async function runProgram(
  args: readonly string[],
  commands: Commands,
  around: Surroundings,
): Promise<number> {
  const [first, ...rest] = args;
  if (isLauncher(first)) return commands.launch(first, rest);
  let code: number = exitCodes.ok;
  const program = makeProgram(commands, around, (exitCode) => {
    code = exitCode;
  });
  try {
    await program.parseAsync(await expanded(args, around), { from: 'user' });
    return code;
  } catch (reason) {
    if (!(reason instanceof CommanderError)) throw reason;
    return reason.exitCode === 0 ? exitCodes.ok : exitCodes.invalid;
  }
}

/** Replaces `--kuscia-config FILE` by the flags that the file stands for. */
async function expanded(args: readonly string[], { cwd, warn }: Surroundings): Promise<readonly string[]> {
  if (!args.some((word) => word.startsWith('--kuscia-config'))) return args;
  const { withKusciaConfig } = await import('../app/kuscia-config.ts');
  const { args: words, notes } = withKusciaConfig(args, cwd);
  for (const note of notes) warn?.(note);
  return words;
}

/** Returns the default data directory: the system's for root, the user's own otherwise. */
export function defaultDataDir({ env, uid }: Pick<Surroundings, 'env' | 'uid'>): string {
  if (env['PODTENDER_DATA_DIR']) return env['PODTENDER_DATA_DIR'];
  if (uid === 0) return '/var/lib/podtender';
  return join(env['XDG_STATE_HOME'] ?? join(homedir(), '.local/state'), 'podtender');
}

type Raw = Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>;

/** Returns an option with the choices and the default of its setting. */
const ofField = (name: 'output', flags: string, about: string): Option =>
  new Option(flags, about).choices(agentFields[name].values ?? []).default(agentFields[name].default);

function addShared(command: Command, around: Surroundings): Command {
  return command
    .option('--data-dir <dir>', 'directory of state', defaultDataDir(around))
    .option('--manifests <path>', 'directory or file of static pods')
    .option('--manifest-url <url>', 'URL of static pods', url)
    .option(
      '--provider <name>',
      'provider that runs the containers: process, oci, memory, cri, eci, kubernetes, or a module with a provider (a file such as ./provider.mjs, or a package)',
      agentFields.provider.default as string,
    )
    .option('--provider-config <file>', 'settings of the provider (eci, kubernetes: TOML, YAML or JSON)')
    .option(
      '--middleware <file>',
      'hooks on the way of pods: the name of one that ships (NAME or NAME={settings}), a settings file (YAML, JSON) or a module; may be repeated, the order counts',
      (value: string, before?: readonly string[]) => [...(before ?? []), value],
    )
    .option(
      '--image-registries <file>',
      'registries of images and their credentials: member registry of a YAML or JSON file, with default and allows',
    )
    .option(
      '--kuscia-config <file>',
      "configuration of kuscia's agent: stands for the flags that mean the same",
    )
    .option('--node-name <name>', "name of the node; default: $NODE_NAME, or this machine's")
    .addOption(
      ofField('output', '--output <form>', 'output format; auto: a table on a terminal, lines elsewhere'),
    )
    .addOption(
      new Option(
        '--log-level <level>',
        `log level; the log goes to stderr, or with up to podtender.log in the data directory (default: ${JSON.stringify(agentFields.logLevel.default)})`,
      ).choices(agentFields.logLevel.values ?? []),
    )
    .addOption(
      new Option(
        '--log-format <form>',
        `log format: text, or one JSON object a line (default: ${JSON.stringify(agentFields.logFormat.default)})`,
      ).choices(agentFields.logFormat.values ?? []),
    )
    .option('--config <file>', 'KubeletConfiguration file (kubelet.config.k8s.io/v1beta1)')
    .usage('[options] [kubelet flags]')
    .helpOption('-h, --help', 'print this help')
    .allowUnknownOption()
    .allowExcessArguments();
}

function addUp(program: Command, around: Surroundings, act: (options: UpOptions) => Promise<void>): void {
  addShared(program.command('up'), around)
    .description('Run an API server and a node on this machine: pods are local processes.')
    .option('--port <port>', 'port of the API server on 127.0.0.1; 0: any free one', port, defaultApiPort)
    .option('--leave-running', 'leave the containers running at the end, for the next start', false)
    .option('--controllers <list>', controllersHelp, commaList, [])
    .addHelpText(
      'after',
      examples([
        'podtender up',
        'podtender up --manifests ./pods --port 0 --output json',
        'podtender up --data-dir /tmp/try --leave-running',
      ]),
    )
    .action(async (raw: Raw, command: Command) => {
      const examples = [join(around.cwd, 'examples/manifests'), around.exampleManifests];
      const manifests = examples.find((folder) => existsSync(folder));
      await act({
        ...shared(raw, around, manifests),
        kubeletFlags: command.args,
        port: Number(raw['port']),
        leaveRunning: raw['leaveRunning'] === true,
        controllers: entriesOf(raw['controllers'], ['*']),
      });
    });
}

function addRun(program: Command, around: Surroundings, act: (options: RunOptions) => Promise<void>): void {
  addShared(program.command('run'), around)
    .description('Join a cluster as a node. Containers keep running when it ends, as with the kubelet.')
    .option(
      '--kubeconfig <file>',
      'kubeconfig of the cluster; default: $KUBECONFIG, or the service account of its own pod',
    )
    .addHelpText(
      'after',
      examples([
        'podtender run --kubeconfig /etc/podtender/kubeconfig --provider cri',
        'podtender run --config /var/lib/kubelet/config.yaml --node-name worker-1 --max-pods=50',
      ]),
    )
    .action(async (raw: Raw, command: Command) => {
      const { kubeconfig } = raw;
      await act({
        ...shared(raw, around, undefined),
        kubeletFlags: command.args,
        ...(typeof kubeconfig === 'string' && { kubeconfig: resolve(around.cwd, kubeconfig) }),
      });
    });
}

function addValidate(
  program: Command,
  act: (files: readonly string[], provider: string | undefined) => Promise<void>,
): void {
  program
    .command('validate')
    .description(
      'Check pod manifests and KubeletConfiguration files: report every fault with its position and what is allowed.',
    )
    .argument('<file...>', 'files or directories to check; - is standard input')
    .option('--provider <name>', 'also report what this provider would reject')
    .helpOption('-h, --help', 'print this help')
    .addHelpText(
      'after',
      examples([
        'podtender validate pod.yaml more-pods.yaml',
        'podtender validate kubelet.yaml',
        'podtender validate --provider process ./manifests',
        'cat kubelet.yaml | podtender validate -',
      ]),
    )
    .action(async (files: string[], raw: Raw) => {
      await act(files, typeof raw['provider'] === 'string' ? raw['provider'] : undefined);
    });
}

function addConformance(
  program: Command,
  around: Surroundings,
  act: (options: ConformanceOptions) => Promise<void>,
): void {
  program
    .command('conformance')
    .description('Check a provider against the laws of pods, one after another.')
    .requiredOption(
      '--provider <name>',
      "memory, process, oci, cri, eci (over a double of the service), kubernetes (over an embedded backing cluster), mock (virtual-kubelet's), or a module with a provider: a file such as ./provider.mjs, or a package",
    )
    .option('--focus <text>', 'only laws with this in their name, area or rule')
    .option('--junit <file>', 'write a JUnit report')
    .option(
      '--real-time',
      'the provider keeps real time; default: it uses the clock that it is made with',
      false,
    )
    .option('--container-runtime-endpoint <url>', 'the runtime of cri. Default: containerd')
    .option(
      '--image <name>',
      "the image of cri, with a shell, pulled if absent (default: busybox), or of oci: an archive (default: this machine's busybox)",
    )
    .addOption(new Option('--output <form>', 'text or json').choices(['text', 'json']).default('text'))
    .helpOption('-h, --help', 'print this help')
    .addHelpText(
      'after',
      examples([
        'podtender conformance --provider memory',
        'podtender conformance --provider cri --image registry.example/busybox:1.36',
        'podtender conformance --provider ./provider.mjs --focus termination --junit report.xml',
      ]),
    )
    .action(async (raw: Raw) => {
      const { provider, focus, junit, output, realTime, containerRuntimeEndpoint: endpoint, image } = raw;
      await act({
        provider: String(provider),
        runtime: {
          ...(typeof endpoint === 'string' && { endpoint }),
          ...(typeof image === 'string' && { image }),
        },
        ...(typeof focus === 'string' && { focus }),
        ...(typeof junit === 'string' && { junit: resolve(around.cwd, junit) }),
        output: output === 'json' ? 'json' : 'text',
        realTime: realTime === true,
      });
    });
}

function addExplain(
  program: Command,
  around: Surroundings,
  act: (options: ExplainOptions) => Promise<void>,
): void {
  program
    .command('explain')
    .description('Print the effective settings and where each came from.')
    .usage('[options] [kubelet flags] [path]')
    .option('--config <file>', 'KubeletConfiguration file (kubelet.config.k8s.io/v1beta1)')
    .option('--data-dir <dir>', 'directory of state', defaultDataDir(around))
    .option('--manifests <path>', 'directory or file of static pods')
    .option('--manifest-url <url>', 'URL of static pods', url)
    .option('--node-name <name>', 'name of the node')
    .addOption(new Option('--output <form>', 'text or json').choices(['text', 'json']).default('text'))
    .helpOption('-h, --help', 'print this help')
    .allowUnknownOption()
    .allowExcessArguments()
    .addHelpText(
      'after',
      examples([
        'podtender explain',
        'podtender explain --config kubelet.yaml --max-pods=20 evictionHard',
        'podtender explain controllers',
      ]),
    )
    .action(async (raw: Raw, command: Command) => {
      const flag = (name: 'dataDir' | 'manifests' | 'manifestUrl' | 'nodeName'): object => {
        const value = raw[name];
        if (typeof value !== 'string') return {};
        return { [name]: name === 'dataDir' || name === 'manifests' ? resolve(around.cwd, value) : value };
      };
      await act({
        ...(typeof raw['config'] === 'string' && { config: raw['config'] }),
        ...flag('dataDir'),
        ...flag('manifests'),
        ...flag('manifestUrl'),
        ...flag('nodeName'),
        isDataDirSet: command.getOptionValueSource('dataDir') === 'cli',
        rest: command.args,
        output: raw['output'] === 'json' ? 'json' : 'text',
      });
    });
}

function shared(
  raw: Raw,
  around: Surroundings,
  manifests: string | undefined,
): Omit<UpOptions, 'port' | 'leaveRunning' | 'controllers' | 'kubeletFlags'> {
  const text = (name: string): string | undefined => {
    const value = raw[name];
    return typeof value === 'string' ? value : undefined;
  };
  const path = (name: string): string | undefined => {
    const value = text(name);
    return value === undefined ? undefined : resolve(around.cwd, value);
  };
  const pods = path('manifests') ?? manifests;
  const config = path('config');
  const imageRegistries = path('imageRegistries');
  const manifestUrl = text('manifestUrl');
  const nodeName = text('nodeName');
  const providerConfig = settingsOf(text('providerConfig'), around.cwd);
  const { middleware } = raw as { readonly middleware?: readonly string[] };
  const logLevel = text('logLevel');
  const logFormat = text('logFormat');
  return {
    dataDir: path('dataDir') ?? defaultDataDir(around),
    ...definedMembers({
      manifests: pods,
      manifestUrl,
      config,
      nodeName,
      providerConfig,
      imageRegistries,
      middleware,
      logLevel: logLevel as LogLevel | undefined,
      logFormat: logFormat as LogFormat | undefined,
    }),
    provider: text('provider') ?? 'process',
    output: raw['output'] as UpOptions['output'],
  };
}
