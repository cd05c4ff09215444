import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { kubectl, noKubectl } from './kubectl.ts';
import { obedient, shellPod } from './manifests.ts';
import { condition, makeDir, Podtender, processesOf } from './podtender.ts';

const defiant = 'trap "" TERM; echo pid $$$$; while :; do sleep 1; done';

/** Agents that end in every way and start again, over the same data directory. */
describe.skipIf(noKubectl !== undefined)('an agent that ends and starts again', { timeout: 60_000 }, () => {
  let dir: ReturnType<typeof makeDir>;
  let mark = '';
  let serial = 0;
  const agents: Podtender[] = [];

  beforeEach(() => {
    dir = makeDir();
    mark = `lifetimes-${process.pid}-${serial++}`;
    mkdirSync(`${dir.path}/manifests`);
  });

  afterEach(async () => {
    await Promise.all(agents.splice(0).map((agent) => agent.end()));
    for (const pid of processesOf(mark).keys()) process.kill(pid, 'SIGKILL');
    dir.remove();
  }, 60_000);

  const start = async (args: readonly string[] = []): Promise<Podtender> => {
    const agent = await Podtender.up({
      dataDir: `${dir.path}/data`,
      manifests: `${dir.path}/manifests`,
      args,
    });
    agents.push(agent);
    return agent;
  };

  const manifest = (name: string, script: string): void => {
    writeFileSync(`${dir.path}/manifests/${name}.yaml`, shellPod(name, mark, script));
  };

  const allReady = async (agent: Podtender, names: readonly string[]): Promise<void> => {
    const pods = agent.watchPods();
    await Promise.all(names.map((name) => pods.until(name, (pod) => condition(pod, 'Ready') === 'True')));
  };

  /** What each pod says its PID is, and how often its container was started. */
  const pids = async (agent: Podtender, names: readonly string[]): Promise<readonly string[]> =>
    await Promise.all(
      names.map(async (name) => {
        const { status } = await agent.pod(name);
        const said = (await agent.ok(['logs', name])).trim();
        return `${name} ${said} restarts ${status?.containerStatuses?.[0]?.restartCount}`;
      }),
    );

  test('finds the same processes under the same pods after SIGKILL, none doubled, none lost', async () => {
    manifest('static', obedient);
    const first = await start();
    await first.ok(['apply', '-f', '-'], shellPod('applied', mark, obedient));
    await allReady(first, ['static-e2e', 'applied']);
    const names = ['static-e2e', 'applied'];
    const [before, running] = [await pids(first, names), [...processesOf(mark).keys()].sort()];
    first.signal('SIGKILL');
    await first.ended;
    expect([...processesOf(mark).keys()].sort()).toEqual(running);

    const second = await start();
    const pods = second.watchPods();
    await pods.until('applied', (pod) => condition(pod, 'Ready') === 'True');
    await second.ok(['wait', '--for=condition=Ready', 'node/e2e', '--timeout=20s']);
    await second.nodeAnswers();
    expect(await pids(second, names)).toEqual(before);
    expect([...processesOf(mark).keys()].sort()).toEqual(running);
    // and they are its own again: a stop reaches them
    await second.ok(['delete', 'pod', 'applied']);
    expect([...processesOf(mark).values()]).not.toContain('applied');
  });

  test('notices what ended while no agent ran', async () => {
    const first = await start();
    const script = 'sleep 1; exit 4';
    await first.ok(['apply', '-f', '-'], shellPod('short', mark, script, { restartPolicy: 'Never' }));
    await first.watchPods().until('short', ({ status }) => status?.phase === 'Running');
    first.signal('SIGKILL');
    await first.ended;
    await expect.poll(() => processesOf(mark).size, { timeout: 10_000 }).toBe(0);
    const second = await start();
    const failed = await second.watchPods().until('short', ({ status }) => status?.phase === 'Failed');
    expect(failed.status?.containerStatuses?.[0]?.state?.terminated?.exitCode).toBe(4);
  });

  test('loses no acknowledged write to kill -9', async () => {
    const first = await start(['--provider', 'memory']);
    const acknowledged: string[] = [];
    const creating = Array.from({ length: 6 }, async (_, stream) => {
      for (let at = 0; at < 40; at++) {
        const name = `made-${stream}-${at}`;
        const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data: { at: String(at) } };
        const { code } = await kubectl(first.kubeconfig, ['create', '-f', '-', '-o', 'name'], {
          input: JSON.stringify(object),
        });
        if (code !== 0) return;
        acknowledged.push(name);
        if (acknowledged.length === 25) first.signal('SIGKILL');
      }
    });
    await Promise.all([first.ended, ...creating]);
    expect(acknowledged.length).toBeGreaterThanOrEqual(25);
    const second = await start(['--provider', 'memory']);
    const found = (await second.ok(['get', 'configmaps', '-o', 'name'])).trim().split('\n');
    expect(found.map((name) => name.replace('configmap/', ''))).toEqual(
      expect.arrayContaining(acknowledged) as unknown,
    );
  });

  test('stops all pods within their grace at Ctrl-C, says so, and brings them back', async () => {
    manifest('static', obedient);
    manifest('stubborn', defiant);
    const first = await start();
    await first.ok(['apply', '-f', '-'], shellPod('applied', mark, obedient));
    await allReady(first, ['static-e2e', 'stubborn-e2e', 'applied']);
    const { metadata } = await first.pod('applied');
    const at = Date.now();
    first.signal('SIGINT');
    expect(await first.ended).toBe(0);
    expect(Date.now() - at).toBeLessThan(5000);
    expect(processesOf(mark).size).toBe(0);
    const progress = first.told.filter(({ type }) => type === 'stopping').map(({ pods = [] }) => pods.length);
    expect(progress[0]).toBe(3);
    expect(progress.at(-1)).toBe(0);
    expect(progress).toContain(1);
    expect(first.told.at(-1)).toMatchObject({ type: 'stopped', leftRunning: false });

    const second = await start();
    await allReady(second, ['static-e2e', 'stubborn-e2e', 'applied']);
    const back = await second.pod('applied');
    expect(back.metadata?.uid).toBe(metadata?.uid);
    await expect
      .poll(() => new Set(processesOf(mark).values()), { timeout: 10_000 })
      .toEqual(new Set(['static-e2e', 'stubborn-e2e', 'applied']));
  });

  test('kills what is left at the second Ctrl-C', async () => {
    const long = { terminationGracePeriodSeconds: 600 };
    const agent = await start();
    await agent.ok(['apply', '-f', '-'], shellPod('patient', mark, defiant, long));
    await allReady(agent, ['patient']);
    agent.signal('SIGINT');
    await agent.tells(({ type, pods }) => type === 'stopping' && pods?.length === 1);
    agent.signal('SIGINT');
    expect(await agent.ended).toBe(130);
    expect(processesOf(mark).size).toBe(0);
  });

  test('leaves the pods running with --leave-running, and finds them again', async () => {
    manifest('static', obedient);
    const first = await start(['--leave-running']);
    await allReady(first, ['static-e2e']);
    const before = await pids(first, ['static-e2e']);
    const running = [...processesOf(mark).keys()].sort();
    first.signal('SIGTERM');
    expect(await first.ended).toBe(0);
    expect(first.told.at(-1)).toMatchObject({ type: 'stopped', leftRunning: true });
    expect([...processesOf(mark).keys()].sort()).toEqual(running);
    const second = await start();
    await second.nodeAnswers();
    await allReady(second, ['static-e2e']);
    expect(await pids(second, ['static-e2e'])).toEqual(before);
  });

  test('runs the pods of a manifest URL, and stops those that it no longer names', async () => {
    let body = shellPod('remote', mark, obedient);
    const server: Server = createServer((_request, response) => response.end(body));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = server.address();
    const port = typeof address === 'object' && address ? address.port : 0;
    try {
      const url = `http://127.0.0.1:${port}/pods`;
      const agent = await start(['--manifest-url', url, '--http-check-frequency=1s']);
      const pods = agent.watchPods();
      await pods.until('remote-e2e', (pod) => condition(pod, 'Ready') === 'True');
      body = shellPod('other', mark, obedient);
      await pods.until('other-e2e', (pod) => condition(pod, 'Ready') === 'True');
      await pods.until('remote-e2e', (_pod, type) => type === 'DELETED');
      body = 'not a pod: [';
      await agent.tells(({ type, source }) => type === 'problem' && source === url);
      expect([...processesOf(mark).values()]).toContain('other-e2e');
    } finally {
      server.close();
    }
  });
});
