import { mkdirSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Agent } from '../../src/agent/agent.ts';
import { pinoLogger } from '../../src/base/pino-logger.ts';
import type { ApiClient } from '../../src/api/client.ts';
import { createApiClient, type HttpApiClient } from '../../src/api/rest/http-client.ts';
import { nodeResource } from '../../src/api/resources.ts';
import { EmbeddedApiServer } from '../../src/apiserver/index.ts';
import { systemClock as clock } from '../../src/base/clock.ts';
import { type CriSettings, criParts } from '../../src/app/cri.ts';
import type { Node } from '../../src/kube/types.ts';
import { loadOptions } from '../../src/options/load.ts';
import { cgroupDriver, type Containerd, type ContainerdOptions, startContainerd } from './containerd.ts';
import { removeFolder } from './mounts.ts';

/** A node `node-a` with its own containerd, joined to its own API server. */
export interface CriAgent {
  readonly admin: HttpApiClient;
  /** The running agent. */
  readonly agent: Agent;
  readonly containerd: Containerd;
  readonly logFile: string;
  /** The directory of static pod manifests. */
  readonly manifests: string;
  /** Stops the agent, without its containers, and starts another one. @param kubelet changed settings */
  restart(kubelet?: Partial<CriSettings>): Promise<void>;
  stop(): Promise<void>;
}

/** One run of an agent. */
interface Running {
  readonly agent: Agent;
  end(): Promise<void>;
}

export interface CriAgentOptions extends ContainerdOptions {
  /** Where the pods' cgroups are; two agents at a time need two. */
  readonly cgroupRoot: string;
  /** The settings of the KubeletConfiguration that differ from the defaults. */
  readonly kubelet?: Partial<CriSettings>;
  /** Starts a proxy between the agent and its runtime. @returns the socket for the agent */
  readonly runtime?: (socket: string, dir: string) => Promise<string>;
  /** Wraps the agent's API client. */
  readonly client?: (client: ApiClient) => ApiClient;
}

/** Starts all of it and waits until the node is ready. `KEEP` in the environment keeps its folder. */
export async function startCriAgent(options: CriAgentOptions): Promise<CriAgent> {
  const dir = mkdtempSync(join(tmpdir(), 'pt-cri-agent-'));
  const containerd = await startContainerd(options);
  const server = await EmbeddedApiServer.start({ minimalScheduler: false, controllers: false });
  const connect = (user: { cert: string; key: string }): HttpApiClient =>
    createApiClient({ server: server.url, ca: server.ca, ...user }, { clock, qps: 0 });
  const admin = connect(server.admin);
  const nodeClient = connect(server.clientCertificate('system:node:node-a', ['system:nodes']));
  const logFile = join(dir, 'agent.log');
  const manifests = join(dir, 'manifests');
  mkdirSync(manifests);
  const socket = (await options.runtime?.(containerd.socket, dir)) ?? containerd.socket;
  const start = async (kubelet: Partial<CriSettings> = {}): Promise<Running> => {
    const { close, ...parts } = criParts({
      ...loadOptions({ hostname: 'node-a' }).kubelet,
      cgroupRoot: options.cgroupRoot,
      cgroupDriver,
      containerRuntimeEndpoint: socket,
      podLogsDir: join(dir, 'pods'),
      containerLogsDir: join(dir, 'containers'),
      ...options.kubelet,
      ...kubelet,
    });
    const agent = await Agent.create({
      nodeName: 'node-a',
      rootDir: join(dir, 'kubelet'),
      client: options.client?.(nodeClient) ?? nodeClient,
      clusterDns: ['10.97.0.10'],
      logger: pinoLogger('debug', logFile),
      manifests,
      ...parts,
    });
    const stopping = new AbortController();
    const running = agent.run(stopping.signal);
    await nodeIsReady(admin);
    return {
      agent,
      end: async () => {
        stopping.abort();
        await running.catch(() => undefined);
        await close();
      },
    };
  };
  let running = await start();
  return {
    admin,
    get agent() {
      return running.agent;
    },
    containerd,
    logFile,
    manifests,
    restart: async (kubelet) => {
      await running.end();
      running = await start(kubelet);
    },
    stop: async () => {
      await running.end();
      await Promise.all([nodeClient.close(), admin.close()]);
      await server.stop();
      await containerd.stop();
      if (process.env['KEEP'] === undefined) removeFolder(dir);
      else console.log(`kept: ${dir}`);
    },
  };
}

async function nodeIsReady(admin: HttpApiClient): Promise<void> {
  const signal = AbortSignal.timeout(60_000);
  for (;;) {
    const node = await admin.get<Node>(nodeResource, { name: 'node-a' }).catch(() => undefined);
    if (node?.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True')) return;
    await clock.sleep(100, signal);
  }
}
