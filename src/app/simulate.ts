import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { type LeveledLogger, pinoLogger } from '../agent/logger.ts';
import { apiReviews } from '../agent/server-host.ts';
import { connectionFromKubeconfig } from '../api/kubeconfig/kube-client.ts';
import type { ApiConnection } from '../api/rest/connection.ts';
import { createApiClient, type HttpApiClient } from '../api/rest/http-client.ts';
import type { EmbeddedApiServer } from '../apiserver/index.ts';
import { systemClock } from '../base/clock.ts';
import { AgentError, messageOf } from '../base/errors.ts';
import type { KeyPair } from '../pki/certificates.ts';
import { webhookAccess } from '../server/kubelet-server.ts';
import { ClusterAnswers } from '../simulate/cluster-answers.ts';
import { type Fault, faultsOf, runFaults } from '../simulate/faults.ts';
import { KubeletFront } from '../simulate/kubelet-front.ts';
import { createLoad } from '../simulate/load.ts';
import { loopbackAddress, nodeNames } from '../simulate/node-names.ts';
import { Simulation } from '../simulate/simulation.ts';
import { KeyedRandom } from '../simulate/keyed-random.ts';
import { SimulatedUsages } from '../simulate/simulated-usages.ts';
import { defineKinds } from '../simulate/stages/definitions.ts';
import { objectsOfSources } from '../simulate/stages/objects.ts';
import { resourceFinder } from '../simulate/stages/resource-finder.ts';
import { withPlayedPods } from '../simulate/stages/played-host.ts';
import { StageWorld, type StageWorldDeps } from '../simulate/stages/stage-world.ts';
import type { SimulationCounts } from '../simulate/tally.ts';
import { ImpersonatingClients } from './impersonating-clients.ts';
import { portError } from './ports.ts';
import { serveMetrics } from './simulate-metrics.ts';
import type { LogLevel, StartContext } from './running.ts';

const clock = systemClock;

/** Command line options of `podtender simulate`. */
export interface SimulateOptions {
  readonly nodes: number;
  readonly podsPerNode: number;
  /** The cluster to join; absent: an embedded API server. */
  readonly kubeconfig?: string;
  /** Names of stage sets, and files or directories of `kwok.x-k8s.io` objects. */
  readonly stages: readonly string[];
  readonly seed: string;
  /** A schedule of faults. */
  readonly faults?: string;
  /** Ends the simulation after this time, ms; absent: a signal does. */
  readonly forMs?: number;
  readonly output: 'text' | 'json';
  /** Directory of the embedded server's objects and kubeconfig; absent: nothing is kept. */
  readonly dataDir?: string;
  /** Port of the embedded API server; 0: any free one. */
  readonly port: number;
  /** Prefix of the nodes' names. */
  readonly nodePrefix: string;
  /** Namespace of the pods that are created. */
  readonly namespace: string;
  /** Address of the nodes' kubelet APIs; absent: one of each node on this machine, or the machine's own. */
  readonly address?: string;
  /** Port of the nodes' kubelet APIs; 0: any free one. */
  readonly kubeletPort: number;
  /** Port of the metrics on 127.0.0.1; absent: not served. */
  readonly metricsPort?: number;
  readonly logLevel: LogLevel;
}

/** A running simulation, for the command. */
export interface RunningSimulation {
  /** The kubeconfig of the embedded API server; absent when the simulation joined a cluster. */
  readonly kubeconfigPath?: string;
  readonly serverUrl: string;
  counts(): SimulationCounts;
  /** What this process has used so far. */
  usage(): { readonly cpuSeconds: number; readonly rssMiB: number };
  /** Resolves with the reason when it ends by itself. */
  readonly failed: Promise<Error>;
  close(): Promise<void>;
}

/** The API server of a simulation. */
interface Cluster {
  readonly connection: ApiConnection;
  readonly kubeconfigPath?: string;
  /** Whether the API server belongs to this simulation. */
  readonly isOwn: boolean;
  /** Whether the API server reaches addresses of the loopback interface. */
  readonly isLocal: boolean;
  /** The serving certificate of the kubelet APIs; absent: self-signed. */
  readonly tls?: KeyPair;
  close(): Promise<void>;
}

