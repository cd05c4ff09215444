import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { Agent } from '../../src/agent/agent.ts';
import type { AgentOptions } from '../../src/agent/agent-options.ts';
import { ApiError } from '../../src/api/client.ts';
import { createApiClient, type HttpApiClient } from '../../src/api/rest/http-client.ts';
import { nodeResource } from '../../src/api/resources.ts';
import { EmbeddedApiServer } from '../../src/apiserver/index.ts';
import { systemClock as clock } from '../../src/base/clock.ts';
import type { Node, NodeCondition } from '../../src/kube/types.ts';
import type { NodeProvider } from '../../src/provider/provider.ts';
import { MemoryProvider } from '../../src/providers/memory/index.ts';

let server: EmbeddedApiServer;
let admin: HttpApiClient;

beforeAll(async () => {
  server = await EmbeddedApiServer.start({ minimalScheduler: false });
  admin = createApiClient({ server: server.url, ca: server.ca, ...server.admin }, { clock, qps: 0 });
});

afterAll(async () => {
  await admin.close();
  await server.stop();
});

const nodeOf = (name: string): Promise<Node | undefined> =>
  admin.get<Node>(nodeResource, { name }).catch((reason: unknown) => {
    if (reason instanceof ApiError && reason.status === 404) return undefined;
    throw reason;
  });

interface Started {
  readonly agent: Agent;
  readonly end: () => Promise<void>;
}

async function start(
  nodeName: string,
  { asAdmin = false, ...options }: Partial<AgentOptions> & { readonly asAdmin?: boolean },
): Promise<Started> {
  const rootDir = mkdtempSync(join(tmpdir(), 'pt-node-'));
  const itself = server.clientCertificate(`system:node:${nodeName}`, ['system:nodes']);
  const user = asAdmin ? server.admin : itself;
  const client = createApiClient({ server: server.url, ca: server.ca, ...user }, { clock, qps: 0 });
  const makeProvider = (): MemoryProvider => new MemoryProvider({ clock });
  const agent = await Agent.create({ makeProvider, ...options, nodeName, rootDir, client });
  const stop = new AbortController();
  const running = agent.run(stop.signal);
  await agent.node?.waitReady();
  return {
    agent,
    end: async () => {
      stop.abort();
      await running;
      await client.close();
      rmSync(rootDir, { recursive: true });
    },
  };
}

const readyOf = (node: Node | undefined): NodeCondition | undefined =>
  node?.status?.conditions?.find(({ type }) => type === 'Ready');

test.each([
  { exitPolicy: 'keep', left: { ready: 'True', unschedulable: undefined } },
  { exitPolicy: 'notReady', left: { ready: 'False', unschedulable: undefined } },
  { exitPolicy: 'cordon', left: { ready: 'False', unschedulable: true } },
  { exitPolicy: 'delete', left: undefined },
] as const)('an agent that is told to end leaves its node by the policy $exitPolicy', async (given) => {
  const { exitPolicy, left } = given;
  const nodeName = `n-${exitPolicy.toLowerCase()}`;
  const asAdmin = exitPolicy === 'delete'; // no node may delete itself
  const { end } = await start(nodeName, { node: { exitPolicy }, asAdmin });
  await end();
  const node = await nodeOf(nodeName);
  expect(node && { ready: readyOf(node)?.status, unschedulable: node.spec?.unschedulable }).toEqual(left);
});

test('a provider that does not answer its ping makes its node not ready, and says why', async () => {
  let fault: Error | undefined;
  const makeProvider = (): MemoryProvider & NodeProvider =>
    Object.assign(new MemoryProvider({ clock }), {
      ping: () => (fault ? Promise.reject(fault) : Promise.resolve()),
    });
  const { end } = await start('n-ping', { makeProvider, node: { pingIntervalMs: 20 } });
  try {
    expect(readyOf(await nodeOf('n-ping'))?.status).toBe('True');
    fault = new Error('the cloud is away');
    const seen = await vi.waitUntil(async () => {
      const ready = readyOf(await nodeOf('n-ping'));
      return ready?.status === 'False' && ready;
    });
    expect(seen.message).toContain('the cloud is away');
  } finally {
    await end();
  }
});
