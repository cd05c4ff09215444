import { execFile } from 'node:child_process';
import { chmodSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Pod } from '../../src/kube/types.ts';
import { defaultApiPort } from '../../src/cli/program.ts';
import { kubectls, noKubectl } from './kubectl.ts';
import { condition, makeDir, Podtender, type PodWatch } from './podtender.ts';

const execute = promisify(execFile);
const repository = join(import.meta.dirname, '../..');

/** The shell blocks of the section of docs/second-cluster.md, in their order. */
const blocks = Array.from(
  readFileSync(join(repository, 'docs/second-cluster.md'), 'utf8')
    .split('## Two clusters on one machine')[1]!
    .split('\n## ')[0]!
    .matchAll(/```sh\n([\s\S]*?)```/g),
  ([, text = '']) => text,
);

/** The arguments of `podtender up` in a block. */
const typed = (block: string): readonly string[] => (block.split('podtender up ')[1] ?? '').trim().split(' ');

/** The same without those of which a test has others. */
const argsOf = (block: string): readonly string[] =>
  typed(block).filter(
    (_word, index, words) =>
      !['--data-dir', '--port'].some((flag) => [words[index], words[index - 1]].includes(flag)),
  );

/** The port of the API server of a block's command. */
const portOf = (block: string): number => {
  const words = typed(block);
  const at = words.indexOf('--port');
  return at < 0 ? defaultApiPort : Number(words[at + 1]);
};

test('both clusters of the page have a port of their own, as they run at the same time', () => {
  const commands = blocks.filter((block) => block.includes('podtender up '));
  expect(commands).toHaveLength(2);
  expect(new Set(commands.map(portOf)).size).toBe(2);
});

/** What docs/second-cluster.md says of two clusters on one machine, with real kubectl on both. */
describe.skipIf(noKubectl !== undefined)('two clusters on one machine', { timeout: 90_000 }, () => {
  const dir = makeDir();
  let there: Podtender;
  let here: Podtender;
  let pods: PodWatch;

  /** Runs a block of the page in the folder of both clusters. */
  const shell = async (block: string): Promise<string> => {
    const bin = `${dir.path}/bin:${dirname(kubectls[0]!.path)}`;
    const env = { ...process.env, PATH: `${bin}:${process.env['PATH'] ?? ''}` };
    const { stdout } = await execute('bash', ['-eu', '-c', block], { cwd: dir.path, env });
    return stdout;
  };

  beforeAll(async () => {
    symlinkSync(join(repository, 'examples'), `${dir.path}/examples`);
    await execute('mkdir', [`${dir.path}/bin`]);
    const kubectl = `${dir.path}/bin/kubectl`;
    writeFileSync(kubectl, `#!/bin/sh\nexec ${kubectls[0]!.path} "$@"\n`);
    chmodSync(kubectl, 0o755);
    const [backing = '', account = '', agent = ''] = blocks;
    await execute('mkdir', [`${dir.path}/none`]);
    /** The arguments with the files of the page in the test's folder. */
    const placed = (block: string): readonly string[] =>
      argsOf(block).map((word) => (['backing.yaml', 'none'].includes(word) ? `${dir.path}/${word}` : word));
    there = await Podtender.up({ dataDir: `${dir.path}/there`, args: placed(backing) });
    await there.ok(['wait', '--for=condition=Ready', 'node/worker', '--timeout=30s']);
    await shell(account);
    here = await Podtender.up({ dataDir: `${dir.path}/here`, args: placed(agent) });
    pods = here.watchPods();
  }, 120_000);
  afterAll(async () => {
    await here.end();
    await there.end();
    dir.remove();
  }, 60_000);

  const backing = async (): Promise<readonly Pod[]> => {
    const list = await there.ok(['get', 'pods', '-n', 'podtender', '-o', 'json']);
    return (JSON.parse(list) as { readonly items: readonly Pod[] }).items;
  };

  test('the page says how to create a pod here and to see it in both', async () => {
    const output = await shell(blocks[3] ?? '');
    expect(output).toContain('pod/hello condition met');
    expect(output).toContain('hello from the other cluster');
    const [pod] = await backing();
    expect(output).toMatch(new RegExp(`^${pod?.metadata?.name} +1/1 +Running .* worker `, 'm'));
    expect(output).toMatch(/^hello +1\/1 +Running .* edge /m);
  });

  test('describe shows the events of there; logs -f, exec with input and port-forward go through', async () => {
    const description = await here.ok(['describe', 'pod', 'hello']);
    expect(description).toMatch(
      /Normal +Scheduled .*Successfully assigned podtender\/hello-[0-9a-f]{10} to worker/,
    );
    expect(description).toMatch(/Normal +Started /);
    expect(await here.ok(['exec', '-i', 'hello', '--', 'cat'], 'from outside')).toBe('from outside');
    expect((await here.kubectl(['exec', 'hello', '--', 'sh', '-c', 'exit 7'])).code).toBe(7);
    const following = here.follow(['logs', '-f', 'hello']);
    await following.lines.waitFor((line) => line === 'hello from the other cluster');
    following.stop();
  });

  test('a label here is a label there; what is deleted here ends there', async () => {
    await here.ok(['label', 'pod', 'hello', 'tier=front']);
    await expect
      .poll(async () => (await backing())[0]?.metadata?.labels?.['tier'], { timeout: 20_000 })
      .toBe('front');
    await here.ok(['delete', 'pod', 'hello', '--timeout=60s']);
    expect(await backing()).toEqual([]);
    expect(await there.ok(['get', 'configmaps,secrets', '-n', 'podtender', '-o', 'name'])).not.toContain(
      'hello',
    );
  });

  test('what is deleted there is Failed here', async () => {
    await here.ok(['apply', '-f', join(repository, 'examples/second-cluster/hello.yaml')]);
    await pods.until('hello', (pod) => condition(pod, 'Ready') === 'True', 60_000);
    const [pod] = await backing();
    await there.ok(['delete', 'pod', '-n', 'podtender', pod?.metadata?.name ?? '', '--wait=false']);
    const failed = await pods.until('hello', ({ status }) => status?.phase === 'Failed', 60_000);
    expect(failed.status?.reason).toBe('BackingPodDeleted');
    expect(await here.ok(['describe', 'pod', 'hello'])).toMatch(/^Reason: +BackingPodDeleted$/m);
    await here.ok(['delete', 'pod', 'hello', '--timeout=60s']);
  });
});
