import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { intercept } from '../../src/api/interceptor.ts';
import { ResourceClient } from '../../src/api/resource-client.ts';
import { leaseResource, podResource } from '../../src/api/resources.ts';
import { createApiClient, type HttpApiClient } from '../../src/api/rest/http-client.ts';
import { EmbeddedApiServer } from '../../src/apiserver/index.ts';
import { systemClock as clock } from '../../src/base/clock.ts';
import { silentLogger as logger } from '../../src/base/logger.ts';
import type { Lease, Pod } from '../../src/kube/types.ts';
import { createLoad } from '../../src/simulate/load.ts';
import { nodeNames } from '../../src/simulate/node-names.ts';
import { ShardKeeper, shardsLabel } from '../../src/simulate/shards.ts';
import { Simulation } from '../../src/simulate/simulation.ts';

const shards = 4;
const names = nodeNames('node', 8);
const nodesOf = (shard: number): readonly string[] => names.filter((_, index) => index % shards === shard);

let server: EmbeddedApiServer;
let client: HttpApiClient;
let pods: ResourceClient<Pod>;
let leases: ResourceClient<Lease>;
const group = 'test';

/** A process of the simulation: its part of the nodes, with a client whose connection can be cut. */
class Process {
  readonly stop = new AbortController();
  readonly simulation: Simulation;
  readonly keeper: ShardKeeper;
  readonly fresh: number[] = [];
  cut = false;
  readonly #running: Promise<unknown>;

  constructor(identity: string) {
    const own = intercept(client, {
      call: (_call, next) => {
        if (this.cut) throw new Error('cut');
        return next();
      },
    });
    this.simulation = new Simulation({ client: own, clock, logger, nodes: names, startWith: [] });
    const options = {
      client: own,
      clock,
      logger,
      name: group,
      shards,
      identity,
      leaseMs: 3000,
      periodMs: 100,
    };
    this.keeper = new ShardKeeper(options, {
      take: (shard, isNew) => {
        if (isNew) this.fresh.push(shard);
        void this.simulation.take(nodesOf(shard));
      },
      give: (shard) => this.simulation.release(nodesOf(shard)),
    });
    const { signal } = this.stop;
    this.#running = Promise.all([this.simulation.run(signal), this.keeper.run(signal)]);
  }

  async end(): Promise<void> {
    this.stop.abort();
    await this.#running;
  }
}

const processes: Process[] = [];
const start = (identity: string): Process => {
  const process = new Process(identity);
  processes.push(process);
  return process;
};

const until = (what: () => unknown): Promise<void> =>
  vi.waitFor(
    async () => {
      expect(await what()).toBeTruthy();
    },
    { timeout: 20_000, interval: 20 },
  );
const until4 = (held: () => readonly number[], sizes: readonly number[]): Promise<void> =>
  vi.waitFor(
    () => {
      expect(held()).toEqual(sizes);
    },
    { timeout: 20_000, interval: 20 },
  );

beforeAll(async () => {
  server = await EmbeddedApiServer.start();
  client = createApiClient({ server: server.url, ca: server.ca, ...server.admin }, { clock, logger, qps: 0 });
  pods = new ResourceClient<Pod>(client, podResource, 'default');
  leases = new ResourceClient<Lease>(client, leaseResource, 'kube-node-lease');
});

beforeEach(() => {
  processes.length = 0;
});

afterAll(async () => {
  for (const process of processes) await process.end();
  await client.close();
  await server.stop();
});

test('processes divide the nodes; those of a lost process are taken over without a write to unchanged pods', async () => {
  const first = start('a');
  await until4(() => [first.keeper.held.size], [4]);
  expect(first.fresh).toEqual([0, 1, 2, 3]);
  await createLoad(
    { client, clock, logger, nodes: names, podsPerNode: 2, namespace: 'default', image: 'x' },
    first.stop.signal,
  );
  await until(() => first.simulation.counts.podsReady === 16);
  const before = await pods.list();

  // a second process gets half of them
  const second = start('b');
  await until4(() => [first.keeper.held.size, second.keeper.held.size], [2, 2]);
  expect(second.fresh).toEqual([]);
  expect(first.simulation.counts).toEqual({ nodes: 4, nodesReady: 4, pods: 8, podsReady: 8 });
  await until(() => second.simulation.counts.podsReady === 8);

  // the second is lost: its Leases expire; it stops its own nodes before
  second.cut = true;
  await until(() => second.keeper.held.size === 0);
  await until4(() => [first.keeper.held.size], [4]);
  await until(() => first.simulation.counts.podsReady === 16);
  expect(second.simulation.counts.nodes).toBe(0);

  // no pod was written by any of this, and the nodes still run pods
  const versions = ({ items }: typeof before): unknown =>
    items.map(({ metadata }) => [metadata?.name, metadata?.resourceVersion]);
  expect(versions(await pods.list())).toEqual(versions(before));
  const [shard = 0] = [...first.keeper.held];
  const nodeName = nodesOf(shard)[0] ?? '';
  const used = new Set(before.items.map(({ status }) => status?.podIP));
  await pods.create({
    metadata: { name: 'late', namespace: 'default' },
    spec: { nodeName, containers: [{ name: 'app', image: 'x' }] },
  });
  await until(async () => (await pods.get('late')).status?.phase === 'Running');
  expect(used).not.toContain((await pods.get('late')).status?.podIP);
  await pods.delete('late');
  await until(() => first.simulation.counts.pods === 16);

  // it comes back, and ends in order: the other has everything at once
  second.cut = false;
  await until4(() => [first.keeper.held.size, second.keeper.held.size], [2, 2]);
  await second.end();
  await until4(() => [first.keeper.held.size], [4]);
  const { items } = await leases.list({ labelSelector: `${shardsLabel}=${group}` });
  const processLeases = items.filter(({ metadata }) => metadata?.name?.includes('-process-'));
  expect(processLeases.map(({ spec }) => spec?.holderIdentity)).toEqual(['a']);
}, 80_000);
