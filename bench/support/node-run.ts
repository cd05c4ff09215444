/** One run of a bench of a whole node: an agent in a separate process, its API server, and what phases of many pods cost it. */
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createApiClient } from '../../src/api/rest/http-client.ts';
import { connectionFromKubeconfig } from '../../src/api/kubeconfig/kube-client.ts';
import { systemClock as clock } from '../../src/base/clock.ts';
import type { Pod } from '../../src/kube/types.ts';
import { cpuMsOf, inParallel, LineProcess, percentile, round, rssMiBOf } from './processes.ts';
import { type Act, World } from './world.ts';

/** The number of requests in flight. */
const width = 32;
type Requests = Readonly<Record<string, number>>;

export type Figures = Record<string, number | string>;

const total = (requests: Requests): number => Object.values(requests).reduce((sum, count) => sum + count, 0);

/** Returns a pod of one container for a node; without volumes and service account token. */
export const podFor =
  (nodeName: string) =>
  (name: string): Pod => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'default', labels: { app: 'bench' } },
    spec: {
      nodeName,
      automountServiceAccountToken: false,
      containers: [{ name: 'main', image: 'example.com/app:1', resources: { requests: { memory: '1Mi' } } }],
    },
  });

/** What an agent is started with. */
export interface AgentPlace {
  /** The directory of `admin.kubeconfig` and `node.kubeconfig`. */
  readonly configs: string;
  /** A directory of the run's own; removed at its end. */
  readonly dir: string;
  readonly pods: number;
}

export interface NodeRunOptions {
  readonly nodeName: string;
  readonly pods: number;
  /** Starts the agent; at a restart once more, with the same place. */
  readonly start: (place: AgentPlace) => ChildProcess;
  /** Ends the agent before a restart. Default: SIGKILL. */
  readonly kill?: (agent: ChildProcess) => Promise<void>;
  /** A directory with the kubeconfigs of the user's own API server; requests are then not counted. */
  readonly serverDir?: string | undefined;
}

async function killed(agent: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  const ended = agent.exitCode === null && agent.signalCode === null ? once(agent, 'exit') : undefined;
  agent.kill(signal);
  await ended;
}

/** NodeRun is a running agent with its API server; each method is a phase and returns its figures. */
export class NodeRun {
  readonly world: World;
  readonly #options: NodeRunOptions;
  readonly #place: AgentPlace;
  /** The API server, which counts its requests; absent with the user's own server. */
  readonly #server: LineProcess | undefined;
  #agent: ChildProcess;

  private constructor(
    options: NodeRunOptions,
    place: AgentPlace,
    server: LineProcess | undefined,
    world: World,
  ) {
    this.#options = options;
    this.#place = place;
    this.#server = server;
    this.world = world;
    this.#agent = options.start(place);
  }

  /** Starts the API server and the agent. Call {@link close} at the end. */
  static async start(options: NodeRunOptions): Promise<NodeRun> {
    const { nodeName, pods, serverDir } = options;
    const dir = await mkdtemp(join(tmpdir(), 'agent-bench-'));
    const server = serverDir === undefined ? new LineProcess('agent-server.ts', [dir, nodeName]) : undefined;
    await server?.read();
    const configs = serverDir ?? dir;
    const connection = await connectionFromKubeconfig(clock, join(configs, 'admin.kubeconfig'));
    const world = new World(
      createApiClient(connection, { clock, qps: 0, userAgent: 'bench-driver', connections: width }),
      nodeName,
      podFor(nodeName),
    );
    await world.warmUp(width);
    return new NodeRun(options, { configs, dir, pods }, server, world);
  }

