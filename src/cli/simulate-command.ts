import { type Command, InvalidArgumentError, Option } from 'commander';
import { resolve } from 'node:path';
import type { LogLevel } from '../app/running.ts';
import type { SimulateOptions } from '../app/simulate-options.ts';
import { parseDuration } from '../kube/duration.ts';

type Raw = Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>;

/** Adds `podtender simulate`. */
export function addSimulate(
  program: Command,
  { cwd }: { readonly cwd: string },
  act: (options: SimulateOptions) => Promise<void>,
): void {
  addOptions(program.command('simulate'))
    .description('Run many simulated nodes in one process, with an API server of their own or in a cluster.')
    .helpOption('-h, --help', 'print this help')
    .addHelpText('after', helpText)
    .action(async (raw: Raw) => {
      await act(optionsOf(raw, cwd));
    });
}

const addOptions = (command: Command): Command =>
  command
    .option('--nodes <count>', 'number of nodes', count, 1)
    .option('--pods-per-node <count>', 'number of pods to create on each node', count, 0)
    .option('--kubeconfig <file>', 'kubeconfig of the cluster to join; default: an embedded API server')
    .option(
      '--stages <name...>',
      'stage sets (fast, general, chaos, heartbeat), and files or directories of kwok.x-k8s.io objects',
    )
    .option('--faults <file>', 'schedule of faults: nodes that stop, lose the API server, restart or lie')
    .option('--seed <text>', 'seed of all random choices: a run with the same seed makes the same ones', '0')
    .option('--for <duration>', 'end after this time, for example 20s or 5m; default: at Ctrl-C', duration)
    .addOption(new Option('--output <form>', 'text or json').choices(['text', 'json']).default('text'))
    .option(
      '--data-dir <dir>',
      'directory of the embedded API server and its kubeconfig; default: nothing is kept',
    )
    .option('--port <port>', 'port of the embedded API server; 0: any free one', port, 0)
    .option('--node-prefix <text>', 'prefix of the names of nodes', 'node')
    .option('--namespace <name>', 'namespace of the pods that are created', 'default')
    .option('--address <ip>', "address at which the API server reaches the nodes' kubelet APIs")
    .option('--kubelet-port <port>', "port of the nodes' kubelet APIs; 0: any free one", port, 0)
    .option('--metrics-port <port>', 'port on 127.0.0.1 of metrics for Prometheus; default: not served', port)
    .option('--shards <count>', 'number of parts of the nodes, which processes share', count)
    .option(
      '--shard-lease <duration>',
      'how long the parts of a process that was killed wait for another',
      duration,
      15_000,
    )
    .addOption(
      new Option('--log-level <level>', 'least severe log messages to write to stderr')
        .choices(['debug', 'info', 'warn', 'error'])
        .default('error'),
    );

function optionsOf(raw: Raw, cwd: string): SimulateOptions {
  const text = (name: string): string => String(raw[name]);
  const path = (name: string): object => {
    const value = raw[name];
    return typeof value === 'string' ? { [name]: resolve(cwd, value) } : {};
  };
  const { stages, address, metricsPort } = raw;
  const forMs = raw['for'];
  return {
    nodes: Number(raw['nodes']),
    podsPerNode: Number(raw['podsPerNode']),
    ...path('kubeconfig'),
    ...path('dataDir'),
    ...path('faults'),
    stages: Array.isArray(stages) ? stages.map(String) : [],
    seed: text('seed'),
    ...(typeof forMs === 'number' && { forMs }),
    output: raw['output'] === 'json' ? 'json' : 'text',
    port: Number(raw['port']),
    nodePrefix: text('nodePrefix'),
    namespace: text('namespace'),
    ...(typeof address === 'string' && { address }),
    kubeletPort: Number(raw['kubeletPort']),
    ...(typeof metricsPort === 'number' && { metricsPort }),
    ...(typeof raw['shards'] === 'number' && { shards: Math.max(1, raw['shards']) }),
    shardLeaseMs: Math.max(1000, Number(raw['shardLease'])),
    logLevel: raw['logLevel'] as LogLevel,
  };
}

function count(text: string): number {
  if (/^\d{1,7}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('it must be a whole number, such as 1000.');
}

function port(text: string): number {
  const value = Number(text);
  if (/^\d+$/.test(text) && value <= 65_535) return value;
  throw new InvalidArgumentError('it must be a number from 0 to 65535.');
}

function duration(text: string): number {
  const nanos = parseDuration(text);
  if (typeof nanos === 'bigint' && nanos >= 0n) return Number(nanos / 1_000_000n);
  throw new InvalidArgumentError('it must be a duration such as 20s, 5m or 1h30m.');
}

const helpText = `
Examples:
  podtender simulate --nodes 100 --pods-per-node 10
  podtender simulate --nodes 1000 --pods-per-node 10 --for 60s --output json
  podtender simulate --nodes 50 --kubeconfig ~/.kube/config --stages general ./stages.yaml
`;