/**
 * Starts the nodes of `podtender simulate`, and an embedded API server unless they join a cluster. Resolves when the API server answers; the
 * nodes register and the pods are created afterwards.
 *
 * @throws {AgentError} what is wrong with the settings
 */
export async function startSimulation(
  options: SimulateOptions,
  { logTo }: Pick<StartContext, 'logTo'>,
): Promise<RunningSimulation> {
  const logger = pinoLogger(options.logLevel, logTo && { write: (line) => void logTo.write(line) }, 'text');
  const cluster = await (options.kubeconfig === undefined
    ? embedded(options, logger)
    : joined(options.kubeconfig));
  const client = createApiClient(cluster.connection, { clock, logger, qps: 0, connections: 32 });
  const users = new ImpersonatingClients(cluster.connection, { clock, logger, qps: 0 });
  const stop = new AbortController();
  try {
    const parts = await launch(options, { cluster, client, users, logger, signal: stop.signal });
    return {
      serverUrl: cluster.connection.server,
      ...(cluster.kubeconfigPath !== undefined && { kubeconfigPath: cluster.kubeconfigPath }),
      counts: () => parts.simulation.counts,
      usage: usageOfProcess,
      failed: parts.failed,
      close: async () => {
        stop.abort();
        await parts.close();
        await Promise.all([client.close(), users.close()]);
        await cluster.close();
      },
    };
  } catch (reason) {
    stop.abort();
    await client.close();
    await cluster.close();
    throw reason;
  }
}

interface LaunchDeps {
  readonly cluster: Cluster;
  readonly client: HttpApiClient;
  readonly users: ImpersonatingClients;
  readonly logger: LeveledLogger;
  readonly signal: AbortSignal;
}

interface Launched {
  readonly simulation: Simulation;
  readonly failed: Promise<Error>;
  close(): Promise<void>;
}

async function launch(options: SimulateOptions, deps: LaunchDeps): Promise<Launched> {
  const { cluster, client, logger, signal } = deps;
  const nodes = nodeNames(options.nodePrefix, options.nodes);
  const address = options.address ?? (cluster.isLocal ? undefined : machineAddress());
  const kubeletPort = (): number => front.port;
  const objects = objectsOfSources(options.stages);
  const stages = stageWorld(options, deps, { objects, kubeletPort });
  const { isPlayed } = stages;
  const usages = new SimulatedUsages({
    ...{ clock, logger, objects: () => stages.answers, nodeNames: nodes, seed: options.seed },
    simulation: () => simulation,
  });
  usages.metrics.check(objects);
  const answers = new ClusterAnswers(clock, () => stages.answers, usages.usage);
  if (cluster.isOwn) await defineKinds(client);
  const simulation: Simulation = new Simulation({
    ...{ client, clock, logger, nodes, seed: options.seed, kubeletPort, isPlayed, answers },
    addressOf: (index) => address ?? loopbackAddress(index),
    capacity: { pods: String(Math.max(defaultPods, options.podsPerNode)) },
  });
  const { ca } = cluster.connection;
  const front: KubeletFront = new KubeletFront({
    ...{ clock, logger, nodes: simulation },
    extend: (host, node) => withPlayedPods(host, simulation.playedPodsOf(node.name)),
    address: '0.0.0.0',
    port: options.kubeletPort,
    ...(cluster.tls && { tls: cluster.tls }),
    ...(ca !== undefined && { clientCa: String(ca) }),
    ...webhookAccess(apiReviews(client), clock),
  });
  await front.listen().catch((reason: unknown) => {
    throw portError(reason, () => '--kubelet-port');
  });
  const metrics =
    options.metricsPort === undefined
      ? undefined
      : serveMetrics(simulation, usages.metrics, options.metricsPort);
  const faults = options.faults === undefined ? [] : faultsOfFile(options.faults);
  const schedule = { clock, logger, chance: simulation.chance, target: simulation, nodes };
  const registered = simulation.registered(signal);
  void registered.then(() => runFaults(faults, schedule, signal)).catch(() => undefined);
  const running = Promise.all([simulation.run(signal), stages.run(simulation, signal)]);
  const load = registered.then(() =>
    createLoad({ ...loadOptions(options), client, clock, logger, nodes }, signal),
  );
  load.catch(() => undefined);
  return {
    simulation,
    failed: failureOf(running, signal),
    close: async () => {
      await Promise.allSettled([running, load]);
      metrics?.close();
      await front.close();
    },
  };
}

