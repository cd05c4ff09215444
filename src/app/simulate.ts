import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type LeveledLogger, pinoLogger } from '../base/pino-logger.ts';
import { connectionFromKubeconfig } from '../api/kubeconfig/kube-client.ts';
import { createApiClient } from '../api/rest/http-client.ts';
import type { EmbeddedApiServer } from '../apiserver/index.ts';
import { systemClock } from '../base/clock.ts';
import type { KeyPair } from '../pki/certificates.ts';
import { defineKinds } from '../simulate/stages/definitions.ts';
import type { SimulationCounts } from '../simulate/tally.ts';
import { ImpersonatingClients } from './impersonating-clients.ts';
import { portError } from './ports.ts';
import type { StartContext } from './running.ts';
import { type Cluster, launchAll } from './simulate-launch.ts';
import type { SimulateOptions } from './simulate-options.ts';
import { launchShards } from './simulate-shards.ts';

const clock = systemClock;

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
    if (cluster.isOwn) await defineKinds(client);
    const deps = { cluster, client, users, logger, signal: stop.signal };
    const parts = options.shards === undefined ? await launchAll(options, deps) : launchShards(options, deps);
    return {
      serverUrl: cluster.connection.server,
      ...(cluster.kubeconfigPath !== undefined && { kubeconfigPath: cluster.kubeconfigPath }),
      counts: () => parts.state().counts,
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

function usageOfProcess(): { readonly cpuSeconds: number; readonly rssMiB: number } {
  const { user, system } = process.cpuUsage();
  const { rss } = process.memoryUsage();
  return { cpuSeconds: (user + system) / 1e6, rssMiB: rss / 2 ** 20 };
}