  get #pid(): number {
    return this.#agent.pid ?? 0;
  }

  get rssMiB(): number {
    return round(rssMiBOf(this.#pid));
  }

  /** Runs a phase over many pods, as fast as the server accepts them, and returns what it cost the agent. */
  async phase(count: number, act: (index: number) => Act): Promise<Figures> {
    await this.#server?.ask();
    const cpuBefore = cpuMsOf(this.#pid);
    const startedAt = performance.now();
    const results: Promise<number>[] = [];
    await inParallel(count, width, async (index) => {
      const { accepted, done } = act(index);
      results.push(done);
      await accepted;
    });
    const latencies = await Promise.all(results);
    const ms = performance.now() - startedAt;
    const cpuMs = cpuMsOf(this.#pid) - cpuBefore;
    const requests = await this.#server?.ask<Requests>();
    return {
      'per second': Math.round((count / ms) * 1000),
      'p50 ms': round(percentile(latencies, 0.5)),
      'p99 ms': round(percentile(latencies, 0.99)),
      'CPU ms per pod': round(cpuMs / count, 2),
      ...(requests && {
        'requests per pod': round(total(requests) / count, 2),
        requests: JSON.stringify(requests),
      }),
    };
  }

  /** Creates and deletes pods one after the other. */
  async oneByOne(count: number): Promise<Figures> {
    const created: number[] = [];
    const deleted: number[] = [];
    for (let index = 0; index < count; index++) {
      const create = this.world.create(`one-${index}`);
      await create.accepted;
      created.push(await create.done);
      await sleep(20);
      const remove = this.world.remove(`one-${index}`);
      await remove.accepted;
      deleted.push(await remove.done);
      await sleep(20);
    }
    return {
      'create p50 ms': round(percentile(created, 0.5)),
      'create p99 ms': round(percentile(created, 0.99)),
      'delete p50 ms': round(percentile(deleted, 0.5)),
      'delete p99 ms': round(percentile(deleted, 0.99)),
    };
  }

  /** What the agent costs while nothing changes. */
  async steady(ms: number): Promise<Figures> {
    await sleep(12_000); // until after the next comparison of all statuses
    await this.#server?.ask();
    const before = cpuMsOf(this.#pid);
    await sleep(ms);
    const cpuMs = cpuMsOf(this.#pid) - before;
    const requests = await this.#server?.ask<Requests>();
    return {
      'RSS MiB': this.rssMiB,
      'CPU %': round((cpuMs / ms) * 100, 2),
      ...(requests && { requests: JSON.stringify(requests) }),
    };
  }

  /** Ends the agent and starts it again with all pods in place. */
  async restart(): Promise<Figures> {
    const { world } = this;
    const server = this.#server;
    const renewed = await world.renewTime();
    await (this.#options.kill?.(this.#agent) ?? killed(this.#agent, 'SIGKILL'));
    await server?.ask();
    const startedAt = performance.now();
    this.#agent = this.#options.start(this.#place);
    while ((await world.renewTime()) === renewed) await sleep(2);
    const leaseMs = performance.now() - startedAt;
    const { accepted, done } = world.create('after-restart');
    await accepted;
    await done;
    const readyMs = performance.now() - startedAt;
    await sleep(13_000);
    const requests = await server?.ask<Requests>();
    await world.remove('after-restart').done;
    const writes = Object.entries(requests ?? {}).filter(([what]) =>
      /^(PATCH|PUT|DELETE|POST) pods/.test(what),
    );
    return {
      'lease ms': round(leaseMs),
      'first new pod Ready ms': round(readyMs),
      'RSS MiB': this.rssMiB,
      ...(requests && {
        'writes to unchanged pods': total(Object.fromEntries(writes)),
        requests: JSON.stringify(requests),
      }),
    };
  }

  /** Ends all processes. @param signal SIGTERM lets the agent write its profile */
  async close(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    await killed(this.#agent, signal);
    await this.world.close();
    this.#server?.stop();
    await rm(this.#place.dir, { recursive: true, force: true });
  }
}

export function print(what: string, figures: Figures): void {
  process.stdout.write(
    `${what.padEnd(28)} ${Object.entries(figures)
      .map(([key, value]) => `${key} ${value}`)
      .join('; ')}\n`,
  );
}

/** The numbers among the command's arguments. */
export function countsOf(args: readonly string[], otherwise: readonly number[]): readonly number[] {
  const counts = args.filter((word) => /^\d+$/.test(word)).map(Number);
  return counts.length > 0 ? counts : otherwise;
}

/** Runs all phases of a bench over `count` pods and prints the figures. */
export async function measurePods(run: NodeRun, count: number): Promise<void> {
  const { world } = run;
  const name = (index: number): string => `pod-${index}`;
  const create = (index: number): Act => world.create(name(index));
  const remove = (index: number): Act => world.remove(name(index));
  print(`create ${count}`, await run.phase(count, create));
  print(`steady with ${count}`, await run.steady(10_000));
  const updated = Math.min(count, 1000);
  print(
    `update ${updated}`,
    await run.phase(updated, (index) => world.update(name(index), 'example.com/app:2')),
  );
  print(`delete ${count}`, await run.phase(count, remove));
  // a new process compiles its code first, so the same work costs more
  await run.phase(count, create);
  print('restart', await run.restart());
  print(`delete ${count} after it`, await run.phase(count, remove));
}
