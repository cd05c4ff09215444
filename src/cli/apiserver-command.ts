import { type Command, InvalidArgumentError, Option } from 'commander';
import { isIP } from 'node:net';
import { join, resolve } from 'node:path';
import type { ApiServerOptions } from '../app/apiserver.ts';
import { commaList, controllersHelp, entriesOf } from './arguments.ts';
import { agentFields, type LogFormat, type LogLevel } from '../options/agent/fields.ts';

/** What the command line of `podtender apiserver` says. */
export interface ApiServerArguments extends ApiServerOptions {
  readonly output: 'text' | 'json';
}

type Raw = Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>;

/** Adds `podtender apiserver`. */
export function addApiServer(
  program: Command,
  cwd: string,
  act: (options: ApiServerArguments) => Promise<void>,
): void {
  const command = program
    .command('apiserver')
    .description('Run an API server without nodes: a test environment for controllers in any language.')
    .option('--port <port>', 'port; 0: any free one', port, 0)
    .option('--host <address>', 'address to listen on; 0.0.0.0: all', '127.0.0.1')
    .option(
      '--advertise-address <ip>',
      'address in the endpoints of default/kubernetes; a loopback one: none; default: one of this machine',
      ipAddress,
    )
    .option('--memory', 'keep objects in memory (the default)', false)
    .option('--data-dir <dir>', 'directory of objects and keys; they survive a restart')
    .option(
      '--kubeconfig <file>',
      "where to write the administrator's kubeconfig; default: in the data directory, or a temporary file",
    )
    .option('--crds <path>', 'file or folder of CustomResourceDefinitions; repeatable', collect, [])
    .option('--controllers <list>', controllersHelp, commaList, [])
    .option('--disable-admission-plugins <list>', 'names of admission plug-ins; repeatable', commaList, [])
    .option('--audit <file>', 'append an audit event (audit.k8s.io/v1) a line; -: standard output')
    .option(
      '--audit-policy-file <file>',
      'Policy (audit.k8s.io/v1) that says what --audit holds; default: each answered request at the level Metadata',
    )
    .option(
      '--tls-san <name>',
      "host name or address for the server's certificate; repeatable",
      commaList,
      [],
    );
  addAuthorization(command);
  addOutput(command)
    .helpOption('-h, --help', 'print this help')
    .addHelpText('after', helpText)
    .action(async (raw: Raw, self: Command) => {
      if (raw['memory'] === true && raw['dataDir'] !== undefined)
        self.error('error: --memory and --data-dir exclude each other');
      await act(optionsOf(raw, cwd));
    });
}

/** Adds the flags that say who may do what. */
function addAuthorization(command: Command): void {
  command
    .option(
      '--authorization-mode <list>',
      'who may do what: AlwaysAllow, AlwaysDeny, ABAC, Webhook, RBAC, Node, in the order in which they are asked; default: Node,RBAC',
      commaList,
      [],
    )
    .option('--authorization-policy-file <file>', 'policies of the mode ABAC, a JSON object a line')
    .option(
      '--authorization-webhook-config-file <file>',
      'kubeconfig of the service that the mode Webhook asks',
    )
    .option('--authorization-webhook-version <version>', 'its SubjectAccessReviews: v1 or v1beta1', 'v1')
    .option('--authorization-webhook-cache-authorized-ttl <duration>', 'how long it is not asked again', '5m')
    .option(
      '--authorization-webhook-cache-unauthorized-ttl <duration>',
      'how long it is not asked again about what it has not allowed',
      '30s',
    );
}

/** Adds `podtender envtest-assets`. */
export function addEnvtestAssets(program: Command, cwd: string, act: (dir: string) => Promise<void>): void {
  program
    .command('envtest-assets')
    .description('Write launchers named kube-apiserver, etcd and kubectl, for KUBEBUILDER_ASSETS.')
    .argument('<dir>', 'directory of the launchers; created if needed')
    .helpOption('-h, --help', 'print this help')
    .addHelpText(
      'after',
      `
Examples:
  podtender envtest-assets ./bin/k8s && KUBEBUILDER_ASSETS=$PWD/bin/k8s go test ./...
`,
    )
    .action(async (dir: string) => {
      await act(resolve(cwd, dir));
    });
}

const addOutput = (command: Command): Command =>
  command
    .addOption(new Option('--output <form>', 'text or json').choices(['text', 'json']).default('text'))
    .addOption(
      new Option('--log-level <level>', 'log level; the log goes to stderr')
        .choices(agentFields.logLevel.values ?? [])
        .default(agentFields.logLevel.default),
    )
    .addOption(
      new Option('--log-format <form>', 'text, or one JSON object a line')
        .choices(agentFields.logFormat.values ?? [])
        .default(agentFields.logFormat.default),
    );

const helpText = `
Prints a line with the server's URL once it answers, and runs until SIGINT or SIGTERM.

Examples:
  podtender apiserver --kubeconfig /tmp/kubeconfig --crds ./config/crd/bases
  podtender apiserver --port 6443 --data-dir ./cluster --audit audit.log
  podtender apiserver --controllers '*,-namespace-controller' --disable-admission-plugins ServiceAccount
`;

function optionsOf(raw: Raw, cwd: string): ApiServerArguments {
  const path = (name: string): string | undefined => {
    const value = raw[name];
    return typeof value === 'string' ? resolve(cwd, value) : undefined;
  };
  const list = (name: string): readonly string[] => (raw[name] as readonly string[] | undefined) ?? [];
  const [dataDir, kubeconfig] = [path('dataDir'), path('kubeconfig')];
  const auditPolicyFile = path('auditPolicyFile');
  const advertiseAddress = raw['advertiseAddress'] as string | undefined;
  const audit = raw['audit'] === '-' ? '-' : path('audit');
  return {
    port: Number(raw['port']),
    host: String(raw['host']),
    ...(advertiseAddress !== undefined && { advertiseAddress }),
    ...(dataDir !== undefined && { dataDir }),
    ...(kubeconfig !== undefined && { kubeconfig }),
    ...(audit !== undefined && { audit }),
    ...(auditPolicyFile !== undefined && { auditPolicyFile }),
    crds: list('crds').map((one) => join(resolve(cwd, one))),
    controllers: entriesOf(raw['controllers'], ['*']),
    disableAdmissionPlugins: list('disableAdmissionPlugins'),
    authorization: authorizationOf(raw, path),
    tlsSans: list('tlsSan'),
    output: raw['output'] === 'json' ? 'json' : 'text',
    logLevel: raw['logLevel'] as LogLevel,
    logFormat: raw['logFormat'] as LogFormat,
  };
}

const authorizationOf = (
  raw: Raw,
  path: (name: string) => string | undefined,
): ApiServerOptions['authorization'] => ({
  modes: entriesOf(raw['authorizationMode'], ['Node', 'RBAC']),
  policyFile: path('authorizationPolicyFile'),
  webhookConfigFile: path('authorizationWebhookConfigFile'),
  webhookVersion: String(raw['authorizationWebhookVersion']),
  authorizedTtl: String(raw['authorizationWebhookCacheAuthorizedTtl']),
  unauthorizedTtl: String(raw['authorizationWebhookCacheUnauthorizedTtl']),
});

const collect = (value: string, before: readonly string[]): readonly string[] => [...before, value];

function port(text: string): number {
  const value = Number(text);
  if (/^\d+$/.test(text) && value <= 65_535) return value;
  throw new InvalidArgumentError('it must be a number from 0 to 65535.');
}

function ipAddress(text: string): string {
  if (isIP(text) > 0) return text;
  throw new InvalidArgumentError('it must be an IP address.');
}
