import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import type { Node } from '../../src/kube/types.ts';
import { CriNode, noCriNode, onePod, shell, sleeps } from './cri-node.ts';
import { kubectl, kubectls, noKubectl, type KubectlProgram, type Outcome } from './kubectl.ts';
import { obedient } from './manifests.ts';
import { condition, makeDir, Podtender, processesOf } from './podtender.ts';

const mark = `top-${process.pid}`;

const podOf = (name: string, scripts: Readonly<Record<string, string>>): object => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, namespace: 'default', labels: { app: name } },
  spec: {
    terminationGracePeriodSeconds: 1,
    containers: Object.entries(scripts).map(([container, script]) => ({
      name: container,
      image: 'busybox',
      command: ['sh', '-c', script],
      env: [{ name: 'E2E', value: mark }],
    })),
  },
});

/** The rows of a table without its head, in words. */
const rows = (table: string): readonly (readonly string[])[] =>
  table
    .trim()
    .split('\n')
    .slice(1)
    .map((line) => line.trim().split(/\s+/));

const number = (amount = ''): number => Number(/^(\d+)(m|Mi|%)$/.exec(amount)?.[1]);

/** A pod that computes all the time and one that sleeps, as `kubectl top` sees them. */
describe.skipIf(noKubectl !== undefined)('kubectl top', { timeout: 60_000 }, () => {
  const dir = makeDir();
  let agent: Podtender;

  beforeAll(async () => {
    const manifests = `${dir.path}/none`;
    mkdirSync(manifests);
    agent = await Podtender.up({ dataDir: `${dir.path}/data`, manifests });
    const watch = agent.watchPods();
    const pods = [
      podOf('busy', { main: 'echo ready; while :; do :; done' }),
      podOf('idle', { one: obedient, two: obedient }),
    ];
    await agent.ok(['apply', '-f', '-'], pods.map((pod) => `---\n${JSON.stringify(pod)}\n`).join(''));
    for (const name of ['busy', 'idle'])
      await watch.until(name, (pod) => condition(pod, 'Ready') === 'True', 60_000);
  }, 90_000);

  afterAll(async () => {
    await agent.end();
    for (const pid of processesOf(mark).keys()) process.kill(pid, 'SIGKILL');
    dir.remove();
  }, 60_000);

  describe.for(kubectls)('$label', (program: KubectlProgram) => {
    const top = (...args: readonly string[]): Promise<string> => agent.ok(['top', ...args], '', program);

    test('node', async () => {
      const [node = [], ...others] = rows(await top('node'));
      expect([node[0], others]).toEqual(['e2e', []]);
      const [, cores, ofCores, memory, ofMemory] = node;
      expect(number(cores)).toBeGreaterThan(50);
      for (const amount of [ofCores, memory, ofMemory]) expect(number(amount)).toBeGreaterThan(0);
    });

    test('pod -A', async () => {
      const all = rows(await top('pod', '-A'));
      const byName = new Map(all.map(([namespace, name, ...amounts]) => [`${namespace}/${name}`, amounts]));
      expect([...byName.keys()].sort()).toEqual(['default/busy', 'default/idle']);
      expect(number(byName.get('default/busy')?.[0])).toBeGreaterThan(50);
      expect(number(byName.get('default/idle')?.[0])).toBeLessThan(50);
      expect(number(byName.get('default/idle')?.[1])).toBeGreaterThan(0);
    });

    test('pod, sorted by use', async () => {
      expect(rows(await top('pod', '--sort-by=cpu')).map(([name]) => name)).toEqual(['busy', 'idle']);
      const bytes = rows(await top('pod', '--sort-by=memory')).map((row) => number(row[2]));
      expect(bytes).toEqual([...bytes].sort((a, b) => b - a));
    });

    test('pod --containers', async () => {
      const found = rows(await top('pod', 'idle', '--containers')).map(([pod, name]) => `${pod}/${name}`);
      expect(found.sort()).toEqual(['idle/one', 'idle/two']);
    });

    test('pod -l', async () => {
      expect(rows(await top('pod', '-l', 'app=busy')).map(([name]) => name)).toEqual(['busy']);
    });

    test('a pod that is not there', async () => {
      expect(await agent.kubectl(['top', 'pod', 'none'], '', program)).toEqual({
        code: 1,
        stdout: '',
        stderr: 'Error from server (NotFound): pods "none" not found\n',
      });
    });

    test('straight at the kubelet with a client certificate', async () => {
      const node = JSON.parse(await agent.ok(['get', 'node', 'e2e', '-o', 'json'])) as Node;
      const host = node.status?.addresses?.find(({ type }) => type === 'InternalIP')?.address ?? '';
      const port = node.status?.daemonEndpoints?.kubeletEndpoint?.Port ?? 0;
      const { users, clusters } = parse(readFileSync(agent.kubeconfig, 'utf8')) as {
        users: { user: Record<string, string> }[];
        clusters: { cluster: Record<string, string> }[];
      };
      const file = (name: string, data = ''): string => {
        writeFileSync(`${dir.path}/${name}`, Buffer.from(data, 'base64'), { mode: 0o600 });
        return `${dir.path}/${name}`;
      };
      const [user, cluster] = [users[0]?.user, clusters[0]?.cluster];
      const ca = `--certificate-authority=${file('ca', cluster?.['certificate-authority-data'])}`;
      const own = [
        `--client-certificate=${file('cert', user?.['client-certificate-data'])}`,
        `--client-key=${file('key', user?.['client-key-data'])}`,
      ];
      const raw = (path: string, ...more: readonly string[]): Promise<Outcome> =>
        kubectl('/dev/null', [`--server=https://${host}:${port}`, ca, ...more, 'get', '--raw', path], {
          program,
        });
      const text = async (path: string): Promise<string> => {
        const { code, stdout, stderr } = await raw(path, ...own);
        expect(code, stderr).toBe(0);
        return stdout;
      };
      const { items } = JSON.parse(await text('/pods')) as { items: { metadata: { name: string } }[] };
      expect(items.map(({ metadata }) => metadata.name).sort()).toEqual(['busy', 'idle']);
      expect(await text('/containerLogs/default/busy/main')).toBe('ready\n');
      const metrics = (await text('/metrics')).split('\n');
      expect(metrics).toContain('kubelet_node_name{node="e2e"} 1');
      expect(metrics).toContain('kubelet_started_pods_total 2');
      expect(metrics).toContain('kubelet_started_containers_total{container_type="container"} 3');
      const nobody = await raw('/pods', '--token=unknown');
      expect(nobody.code, nobody.stdout).not.toBe(0);
      expect(nobody.stderr).toMatch(/Unauthorized|must be logged in/);
    });
  });
});

/** The same with containers of containerd: a container that computes as much as it may. */
describe.skipIf(noCriNode !== undefined)('kubectl top of real containers', { timeout: 60_000 }, () => {
  let node: CriNode;

  beforeAll(async () => {
    node = await CriNode.start();
  }, 60_000);
  afterAll(async () => {
    await node.stop();
  }, 60_000);

  test('tells the processor time that a limit leaves, and the memory', async () => {
    const limited = {
      ...shell('while :; do :; done'),
      resources: { limits: { cpu: '200m', memory: '32Mi' } },
    };
    await node.create(onePod('limited', limited), onePod('idle', sleeps));
    for (const name of ['limited', 'idle'])
      await node.until(name, (pod) => condition(pod, 'Ready') === 'True');
    const [first = [], second = []] = rows(await node.agent.ok(['top', 'pod', '--sort-by=cpu']));
    expect([first[0], second[0]]).toEqual(['limited', 'idle']);
    expect(number(first[1])).toBeGreaterThan(100);
    expect(number(first[1])).toBeLessThan(300);
    expect(number(second[1])).toBeLessThan(50);
    for (const [, , memory] of [first, second]) expect(number(memory)).toBeLessThanOrEqual(32);
  });
});
