import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { leaseResource } from '../../../src/api/resources.ts';
import { createApiClient, type HttpApiClient } from '../../../src/api/rest/http-client.ts';
import { EmbeddedApiServer } from '../../../src/apiserver/index.ts';
import { systemClock as clock } from '../../../src/base/clock.ts';
import { silentLogger as logger } from '../../../src/base/logger.ts';
import { systemRandom as random } from '../../../src/base/random.ts';
import { Sharder, shardNamespace, shardsOf } from '../../../src/simulate/shards/sharder.ts';

test('members take turns in the order of their names, whoever asks', () => {
  expect(shardsOf('b', ['a', 'b'], 5)).toEqual([1, 3]);
  expect(shardsOf('a', ['b', 'a'], 5)).toEqual([0, 2, 4]);
  expect(shardsOf('a', [], 2)).toEqual([0, 1]);
  expect(shardsOf('c', ['a', 'b', 'c'], 2)).toEqual([]);
});

let server: EmbeddedApiServer;
let client: HttpApiClient;

beforeAll(async () => {
  server = await EmbeddedApiServer.start();
  client = createApiClient({ server: server.url, ca: server.ca, ...server.admin }, { clock, logger, qps: 0 });
});

afterAll(async () => {
  await client.close();
  await server.stop();
});

/** Which process runs each shard, and whether two ever ran one at a time. */
class Board {
  readonly runners = new Map<number, string>();
  clashes = 0;

  join(identity: string): { readonly sharder: Sharder; end(): Promise<void> } {
    const stop = new AbortController();
    const sharder = new Sharder(
      { group: 'board', identity, shards: 4, leaseMs: 1500 },
      {
        ...{ client, clock, logger, random },
        start: (shard) => {
          if (this.runners.has(shard)) this.clashes += 1;
          this.runners.set(shard, identity);
          return Promise.resolve({
            close: () => {
              this.runners.delete(shard);
              return Promise.resolve();
            },
          });
        },
      },
    );
    const running = sharder.run(stop.signal);
    return {
      sharder,
      end: async () => {
        stop.abort();
        await running;
      },
    };
  }
}

test(
  'a process takes all shards, shares them with one that comes, and gets them back when it leaves',
  { timeout: 90_000 },
  async () => {
    const board = new Board();
    const until = (shards: readonly (readonly [number, string])[]): Promise<void> =>
      vi.waitFor(
        () => {
          expect([...board.runners].sort(([a], [b]) => a - b)).toEqual(shards);
        },
        { timeout: 25_000, interval: 20 },
      );
    const a = board.join('a');
    await until([0, 1, 2, 3].map((shard) => [shard, 'a'] as const));
    const b = board.join('b');
    await until([0, 1, 2, 3].map((shard) => [shard, shard % 2 === 0 ? 'a' : 'b'] as const));
    expect([a.sharder.running, b.sharder.running]).toEqual([
      [0, 2],
      [1, 3],
    ]);
    await b.end();
    await until([0, 1, 2, 3].map((shard) => [shard, 'a'] as const));
    await a.end();
    expect([board.clashes, board.runners.size]).toEqual([0, 0]);
    const { items } = await client.list(leaseResource, { namespace: shardNamespace });
    // the server has a Lease of its own there
    const names = items.map(({ metadata }) => metadata?.name ?? '');
    expect(names.filter((name) => name.startsWith('podtender-'))).toEqual(
      [0, 1, 2, 3].map((shard) => `podtender-simulate-board-shard-${shard}`),
    );
  },
);
