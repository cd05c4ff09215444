import { writeFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { EmbeddedApiServer } from '../../src/apiserver/index.ts';
import { Line } from '../support/line.ts';
import { noKubectl } from './kubectl.ts';
import { obedient, shellPod } from './manifests.ts';
import { condition, makeDir, Podtender, type PodWatch, processesOf, freePort } from './podtender.ts';

/** `podtender run` against an API server that is away at first, comes, goes and returns. */
describe.skipIf(noKubectl !== undefined)('an API server that goes away', { timeout: 60_000 }, () => {
  const dir = makeDir();
  const mark = `outage-${process.pid}`;
  const line = new Line();
  let server: EmbeddedApiServer;
  let agent: Podtender;
  let pods: PodWatch;
  let port = 0;

  beforeAll(async () => {
    server = await EmbeddedApiServer.start({});
    port = Number(new URL(server.url).port);
    await line.open();
    const user = server.clientCertificate('system:node:e2e', ['system:nodes']);
    const toLine = server.kubeconfig(user).replaceAll(`:${port}`, `:${line.port}`);
    writeFileSync(`${dir.path}/node.kubeconfig`, toLine);
    writeFileSync(`${dir.path}/kubeconfig`, server.kubeconfig());
    agent = new Podtender({
      command: 'run',
      dataDir: `${dir.path}/data`,
      args: [
        '--kubeconfig',
        `${dir.path}/node.kubeconfig`,
        '--provider',
        'process',
        `--port=${await freePort()}`,
      ],
    });
    agent.kubeconfig = `${dir.path}/kubeconfig`;
    pods = agent.watchPods();
  }, 60_000);

  afterAll(async () => {
    await agent.end();
    for (const pid of processesOf(mark).keys()) process.kill(pid, 'SIGKILL');
    line.close();
    await server.stop();
    dir.remove();
  }, 60_000);

  const ready = (name: string): Promise<unknown> =>
    pods.until(name, (pod) => condition(pod, 'Ready') === 'True');

  const pidOf = (name: string): number | undefined =>
    [...processesOf(mark)].find(([, pod]) => pod === name)?.[0];

  test('is waited for at the start', async () => {
    await line.refused;
    line.mend(port);
    const seen = async (): Promise<number> => (await agent.kubectl(['get', 'node', 'e2e'])).code;
    await expect.poll(seen, { timeout: 30_000 }).toBe(0);
    await agent.ok(['wait', '--for=condition=Ready', 'node/e2e', '--timeout=30s']);
  });

  test('loses nothing: pods run on and restart without it, and all is told when it is back', async () => {
    for (const name of ['steady', 'restarted', 'removed'])
      await agent.ok(['apply', '-f', '-'], shellPod(name, mark, obedient));
    await Promise.all(['steady', 'restarted', 'removed'].map(ready));
    const steady = pidOf('steady');

    line.cut();
    await agent.ok(['apply', '-f', '-'], shellPod('created', mark, obedient, { nodeName: 'e2e' }));
    await agent.ok(['delete', 'pod', 'removed', '--wait=false']);
    const before = pidOf('restarted') ?? 0;
    for (const [pid, pod] of processesOf(mark)) if (pod === 'restarted') process.kill(pid, 'SIGKILL');
    await expect.poll(() => pidOf('restarted') ?? before, { timeout: 20_000 }).not.toBe(before);
    expect(pidOf('created')).toBeUndefined();
    expect(pidOf('removed')).toBeDefined();
    expect((await agent.pod('restarted')).status?.containerStatuses?.[0]?.restartCount).toBe(0);

    line.mend(port);
    await Promise.all([
      ready('created'),
      pods.until('removed', (_pod, type) => type === 'DELETED'),
      pods.until('restarted', ({ status }) => status?.containerStatuses?.[0]?.restartCount === 1),
    ]);
    await agent.ok(['wait', '--for=condition=Ready', 'node/e2e', '--timeout=30s']);
    expect(pidOf('steady')).toBe(steady);
    expect(pidOf('removed')).toBeUndefined();
  });

  test('leaves containers running when the agent ends', async () => {
    const steady = pidOf('steady');
    agent.signal('SIGTERM');
    expect(await agent.ended).toBe(0);
    expect(pidOf('steady')).toBe(steady);
  });
});