/** Returns what plays the stages of the command line and of the cluster. */
const stageWorld = (
  { seed }: SimulateOptions,
  { cluster, client, users, logger }: LaunchDeps,
  parts: Pick<StageWorldDeps, 'objects' | 'kubeletPort'>,
): StageWorld =>
  new StageWorld({
    ...{ client, clock, logger, ...parts },
    random: new KeyedRandom(seed).of('expressions'),
    findResource: resourceFinder(client),
    clientOf: (username) => users.of(username),
    followsAnswers: cluster.isOwn,
  });

/** Pods that a node takes at least, as the kubelet's `maxPods`. */
const defaultPods = 110;

const loadOptions = ({
  podsPerNode,
  namespace,
}: SimulateOptions): Omit<Parameters<typeof createLoad>[0], 'client' | 'clock' | 'logger' | 'nodes'> => ({
  podsPerNode,
  namespace,
  image: 'registry.k8s.io/pause:3.10',
});

function faultsOfFile(file: string): readonly Fault[] {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (cause) {
    throw new AgentError('invalid_argument', `--faults ${file}: ${messageOf(cause)}`, { cause });
  }
  return faultsOf(text, file);
}

async function embedded({ dataDir, port }: SimulateOptions, logger: LeveledLogger): Promise<Cluster> {
  const { EmbeddedApiServer: ApiServer } = await import('../apiserver/index.ts');
  const folder = dataDir ?? mkdtempSync(join(tmpdir(), 'podtender-simulate-'));
  mkdirSync(folder, { recursive: true });
  const server = await ApiServer.start({
    ...(dataDir !== undefined && { dataDir: join(dataDir, 'apiserver') }),
    ...{ port, logger, metricsApi: true, kubernetesService: false },
  }).catch((reason: unknown) => {
    throw portError(reason, () => '--port');
  });
  const kubeconfigPath = join(folder, 'kubeconfig');
  writeFileSync(kubeconfigPath, server.kubeconfig(), { mode: 0o600 });
  chmodSync(kubeconfigPath, 0o600); // also for an existing file
  return {
    connection: { server: server.url, ca: server.ca, ...server.admin },
    kubeconfigPath,
    ...{ isOwn: true, isLocal: true },
    tls: servingPair(server),
    close: async () => {
      await server.stop();
      if (dataDir === undefined) rmSync(folder, { recursive: true, force: true });
    },
  };
}

const servingPair = (server: EmbeddedApiServer): KeyPair =>
  server.servingCertificate('system:node:podtender-simulate', ['localhost', '127.0.0.1']);

async function joined(kubeconfig: string): Promise<Cluster> {
  const connection = await connectionFromKubeconfig(clock, kubeconfig);
  return { connection, isOwn: false, isLocal: isLoopback(connection.server), close: () => Promise.resolve() };
}

/** Whether the API server of this URL runs on this machine, so that it reaches the addresses of the loopback interface. */
function isLoopback(server: string): boolean {
  const { hostname } = new URL(server);
  return hostname === 'localhost' || hostname === '[::1]' || hostname.startsWith('127.');
}

/** Returns the machine's first address that is not of the loopback interface. */
function machineAddress(): string {
  const found = Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .find(({ internal, family }) => !internal && family === 'IPv4');
  if (found) return found.address;
  throw new AgentError(
    'failed_precondition',
    'this machine has no IPv4 address: set one with --address at which the API server reaches the nodes',
  );
}

function usageOfProcess(): { readonly cpuSeconds: number; readonly rssMiB: number } {
  const { user, system } = process.cpuUsage();
  const { rss } = process.memoryUsage();
  return { cpuSeconds: (user + system) / 1e6, rssMiB: rss / 2 ** 20 };
}

/** Resolves when the simulation ends without being stopped. */
function failureOf(running: Promise<unknown>, stop: AbortSignal): Promise<Error> {
  return new Promise((resolve) => {
    running.then(
      () => {
        if (!stop.aborted) resolve(new AgentError('internal', 'the simulation ended by itself'));
      },
      (reason: unknown) => {
        if (!stop.aborted) resolve(AgentError.from(reason));
      },
    );
  });
}
