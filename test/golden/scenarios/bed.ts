import { loadOptions } from '../../../src/options/load.ts';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Agent } from '../../../src/agent/agent.ts';
import { pinoLogger } from '../../../src/agent/logger.ts';
import type { ApiClient } from '../../../src/api/client.ts';
import { createApiClient, type HttpApiClient } from '../../../src/api/http-client.ts';
import { nodeResource } from '../../../src/api/resources.ts';
import { EmbeddedApiServer } from '../../../src/apiserver/index.ts';
import { systemClock as clock } from '../../../src/base/clock.ts';
import { criParts } from '../../../src/cli/cri-provider.ts';
import type { Node } from '../../../src/kube/types.ts';
import { startContainerd } from '../../support/containerd.ts';
import { busyboxImage } from '../../support/images.ts';
import { startRegistry } from '../../support/registry.ts';

/** Everything a scenario is played on: runtime, registry, API server and the agent. */
export interface Bed {
  readonly admin: HttpApiClient;
  /** `namespace verb resource/subresource` of every request of the agent so far. */
  readonly requests: readonly string[];
  readonly agent: Agent;
  readonly logFile: string;
  stop(): Promise<void>;
}

/** What the recordings name as the registry. */
const registryPort = 5999;

/** @param binaries folder of another containerd than the machine's */
export async function makeBed(binaries: string | undefined): Promise<Bed> {
  const dir = mkdtempSync(join(tmpdir(), 'pt-scenarios-'));
  const run = { Cmd: ['/bin/sh', '-c', 'sleep 3600'] };
  const registry = await startRegistry([busyboxImage(`localhost:${registryPort}/app:1`, run)], {
    port: registryPort,
  });
  const containerd = await startContainerd(binaries === undefined ? {} : { binaries });
  const server = await EmbeddedApiServer.start({ minimalScheduler: false, controllers: false });
  const connect = (user: { cert: string; key: string }): HttpApiClient =>
    createApiClient({ server: server.url, ca: server.ca, ...user }, { clock, qps: 0 });
  const admin = connect(server.admin);
  const nodeClient = connect(server.clientCertificate('system:node:node-a', ['system:nodes']));
  const requests: string[] = [];
  const { kubelet } = loadOptions({ hostname: 'node-a' });
  const cri = criParts({
    ...kubelet,
    cgroupRoot: '/pt-scenarios',
    containerRuntimeEndpoint: containerd.socket,
    runtimeRequestTimeout: '2m0s',
    podLogsDir: join(dir, 'pods'),
    containerLogsDir: join(dir, 'containers'),
    serializeImagePulls: true,
  });
  const logFile = join(dir, 'agent.log');
  const agent = await Agent.create({
    nodeName: 'node-a',
    rootDir: join(dir, 'kubelet'),
    client: recorded(nodeClient, requests),
    clusterDns: ['10.97.0.10'],
    makeProvider: cri.makeProvider,
    node: cri.node,
    ...(cri.cgroups && { cgroups: cri.cgroups }),
    upkeep: cri.upkeep,
    eviction: cri.eviction,
    logger: pinoLogger('debug', logFile),
  });
  const stopping = new AbortController();
  const running = agent.run(stopping.signal);
  await nodeIsReady(admin);
  return {
    admin,
    requests,
    agent,
    logFile,
    stop: async () => {
      stopping.abort();
      await running.catch(() => undefined);
      await Promise.all([cri.close(), nodeClient.close(), admin.close()]);
      await server.stop();
      await containerd.stop();
      await registry.close();
      if (process.env['KEEP'] === undefined) rmSync(dir, { recursive: true, force: true });
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

/** The client, with a note of every call. */
function recorded(client: ApiClient, requests: string[]): ApiClient {
  return new Proxy(client, {
    get(target, verb, self): unknown {
      const method = Reflect.get(target, verb, self) as unknown;
      if (typeof method !== 'function' || typeof verb !== 'string') return method;
      return (...args: readonly unknown[]) => {
        requests.push(requestText(verb, args));
        return Reflect.apply(method, target, args) as unknown;
      };
    },
  });
}

function requestText(verb: string, args: readonly unknown[]): string {
  const [resource, second] = args as readonly [
    { readonly resource?: string }?,
    { readonly namespace?: string; readonly metadata?: { readonly namespace?: string } }?,
  ];
  const options = (verb === 'patch' ? args[3] : args[2]) as { readonly subresource?: string } | undefined;
  const namespace = second?.namespace ?? second?.metadata?.namespace ?? '-';
  const sub = options?.subresource === undefined ? '' : `/${options.subresource}`;
  return `${namespace} ${verb} ${resource?.resource ?? ''}${sub}`;
}
