import { mkdirSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { noKubectl } from './kubectl.ts';
import { makeDir, Podtender } from './podtender.ts';

const folder = new URL('../../examples/workloads/', import.meta.url).pathname;

/** The example workloads as a user sees them: one command, real processes, real kubectl. */
describe.skipIf(noKubectl !== undefined)('the example workloads', { timeout: 120_000 }, () => {
  const dir = makeDir();
  let agent: Podtender;
  const ok = async (...args: string[]): Promise<string> => (await agent.ok(args)).trim();
  const names = async (kind: string, app: string): Promise<readonly string[]> =>
    (await ok('get', kind, '-l', `app=${app}`, '-o', 'name', '--sort-by=.metadata.name')).split('\n');

  beforeAll(async () => {
    const manifests = `${dir.path}/none`;
    mkdirSync(manifests);
    agent = await Podtender.up({ dataDir: `${dir.path}/data`, manifests });
    await agent.ok(['wait', '--for=create', 'node/e2e', '--timeout=30s']);
    await agent.ok(['wait', '--for=condition=Ready', 'node/e2e', '--timeout=30s']);
    await agent.ok(['apply', '-f', folder]);
  }, 90_000);

  afterAll(async () => {
    await agent.end();
    dir.remove();
  }, 60_000);

  test('a Deployment rolls, tells its history, and goes back', async () => {
    await ok('rollout', 'status', 'deployment/web', '--timeout=60s');
    const before = await names('rs', 'web');
    await ok('set', 'env', 'deployment/web', 'GREETING=hi');
    expect(await ok('rollout', 'status', 'deployment/web', '--timeout=60s')).toMatch(
      /deployment "web" successfully rolled out$/,
    );
    expect(await names('rs', 'web')).toHaveLength(2);
    expect((await ok('rollout', 'history', 'deployment/web')).split('\n').slice(1)).toEqual([
      'REVISION  CHANGE-CAUSE',
      '1         <none>',
      '2         <none>',
    ]);
    await ok('rollout', 'undo', 'deployment/web');
    await ok('rollout', 'status', 'deployment/web', '--timeout=60s');
    const size = await ok('get', ...before, '-o', 'jsonpath={.status.readyReplicas}');
    expect(size).toBe('3');
    expect(await ok('logs', 'deployment/web')).toMatch(/listening on \d+/);
  });

  test('a StatefulSet has its members in order, and loses the last first', async () => {
    await ok('rollout', 'status', 'statefulset/store', '--timeout=60s');
    expect(await names('pod', 'store')).toEqual(['pod/store-0', 'pod/store-1', 'pod/store-2']);
    await ok('scale', 'statefulset/store', '--replicas=1');
    await ok('wait', '--for=delete', 'pod/store-1', '--timeout=60s');
    expect(await names('pod', 'store')).toEqual(['pod/store-0']);
  });

  test('a CronJob gives Jobs of its template', async () => {
    await ok('create', 'job', 'report-now', '--from=cronjob/report');
    await ok('wait', '--for=condition=Complete', 'job/report-now', '--timeout=60s');
    expect(await ok('logs', 'job/report-now')).toMatch(/^load of report-now-\w+: [\d.]+$/);
  });
});
