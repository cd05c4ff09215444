import { readFileSync } from 'node:fs';
import type { LeveledLogger } from '../base/pino-logger.ts';
import { apiReviews } from '../agent/server-host.ts';
import type { ApiConnection } from '../api/rest/connection.ts';
import type { HttpApiClient } from '../api/rest/http-client.ts';
import { systemClock } from '../base/clock.ts';
import { AgentError, messageOf } from '../base/errors.ts';
import type { KeyPair } from '../pki/certificates.ts';
import { webhookAccess } from '../server/kubelet-server.ts';
import { ClusterAnswers } from '../simulate/cluster-answers.ts';
import { type Fault, faultsOf, runFaults } from '../simulate/faults.ts';
import { KeyedRandom } from '../simulate/keyed-random.ts';
import { KubeletFront } from '../simulate/kubelet-front.ts';
import { createLoad } from '../simulate/load.ts';
import type { MetricObjects } from '../simulate/metric-objects.ts';
import { loopbackAddress, nodeNames, type NodeRange } from '../simulate/node-names.ts';
import { SimulatedUsages } from '../simulate/simulated-usages.ts';
import type { SimulationState } from '../simulate/simulation-metrics.ts';
import { Simulation } from '../simulate/simulation.ts';
import { objectsOfSources } from '../simulate/stages/objects.ts';
import { withPlayedPods } from '../simulate/stages/played-host.ts';
import { resourceFinder } from '../simulate/stages/resource-finder.ts';
import { StageWorld, type StageWorldDeps } from '../simulate/stages/stage-world.ts';
import type { ImpersonatingClients } from './impersonating-clients.ts';
import { machineAddress } from './own-addresses.ts';
import { portError } from './ports.ts';
import { serveMetrics } from './simulate-metrics.ts';
import type { SimulateOptions } from './simulate-options.ts';

const clock = systemClock;

/** The API server of a simulation. */
export interface Cluster {
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

/** What nodes are launched with. */
export interface LaunchDeps {
  readonly cluster: Cluster;
  readonly client: HttpApiClient;
  readonly users: ImpersonatingClients;
  readonly logger: LeveledLogger;
  readonly signal: AbortSignal;
}

/** Simulated nodes that run. */
export interface Launched {
  state(): SimulationState;
  readonly failed: Promise<Error>;
  close(): Promise<void>;
}

/** The nodes that are launched, by their numbers. */
export interface LaunchedNodes extends NodeRange {
  /** Whether stages for other kinds than Pod and Node are played as well. */
  readonly isFirst: boolean;
}

/** Launched nodes, with the metrics that objects of the cluster define for them. */
export interface LaunchedPart extends Launched {
  readonly metrics: MetricObjects;
}

/** Launches nodes of a simulation: their kubelets, stages, faults and pods. */
export async function launch(
  options: SimulateOptions,
  deps: LaunchDeps,
  { first, count, isFirst }: LaunchedNodes,
): Promise<LaunchedPart> {
  const { cluster, client, logger, signal } = deps;
  const nodes = nodeNames(options.nodePrefix, options.nodes).slice(first, first + count);
  const address = options.address ?? (cluster.isLocal ? undefined : reachableAddress());
  const kubeletPort = (): number => front.port;
  const objects = objectsOfSources(options.stages);
  const stages = stageWorld(options, deps, { objects, kubeletPort, playsOtherKinds: isFirst });
  const { isPlayed } = stages;
  const usages = new SimulatedUsages({
    ...{ clock, logger, objects: () => stages.answers, nodeNames: nodes, seed: options.seed },
    simulation: () => simulation,
  });
  usages.metrics.check(objects);
  const answers = new ClusterAnswers(clock, () => stages.answers, usages.usage);
  const simulation: Simulation = new Simulation({
    ...{ client, clock, logger, nodes, seed: options.seed, kubeletPort, isPlayed, answers },
    part: { first, total: options.nodes },
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
    state: () => simulation,
    metrics: usages.metrics,
    failed: failureOf(running, signal),
    close: async () => {
      await Promise.allSettled([running, load]);
      await front.close();
    },
  };
}

/** Launches all nodes, and serves their metrics. */
export async function launchAll(options: SimulateOptions, deps: LaunchDeps): Promise<Launched> {
  const part = await launch(options, deps, { first: 0, count: options.nodes, isFirst: true });
  const { metricsPort } = options;
  const server =
    metricsPort === undefined
      ? undefined
      : serveMetrics({ state: () => part.state(), objects: () => [part.metrics] }, metricsPort);
  return {
    ...part,
    close: async () => {
      await part.close();
      server?.close();
    },
  };
}

/** Returns what plays the stages of the command line and of the cluster. */
const stageWorld = (
  { seed }: SimulateOptions,
  { cluster, client, users, logger }: LaunchDeps,
  parts: Pick<StageWorldDeps, 'objects' | 'kubeletPort' | 'playsOtherKinds'>,
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

/** Returns the address at which an API server elsewhere reaches the nodes. */
function reachableAddress(): string {
  const address = machineAddress();
  if (address !== undefined) return address;
  throw new AgentError(
    'failed_precondition',
    'this machine has no IPv4 address: set one with --address at which the API server reaches the nodes',
  );
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
