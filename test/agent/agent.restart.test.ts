import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { Agent } from '../../src/agent/agent.ts';
import { createApiClient } from '../../src/api/rest/http-client.ts';
import { intercept } from '../../src/api/interceptor.ts';
import { EmbeddedApiServer } from '../../src/apiserver/index.ts';
import { systemClock as clock } from '../../src/base/clock.ts';
import { FakeClock, settle } from '../../src/base/fake-clock.ts';
import { MemoryProvider } from '../../src/providers/memory/index.ts';

test('an agent that comes back renews its lease before it looks at pods; one without a lease asks at once', async () => {
  const rootDir = mkdtempSync(join(tmpdir(), 'pt-restart-'));
  const server = await EmbeddedApiServer.start({ minimalScheduler: false });
  const client = createApiClient(
    { server: server.url, ca: server.ca, ...server.clientCertificate('system:node:n', ['system:nodes']) },
    { clock, qps: 0 },
  );
  const asked: string[] = [];
  /** What one life of the agent asks for until it is ready. */
  const live = async (): Promise<readonly string[]> => {
    asked.length = 0;
    const agent = await Agent.create({
      nodeName: 'n',
      rootDir,
      client: intercept(client, {
        call: async ({ verb, resource }, next) => {
          const answer = await next();
          asked.push(`${verb} ${resource.resource}`);
          return answer;
        },
        watch: ({ resource }, next) => {
          asked.push(`watch ${resource.resource}`);
          return next();
        },
      }),
      makeProvider: () =>
        new (class extends MemoryProvider {
          override listPods(): ReturnType<MemoryProvider['listPods']> {
            asked.push('list runtime pods');
            return super.listPods();
          }
        })({ clock }),
    });
    const running = agent.run(new AbortController().signal);
    await agent.controller.ready;
    await agent.stop();
    await running;
    const heavy = ['update leases', 'watch pods', 'list runtime pods'];
    return asked.filter((what) => heavy.includes(what)).slice(0, 3);
  };
  try {
    expect((await live())[0]).not.toBe('update leases');
    const [first, ...others] = await live();
    expect(first).toBe('update leases');
    expect(others).toEqual(expect.arrayContaining(['watch pods', 'list runtime pods']));
  } finally {
    await client.close();
    await server.stop();
    rmSync(rootDir, { recursive: true });
  }
});

test('an agent without a server and without manifests is ready, too', async () => {
  const rootDir = mkdtempSync(join(tmpdir(), 'pt-alone-'));
  const alone = new FakeClock(0);
  const agent = await Agent.create({
    nodeName: 'n',
    rootDir,
    clock: alone,
    makeProvider: () => new MemoryProvider({ clock: alone }),
  });
  const running = agent.run(new AbortController().signal);
  try {
    await settle();
    await alone.advance(2000);
    await agent.controller.ready;
  } finally {
    await agent.stop();
    await running;
    rmSync(rootDir, { recursive: true });
  }
});

test('without a cluster domain the full name of a pod has none, as with the kubelet', async () => {
  const rootDir = mkdtempSync(join(tmpdir(), 'pt-domain-'));
  const alone = new FakeClock();
  let domain: string | undefined;
  const agent = await Agent.create({
    nodeName: 'n',
    rootDir,
    clock: alone,
    makeProvider: ({ helper }) => {
      const pod = { metadata: { name: 'p', namespace: 'ns' }, spec: { containers: [], subdomain: 'sub' } };
      ({ domain } = helper.hostnameAndDomain(pod));
      return new MemoryProvider({ clock: alone });
    },
  });
  try {
    expect(domain).toBe('sub.ns.svc.');
  } finally {
    await agent.stop();
    rmSync(rootDir, { recursive: true });
  }
});
