import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Agent } from '../../src/agent/agent.ts';
import { ApiError } from '../../src/api/client.ts';
import { createApiClient, type HttpApiClient } from '../../src/api/http-client.ts';
import { nodeResource } from '../../src/api/resources.ts';
import { EmbeddedApiServer } from '../../src/apiserver/index.ts';
import { systemClock as clock } from '../../src/base/clock.ts';
import type { Node } from '../../src/kube/types.ts';
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

test.each([
  { exitPolicy: 'keep', left: { ready: 'True', unschedulable: undefined } },
  { exitPolicy: 'notReady', left: { ready: 'False', unschedulable: undefined } },
  { exitPolicy: 'cordon', left: { ready: 'False', unschedulable: true } },
  { exitPolicy: 'delete', left: undefined },
] as const)('an agent that is told to end leaves its node by the policy $exitPolicy', async (given) => {
  const { exitPolicy, left } = given;
  const nodeName = `n-${exitPolicy.toLowerCase()}`;
  const rootDir = mkdtempSync(join(tmpdir(), 'pt-exit-'));
  const itself = server.clientCertificate(`system:node:${nodeName}`, ['system:nodes']);
  const user = exitPolicy === 'delete' ? server.admin : itself; // no node may delete itself
  const client = createApiClient({ server: server.url, ca: server.ca, ...user }, { clock, qps: 0 });
  const agent = await Agent.create({
    ...{ nodeName, rootDir, client, node: { exitPolicy } },
    makeProvider: () => new MemoryProvider({ clock }),
  });
  const stop = new AbortController();
  const running = agent.run(stop.signal);
  try {
    await agent.node?.waitReady();
    stop.abort();
    await running;
    const node = await nodeOf(nodeName);
    const ready = node?.status?.conditions?.find(({ type }) => type === 'Ready')?.status;
    expect(node && { ready, unschedulable: node.spec?.unschedulable }).toEqual(left);
  } finally {
    await client.close();
    rmSync(rootDir, { recursive: true });
  }
});
