import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { Agent } from '../../src/agent/agent.ts';
import { shutdownOptions } from '../../src/agent/evictions.ts';
import { createApiClient, type HttpApiClient } from '../../src/api/rest/http-client.ts';
import { nodeResource, podResource } from '../../src/api/resources.ts';
import { EmbeddedApiServer } from '../../src/apiserver/index.ts';
import { systemClock as clock } from '../../src/base/clock.ts';
import { silentLogger } from '../../src/base/logger.ts';
import type { Node, NodeCondition, Pod } from '../../src/kube/types.ts';
import { MemoryProvider } from '../../src/providers/memory/index.ts';
import { startLogind, whyNoLogind } from '../support/logind.ts';
import { soon } from '../support/found.ts';

const why = whyNoLogind();
if (why !== undefined) console.log(`skipped: ${why}; this test runs a real systemd-logind`);

const podOf = (name: string, stopMs = 0, priorityClassName?: string): Pod => ({
  metadata: {
    name,
    namespace: 'default',
    annotations: {
      'podtender.io/memory.stop-delay-ms': String(stopMs),
      'podtender.io/memory.stop-exit-code': '143',
    },
  },
  spec: {
    nodeName: 'n',
    ...(priorityClassName !== undefined && { priorityClassName }),
    containers: [{ name: 'c', image: 'i' }],
    terminationGracePeriodSeconds: 2,
  },
});

/** What goes when a test ends, last first. */
const cleanUps: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

/** A node whose agent listens to the bus that the environment names. */
async function startNode(): Promise<HttpApiClient> {
  const rootDir = mkdtempSync(join(tmpdir(), 'pt-shutdown-'));
  const server = await EmbeddedApiServer.start({ minimalScheduler: false });
  const connect = (user: { cert: string; key: string }): HttpApiClient =>
    createApiClient({ server: server.url, ca: server.ca, ...user }, { clock, qps: 0 });
  const admin = connect(server.admin);
  const client = connect(server.clientCertificate('system:node:n', ['system:nodes']));
  const shutdown = shutdownOptions(
    { shutdownGracePeriod: '4s', shutdownGracePeriodCriticalPods: '2s' },
    { clock, logger: silentLogger },
  );
  const makeProvider = (): MemoryProvider => new MemoryProvider({ clock });
  const agent = await Agent.create({
    nodeName: 'n',
    rootDir,
    client,
    makeProvider,
    ...(shutdown && { shutdown }),
  });
  void agent.run(new AbortController().signal);
  cleanUps.push(
    () => {
      rmSync(rootDir, { recursive: true });
    },
    () => server.stop(),
    () => Promise.all([client.close(), admin.close()]),
    () => agent.stop(),
  );
  return admin;
}

const until = (isSo: () => Promise<boolean>): Promise<void> => soon(isSo.toString(), isSo);

const readyOf = async (admin: HttpApiClient): Promise<NodeCondition | undefined> =>
  (await admin.get<Node>(nodeResource, { name: 'n' })).status?.conditions?.find(
    ({ type }) => type === 'Ready',
  );

const isRunning = async (admin: HttpApiClient, name: string): Promise<boolean> =>
  (await admin.get<Pod>(podResource, { namespace: 'default', name })).status?.phase === 'Running';

/** Notes the failures of `count` pods, in order. */
async function failures(admin: HttpApiClient, count: number): Promise<readonly string[]> {
  const signal = AbortSignal.timeout(20_000);
  const found = new Set<string>();
  for await (const { object } of admin.watch<Pod>(podResource, { namespace: 'default', signal })) {
    const { metadata, status } = object as Pod;
    if (status?.phase === 'Failed')
      found.add(`${metadata?.name ?? ''} ${status.reason ?? ''}: ${status.message ?? ''}`);
    if (found.size === count) break;
  }
  return [...found];
}

// A real logind, a real bus: what takes time is the pods' own end.
const options = { skip: why !== undefined, timeout: 60_000 };
test('a machine that logind stops waits for its pods', options, async () => {
  const logind = await startLogind();
  process.env['DBUS_SYSTEM_BUS_ADDRESS'] = logind.address;
  cleanUps.push(() => logind.stop());
  const admin = await startNode();
  await until(async () => (await readyOf(admin))?.status === 'True');
  await admin.create(podResource, podOf('web', 1500));
  await admin.create(podResource, podOf('system', 300, 'system-node-critical'));
  await until(async () => (await isRunning(admin, 'web')) && (await isRunning(admin, 'system')));
  const failed = failures(admin, 3);

  await logind.powerOff();
  await until(async () => (await readyOf(admin))?.message === 'node is shutting down');
  expect((await readyOf(admin))?.status).toBe('False');
  await admin.create(podResource, podOf('refused'));
  expect(await logind.unitStarted).toBe('poweroff.target');
  const terminated = 'Terminated: Pod was terminated in response to imminent node shutdown.';
  const ends = await failed;
  expect(ends).toContain(
    'refused NodeShutdown: Pod was rejected: Pod was rejected as the node is shutting down.',
  );
  // the critical one had its turn when the other had ended
  const ended = ends.filter((end) => !end.startsWith('refused'));
  expect(ended).toEqual([`web ${terminated}`, `system ${terminated}`]);

  // systemd would not start it, so logind has called the shutdown off
  await until(async () => (await readyOf(admin))?.status === 'True');
  await admin.create(podResource, podOf('late'));
  await until(() => isRunning(admin, 'late'));

  // as the Kubernetes project's suite for nodes does it
  await logind.announce(true);
  await until(async () => (await readyOf(admin))?.message === 'node is shutting down');
  await until(async () => !(await isRunning(admin, 'late')));
  await logind.announce(false);
  await until(async () => (await readyOf(admin))?.status === 'True');
});
