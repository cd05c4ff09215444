import { systemClock as clock } from '../base/clock.ts';
import { AgentError } from '../base/errors.ts';
import { systemRandom as random } from '../base/random.ts';
import { nodesOfShard } from '../simulate/node-names.ts';
import { type RunningShard, Sharder } from '../simulate/shards/sharder.ts';
import { sumOfStates } from '../simulate/simulation-metrics.ts';
import { type LaunchDeps, launch, type Launched, type LaunchedPart } from './simulate-launch.ts';
import { serveMetrics } from './simulate-metrics.ts';
import type { SimulateOptions } from './simulate-options.ts';

/** Runs the parts of the nodes that belong to this process, as processes come and go. */
export function launchShards(options: SimulateOptions, deps: LaunchDeps): Launched {
  const { shards = 1, shardLeaseMs: leaseMs, nodePrefix: group, metricsPort } = options;
  if (options.kubeletPort !== 0)
    throw new AgentError(
      'invalid_argument',
      '--kubelet-port: a process may run several shards, each with a port of its own: use 0',
    );
  const parts = new Map<number, LaunchedPart>();
  const failure = Promise.withResolvers<Error>();
  const start = async (shard: number): Promise<RunningShard> => {
    const stop = new AbortController();
    const signal = AbortSignal.any([stop.signal, deps.signal]);
    const nodes = nodesOfShard(shard, shards, options.nodes);
    const part = await launch(options, { ...deps, signal }, { ...nodes, isFirst: shard === 0 });
    void part.failed.then(failure.resolve);
    parts.set(shard, part);
    return {
      close: async () => {
        stop.abort();
        parts.delete(shard);
        await part.close();
      },
    };
  };
  const { client, logger, signal } = deps;
  const sharder = new Sharder(
    { group, identity: random.hex(5), shards, leaseMs },
    { client, clock, random, logger, start },
  );
  const running = sharder.run(signal);
  const state = (): ReturnType<typeof sumOfStates> =>
    sumOfStates([...parts.values()].map((part) => part.state()));
  const server =
    metricsPort === undefined
      ? undefined
      : serveMetrics(
          { state, objects: () => [...parts.values()].map(({ metrics }) => metrics) },
          metricsPort,
        );
  return {
    state,
    failed: failure.promise,
    close: async () => {
      await running;
      server?.close();
    },
  };
}
