import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { leaseResource } from '../../src/api/resources.ts';
import { createApiClient, type HttpApiClient } from '../../src/api/rest/http-client.ts';
import { EmbeddedApiServer } from '../../src/apiserver/index.ts';
import { systemClock as clock } from '../../src/base/clock.ts';
import { silentLogger as logger } from '../../src/base/logger.ts';
import type { Lease } from '../../src/kube/types.ts';
import { Lines } from './kubectl.ts';
import { program } from './podtender.ts';

interface Line {
  readonly type: string;
  readonly nodesReady: number;
  readonly podsReady: number;
}

const dir = mkdtempSync(join(tmpdir(), 'simulate-shards-'));
const kubeconfig = join(dir, 'kubeconfig');
let server: EmbeddedApiServer;
let client: HttpApiClient;
const children: ChildProcess[] = [];

beforeAll(async () => {
  server = await EmbeddedApiServer.start();
  writeFileSync(kubeconfig, server.kubeconfig(), { mode: 0o600 });
  client = createApiClient({ server: server.url, ca: server.ca, ...server.admin }, { clock, logger, qps: 0 });
});

afterAll(async () => {
  for (const child of children) child.kill('SIGKILL');
  await client.close();
  await server.stop();
  rmSync(dir, { recursive: true, force: true });
});

/** A process of the simulation, with its lines of progress. */
class Part {
  readonly #lines = new Lines();
  readonly child: ChildProcess;

  constructor() {
    const args = ['--nodes', '6', '--pods-per-node', '2', '--shards', '2', '--shard-lease', '6s'];
    this.child = spawn(
      process.execPath,
      [program, 'simulate', ...args, '--kubeconfig', kubeconfig, '--output', 'json'],
      { stdio: ['ignore', 'pipe', 'inherit'], env: { ...process.env, NODE_OPTIONS: '' } },
    );
    children.push(this.child);
    if (!this.child.stdout) throw new Error('the process has no output');
    createInterface({ input: this.child.stdout }).on('line', (text) => {
      this.#lines.push(text);
    });
  }

  /** Resolves at the next line with these numbers. */
  async until(nodesReady: number, podsReady: number): Promise<void> {
    const fits = (text: string): boolean => {
      const line = JSON.parse(text) as Line;
      return line.type === 'progress' && line.nodesReady === nodesReady && line.podsReady === podsReady;
    };
    await this.#lines.waitFor(fits, 90_000, this.#lines.all.length);
  }
}

const renewals = async (): Promise<ReadonlyMap<string, string>> => {
  const { items } = await client.list<Lease>(leaseResource, { namespace: 'kube-node-lease' });
  return new Map(items.map(({ metadata, spec }) => [metadata?.name ?? '', spec?.renewTime ?? '']));
};

test(
  'two processes share the nodes; when one is killed, the other takes its nodes over',
  { timeout: 400_000 },
  async () => {
    const first = new Part();
    await first.until(6, 12);
    const second = new Part();
    await second.until(3, 6);
    await first.until(3, 6);
    const before = await renewals();
    expect(before.size).toBe(6);
    second.child.kill('SIGKILL');
    await once(second.child, 'exit');
    await first.until(6, 12);
    await expect
      .poll(
        async () =>
          [...(await renewals())]
            .filter(([name, at]) => at !== before.get(name))
            .map(([name]) => name)
            .sort(),
        { timeout: 90_000, interval: 500 },
      )
      .toEqual([0, 1, 2, 3, 4, 5].map((index) => `node-${index}`));
  },
);
