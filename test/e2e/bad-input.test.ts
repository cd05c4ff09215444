import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, openSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { noKubectl } from './kubectl.ts';
import { obedient, shellPod } from './manifests.ts';
import { condition, makeDir, Podtender, type PodWatch, processesOf, program } from './podtender.ts';

/** What users get wrong. Each is told clearly, and the other pods go on. */
describe.skipIf(noKubectl !== undefined)('bad input to a running agent', { timeout: 60_000 }, () => {
  const dir = makeDir();
  const manifests = `${dir.path}/manifests`;
  const mark = `bad-input-${process.pid}`;
  let agent: Podtender;
  let pods: PodWatch;

  beforeAll(async () => {
    mkdirSync(manifests);
    writeFileSync(`${manifests}/good.yaml`, shellPod('good', mark, obedient));
    const args = ['--file-check-frequency=1s'];
    agent = await Podtender.up({ dataDir: `${dir.path}/data`, manifests, args });
    pods = agent.watchPods();
    await pods.until('good-e2e', (pod) => condition(pod, 'Ready') === 'True');
  }, 60_000);

  afterAll(async () => {
    await agent.end();
    dir.remove();
  }, 60_000);

  /** Writes a file and waits for what is to be said of it. */
  const told = async (file: string, content: string | Buffer, expected: RegExp): Promise<void> => {
    const from = agent.lines.all.length;
    const path = `${manifests}/${file}`;
    writeFileSync(path, content);
    await agent.tells(
      ({ type, source, message = '' }) => type === 'problem' && source === path && expected.test(message),
      20_000,
      from,
    );
    rmSync(path);
  };

  const pod = shellPod('other', mark, obedient);

  test.for([
    ['a broken manifest', 'broken.yaml', 'apiVersion: v1\nkind: Pod\nmetadata: {name: [\n', /line \d|yaml/i],
    ['a half-written one', 'half.yaml', pod.slice(0, pod.indexOf('terminationGrace')), /container/i],
    ['YAML with tabs', 'tabs.yaml', 'apiVersion: v1\nkind: Pod\nmetadata:\n\tname: tabs\n', /tab/i],
    ['another kind', 'kind.yaml', 'apiVersion: v1\nkind: Service\nmetadata: {name: s}\n', /Service/],
    ['a file of 11 MiB', 'big.yaml', 'x'.repeat(11 << 20), /10 ?Mi|10485760|too large|larger/i],
    [
      'a binary file',
      'binary.yaml',
      Buffer.from([0, 159, 146, 150, 0, 1, 2, 3]),
      /binary|control|UTF-8|text/i,
    ],
  ] as const)('%s', async ([, file, content, expected]) => {
    await told(file, content, expected);
    expect([...processesOf(mark).values()]).toEqual(expect.arrayContaining(['good-e2e']) as unknown);
  });

  test('an unreadable file', async () => {
    const path = `${manifests}/loop.yaml`;
    symlinkSync(path, path); // as unreadable to root as to others
    await agent.tells(
      ({ type, source, message = '' }) =>
        type === 'problem' && source === path && /symbolic link|ELOOP/i.test(message),
    );
    rmSync(path);
  });

  test('two manifests of one name: the last one counts, and both are named', async () => {
    const from = agent.lines.all.length;
    writeFileSync(`${manifests}/twin-a.yaml`, shellPod('twin', mark, obedient));
    await pods.until('twin-e2e', (one) => condition(one, 'Ready') === 'True');
    writeFileSync(`${manifests}/twin-b.yaml`, shellPod('twin', mark, 'echo another; sleep 1000'));
    await agent.tells(
      ({ type, message = '' }) =>
        type === 'problem' &&
        /default\/twin-e2e is defined more than once, in .*twin-a.*twin-b/.test(message),
      20_000,
      from,
    );
    rmSync(`${manifests}/twin-a.yaml`);
    rmSync(`${manifests}/twin-b.yaml`);
    await expect.poll(() => [...processesOf(mark).values()], { timeout: 20_000 }).not.toContain('twin-e2e');
  });

  test('a directory that vanishes and comes back: its pods end and come back, others go on', async () => {
    await agent.ok(['apply', '-f', '-'], shellPod('applied', mark, obedient));
    await pods.until('applied', (one) => condition(one, 'Ready') === 'True');
    const from = agent.lines.all.length;
    renameSync(manifests, `${manifests}.away`);
    const { message } = await agent.tells(
      ({ type, source }) => type === 'problem' && source === manifests,
      20_000,
      from,
    );
    expect(message).toMatch(/^path does not exist, ignoring; create the directory/);
    await pods.until('good-e2e', (_pod, type) => type === 'DELETED');
    expect([...processesOf(mark).values()]).toContain('applied');
    writeFileSync(`${manifests}.away/later.yaml`, shellPod('later', mark, obedient));
    renameSync(`${manifests}.away`, manifests);
    await pods.until('later-e2e', (one) => condition(one, 'Ready') === 'True');
    await expect.poll(() => [...processesOf(mark).values()], { timeout: 20_000 }).toContain('good-e2e');
  });

  test.for([
    ['a program that does not exist', ['/no/such/program'], /no\/such\/program/],
    ['a program that is not executable', ['/etc/passwd'], /permission|not executable|EACCES/i],
  ] as const)('%s', async ([, command, expected]) => {
    const name = `wrong-${expected.source.length}`;
    const spec = { restartPolicy: 'Never', containers: [{ name: 'main', image: 'busybox', command }] };
    await agent.ok(['apply', '-f', '-'], shellPod(name, mark, '', spec));
    const event = await agent.tells(
      ({ type, about, message = '' }) => type === 'event' && about?.name === name && expected.test(message),
    );
    expect(event.reason).toMatch(/Failed/);
    await agent.ok(['delete', 'pod', name]);
  });

  test('a program that dies at once', async () => {
    await agent.ok(['apply', '-f', '-'], shellPod('dies', mark, 'exit 9'));
    await pods.until('dies', ({ status }) => (status?.containerStatuses?.[0]?.restartCount ?? 0) >= 1);
    await agent.tells(({ about, reason }) => about?.name === 'dies' && reason === 'BackOff');
    const { status } = await agent.pod('dies');
    const [container] = status?.containerStatuses ?? [];
    const ended = container?.state?.terminated ?? container?.lastState?.terminated;
    expect(ended).toMatchObject({ exitCode: 9, reason: 'Error' });
    await agent.ok(['delete', 'pod', 'dies']);
  });

  test('a pod that asks for more CPU than the node has', async () => {
    const resources = { requests: { cpu: '4000' } };
    const containers = [{ name: 'main', image: 'busybox', command: ['sleep', '1'], resources }];
    await agent.ok(['apply', '-f', '-'], shellPod('greedy', mark, '', { containers }));
    const failed = await pods.until('greedy', ({ status }) => status?.phase === 'Failed');
    expect(failed.status?.reason).toBe('OutOfcpu');
    expect(failed.status?.message).toMatch(/Node didn't have enough resource: cpu, requested: 4000000/);
    await agent.tells(({ about, reason }) => about?.name === 'greedy' && reason === 'OutOfcpu');
  });

  test('a pod that the provider cannot honour is rejected, with the reason', async () => {
    const volumes = [{ name: 'v', nfs: { server: 'x', path: '/' } }];
    await agent.ok(['apply', '-f', '-'], shellPod('nfs', mark, obedient, { volumes }));
    const failed = await pods.until('nfs', ({ status }) => status?.phase === 'Failed');
    expect(failed.status?.message).toMatch(/nfs/i);
  });
});

describe('bad input to the command', () => {
  const dir = makeDir();
  afterAll(() => {
    dir.remove();
  });

  /** What the command says on stderr, and its exit code. */
  const refused = async (
    args: readonly string[],
    dataDir = `${dir.path}/data`,
  ): Promise<[unknown, string]> => {
    const agent = new Podtender({ dataDir, args });
    const code = await agent.ended;
    return [code, agent.stderr.all.join('\n')];
  };

  test('a config file with a typo: the setting is named, with the one that was meant', async () => {
    const file = `${dir.path}/kubelet.yaml`;
    const head = 'apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n';
    writeFileSync(file, `${head}maxPods: many\nsyncFrequenzy: 10s\n`);
    const [code, said] = await refused(['--config', file]);
    expect(code).not.toBe(0);
    expect(said).toMatch(/kubelet\.yaml:3.*maxPods/);
    expect(said).not.toMatch(/\n\s+at /);
  });

  test('a port in use', async () => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = server.address();
    const port = typeof address === 'object' && address ? address.port : 0;
    const [code, said] = await refused(['--port', String(port)]);
    server.close();
    expect(code).toBe(75);
    expect(said).toMatch(new RegExp(`port ${port} is in use; choose another with --port`));
    expect(said).not.toMatch(/\n\s+at /);
  });

  test('manifests that are not there: the flag that was typed is named', async () => {
    const agent = await Podtender.up({
      dataDir: `${dir.path}/nowhere`,
      manifests: '/no/such/manifests',
      args: ['--provider', 'memory'],
    });
    const { message } = await agent.tells(({ type }) => type === 'problem');
    await agent.end();
    expect(message).toMatch(/^path does not exist, ignoring; .*set --manifests to where the manifests are/);
  });

  test('a data directory of another version', async () => {
    const other = `${dir.path}/other`;
    mkdirSync(other);
    writeFileSync(`${other}/format`, 'podtender data 99\n');
    const [code, said] = await refused([], other);
    expect(code).toBe(73);
    expect(said).toMatch(/data directory .*other holds "podtender data 99", this version reads/);
  });

  test('a data directory that is no directory, or that cannot be written', async () => {
    const file = `${dir.path}/file`;
    writeFileSync(file, '');
    for (const path of [file, '/proc/podtender']) {
      const [code, said] = await refused([], path);
      expect(code).toBe(73);
      expect(said).toMatch(/data directory .* cannot be used: .*--data-dir/);
    }
  });
});

describe('output that a full disk does not take', () => {
  const dir = makeDir();
  afterAll(() => {
    dir.remove();
  });
  const full = (): number => openSync('/dev/full', 'w');

  test('a command that only tells fails', () => {
    const stdio = ['ignore', full(), 'inherit'] as const;
    expect(spawnSync(process.execPath, [program, 'explain'], { stdio: [...stdio] }).status).toBe(1);
  });

  test('pods go on', async () => {
    const dataDir = `${dir.path}/data`;
    const words = [
      program,
      'up',
      '--provider',
      'memory',
      '--data-dir',
      dataDir,
      '--port',
      '0',
      '--output',
      'plain',
    ];
    const agent = spawn(process.execPath, words, { stdio: ['ignore', full(), 'inherit'] });
    const ended = once(agent, 'exit');
    await expect.poll(() => existsSync(`${dataDir}/kubeconfig`), { timeout: 20_000 }).toBe(true);
    agent.kill('SIGINT');
    expect(await ended).toEqual([0, null]);
  });
});
