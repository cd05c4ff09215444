import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { found, soon } from '../support/found.ts';
import { kubectl, Lines, noKubectl } from './kubectl.ts';
import { program } from './podtender.ts';

interface Line {
  readonly type: string;
  readonly kubeconfig?: string;
  readonly nodesReady?: number;
  readonly podsReady?: number;
}

const pod = (name: string, node: string, annotations: object = {}, spec: object = {}): string =>
  JSON.stringify({
    ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name, annotations } },
    spec: {
      ...{ nodeName: node, automountServiceAccountToken: false, terminationGracePeriodSeconds: 1 },
      containers: [{ name: 'app', image: 'any' }],
      ...spec,
    },
  });

/** `podtender simulate` as a user has it: its own process, used with kubectl. */
describe.skipIf(noKubectl !== undefined)('kubectl with simulated nodes', { timeout: 180_000 }, () => {
  const lines = new Lines();
  let child: ChildProcess;
  let kubeconfig = '';

  const ok = async (args: string, input = ''): Promise<string> => {
    const { code, stdout, stderr } = await kubectl(kubeconfig, args.split(' '), { input });
    if (code !== 0) throw new Error(`kubectl ${args} ended with ${code}: ${stderr}${stdout}`);
    return stdout.trim();
  };
  const line = async (fits: (line: Line) => boolean): Promise<Line> =>
    JSON.parse(await lines.waitFor((text) => fits(JSON.parse(text) as Line), 90_000)) as Line;

  beforeAll(async () => {
    const args = ['simulate', '--nodes', '4', '--pods-per-node', '2', '--output', 'json'];
    child = spawn(process.execPath, [program, ...args], {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: { ...process.env, NODE_OPTIONS: '' },
    });
    if (!child.stdout) throw new Error('the process has no output');
    createInterface({ input: child.stdout }).on('line', (text) => {
      lines.push(text);
    });
    kubeconfig = (await line(({ type }) => type === 'started')).kubeconfig ?? '';
    await line(({ nodesReady, podsReady }) => nodesReady === 4 && podsReady === 8);
  }, 180_000);

  afterAll(() => {
    child.kill('SIGKILL');
  });

  test('nodes are Ready, and pods run on the nodes to which they are bound', async () => {
    const nodes = await ok('get nodes --no-headers');
    expect(nodes.split('\n').map((row) => row.split(/\s+/).slice(0, 2))).toEqual(
      [0, 1, 2, 3].map((n) => [`node-${n}`, 'Ready']),
    );
    await ok('wait --for=condition=Ready node/node-3 pod/node-3-pod-1 --timeout=60s');
    const pods = await ok('get pods --no-headers -o wide --field-selector spec.nodeName=node-2');
    const rows = pods.split('\n').map((row) => row.split(/\s+/));
    expect(rows.map(([name, ready, status]) => [name, ready, status])).toEqual([
      ['node-2-pod-0', '1/1', 'Running'],
      ['node-2-pod-1', '1/1', 'Running'],
    ]);
  });

  test('logs are followed until the container ends, and exec answers with an exit code', async () => {
    const ends = { 'podtender.io/memory.run-ms': '4000', 'podtender.io/memory.log': 'one\ntwo' };
    await ok('create -f -', pod('ending', 'node-0', ends, { restartPolicy: 'Never' }));
    // a busy machine may see it when it has ended
    const followed = await found('a log that can be followed', () => ok('logs --follow ending'));
    expect(followed).toBe('one\ntwo');
    expect(await ok('get pod ending -o jsonpath={.status.phase}')).toBe('Succeeded');
    expect(await ok('exec node-1-pod-0 -- hostname')).toBe('node-1-pod-0');
    expect((await kubectl(kubeconfig, ['exec', 'node-1-pod-0', '--', 'false'])).code).toBe(1);
  });

  test('a pod is deleted after its container, within its grace period', async () => {
    const slow = { 'podtender.io/memory.stop-delay-ms': '400' };
    await ok('create -f -', pod('slow', 'node-0', slow));
    await ok('wait --for=condition=Ready pod/slow --timeout=60s');
    await ok('delete pod slow --timeout=60s');
    expect((await kubectl(kubeconfig, ['get', 'pod', 'slow'])).stderr).toContain('NotFound');
  });

  test('drain empties a node and leaves the others alone', async () => {
    await ok('drain node-1 --force --timeout=60s');
    expect(await ok('get pods -o name --field-selector spec.nodeName=node-1')).toBe('');
    expect(await ok('get node node-1 --no-headers')).toContain('SchedulingDisabled');
    expect(await ok('get pods --no-headers -l podtender.io/simulated-load=true -o name')).toHaveLength(
      'pod/node-0-pod-0'.length * 6 + 5,
    );
    await ok('uncordon node-1');
    await soon('node-1 takes pods again', async () => {
      const { code } = await kubectl(kubeconfig, ['create', '-f', '-'], { input: pod('after', 'node-1') });
      return code === 0;
    });
    await ok('wait --for=condition=Ready pod/after --timeout=60s');
  });

  test('Ctrl-C ends it with a summary', async () => {
    child.kill('SIGINT');
    const [code] = (await once(child, 'exit')) as [number | null];
    expect(code).toBe(0);
    expect(JSON.parse(lines.all.at(-1) ?? '{}')).toMatchObject({ type: 'summary', nodes: 4, nodesReady: 4 });
  });
});
