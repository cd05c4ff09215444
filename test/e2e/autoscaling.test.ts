import { mkdirSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Event } from '../../src/kube/types.ts';
import { noKubectl } from './kubectl.ts';
import { makeDir, Podtender } from './podtender.ts';

const manifest = new URL('../../examples/workloads/busy.yaml', import.meta.url).pathname;

/** What scales by load, as a user sees it: one command, real processes, real kubectl. */
describe.skipIf(noKubectl !== undefined)('autoscaling by load', { timeout: 360_000 }, () => {
  const dir = makeDir();
  let agent: Podtender;
  const ok = async (...args: string[]): Promise<string> => (await agent.ok(args)).trim();

  beforeAll(async () => {
    const manifests = `${dir.path}/none`;
    mkdirSync(manifests);
    agent = await Podtender.up({ dataDir: `${dir.path}/data`, manifests, withinMs: 90_000 });
    await agent.ok(['wait', '--for=create', 'node/e2e', '--timeout=30s']);
    await agent.ok(['wait', '--for=condition=Ready', 'node/e2e', '--timeout=30s']);
    await agent.ok(['apply', '-f', manifest]);
  }, 180_000);

  afterAll(async () => {
    await agent.end();
    dir.remove();
  }, 60_000);

  /** Waits for a size of the Deployment, and says on failure what the autoscaler was up to. */
  const size = async (replicas: number): Promise<void> => {
    const condition = `--for=jsonpath={.status.replicas}=${replicas}`;
    for (let left = 5; ; left--) {
      const { code, stderr } = await agent.kubectl(['wait', condition, 'deployment/busy', '--timeout=25s']);
      if (code === 0) return;
      if (left === 0) throw new Error(`${stderr}\n${await ok('describe', 'hpa/busy')}`);
    }
  };

  test('a Deployment grows step by step while its pods compute, and shrinks when they rest', async () => {
    await ok('rollout', 'status', 'deployment/busy', '--timeout=60s');
    const [first = ''] = (await ok('get', 'pods', '-l', 'app=busy', '-o', 'name')).split('\n');
    // of pods of nearly the same age a ReplicaSet deletes any
    await ok('annotate', first, 'controller.kubernetes.io/pod-deletion-cost=1');
    await ok('exec', first, '--', 'touch', 'work');
    await size(4);
    expect(await ok('get', 'hpa/busy', '-o', 'jsonpath={.status.currentReplicas}')).toMatch(/^[34]$/);
    await ok('exec', first, '--', 'rm', 'work');
    await size(1);
    expect(
      await ok('get', 'pods', '-l', 'app=busy', '--field-selector=status.phase=Running', '-o', 'name'),
    ).toBe(first);
    const events = (await agent.events()) as readonly (Event & { readonly message?: string })[];
    const sizes = events.flatMap(({ reason, message = '' }) =>
      reason === 'SuccessfulRescale' ? [message] : [],
    );
    expect(sizes).toEqual(
      expect.arrayContaining([
        'New size: 3; reason: cpu resource utilization (percentage of request) above target',
        'New size: 4; reason: cpu resource utilization (percentage of request) above target',
        'New size: 2; reason: All metrics below target',
        'New size: 1; reason: All metrics below target',
      ]),
    );
    const conditions = await ok(
      'get',
      'hpa/busy',
      '-o',
      'jsonpath={range .status.conditions[*]}{.type}={.status} {end}',
    );
    expect(conditions).toContain('ScalingActive=True');
  });
});
