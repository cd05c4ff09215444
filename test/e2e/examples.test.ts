import { statSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Pod } from '../../src/kube/types.ts';
import { kubectls, noKubectl } from './kubectl.ts';
import { copyExamples, obedient, shellPod } from './manifests.ts';
import {
  condition,
  freePort,
  missingInOrder,
  makeDir,
  Podtender,
  type PodWatch,
  processesOf,
  states,
} from './podtender.ts';

/** The example pods as a new user sees them: one command, real processes, real kubectl. */
describe.skipIf(noKubectl !== undefined)('the example pods', () => {
  const dir = makeDir();
  const mark = `examples-${process.pid}`;
  let agent: Podtender;
  let pods: PodWatch;
  let port = 0;

  beforeAll(async () => {
    port = await freePort();
    copyExamples(`${dir.path}/manifests`, mark, port);
    agent = await Podtender.up({ dataDir: `${dir.path}/data`, manifests: `${dir.path}/manifests` });
    pods = agent.watchPods();
  }, 60_000);

  afterAll(async () => {
    await agent.end();
    dir.remove();
  }, 60_000);

  const ready = (name: string): Promise<Pod> =>
    pods.until(name, (pod) => condition(pod, 'Ready') === 'True', 20_000);

  test('the first line names a kubeconfig that only its owner can read', () => {
    expect(agent.told[0]).toMatchObject({ type: 'started', node: 'e2e' });
    expect(statSync(agent.kubeconfig).mode & 0o777).toBe(0o600);
  });

  test('the node becomes Ready and tells what it is', async () => {
    // the first line is out before the node is registered, and kubectl waits only for what is there
    const nodes = agent.follow(['get', '--raw', '/api/v1/nodes?watch=true']);
    await nodes.lines.waitFor((line) => line.includes('"name":"e2e"'));
    nodes.stop();
    await agent.ok(['wait', '--for=condition=Ready', 'node/e2e', '--timeout=20s']);
    const [head = '', line = ''] = (await agent.ok(['get', 'nodes', '-o', 'wide'])).split('\n');
    expect(head).toMatch(/^NAME +STATUS +ROLES +AGE +VERSION +INTERNAL-IP/);
    expect(line).toMatch(/^e2e +Ready +<none> +\d+s +v1\.\d+\.\d+ +[\d.]+ .* process:\/\/\d/);
  });

  test('the web server becomes ready by its probe, and answers', async () => {
    await ready('web-e2e');
    const seen = states(pods.history('web-e2e'));
    const wanted = ['Pending', 'Running server=running+ready'];
    expect(missingInOrder(seen, wanted), seen.join('\n')).toEqual([]);
    expect(await (await fetch(`http://127.0.0.1:${port}/`)).text()).toBe('hello from web-e2e\n');
  });

  test('init containers run one after the other, the sidecar between them and on', async () => {
    await ready('init-and-sidecar-e2e');
    const seen = states(pods.history('init-and-sidecar-e2e'));
    const wanted = [
      'Pending',
      'Pending first=running ticker=PodInitializing second=PodInitializing main=PodInitializing',
      'Pending first=Completed:0+ready ticker=running+ready second=running main=PodInitializing',
      'Pending first=Completed:0+ready ticker=running+ready second=Completed:0+ready main=PodInitializing',
      'Running first=Completed:0+ready ticker=running+ready second=Completed:0+ready main=running+ready',
    ];
    expect(missingInOrder(seen, wanted), seen.join('\n')).toEqual([]);
  });

  test('the job succeeds and keeps its log', async () => {
    const job = await pods.until(
      'job-e2e',
      (pod) => pod.status?.phase === 'Succeeded' && condition(pod, 'PodReadyToStartContainers') === 'False',
    );
    const seen = states(pods.history('job-e2e'));
    const wanted = ['Pending', 'Running count=running+ready', 'Succeeded count=Completed:0'];
    expect(missingInOrder(seen, wanted), seen.join('\n')).toEqual([]);
    expect(seen.at(-1)).toBe('Succeeded count=Completed:0');
    const conditions = [
      'PodReadyToStartContainers',
      'Initialized',
      'Ready',
      'ContainersReady',
      'PodScheduled',
    ];
    expect(conditions.map((type) => condition(job, type))).toEqual([
      'False',
      'True',
      'False',
      'False',
      'True',
    ]);
    expect(await agent.ok(['logs', 'job-e2e'])).toBe('step 1 of 3\nstep 2 of 3\nstep 3 of 3\ndone\n');
  });

  test('every kubectl shows, reads, follows, applies and deletes', async () => {
    for (const using of kubectls) {
      const pod = `by-${using.label}`;
      const following = agent.follow(['get', 'pods', '-w'], using);
      await agent.ok(['apply', '-f', '-'], shellPod(pod, mark, obedient), using);
      await agent.ok(['wait', '--for=condition=Ready', `pod/${pod}`, '--timeout=20s'], '', using);
      await following.lines.waitFor((line) => /^by-\S+ +1\/1 +Running +0 +\d+s$/.test(line));
      expect(await agent.ok(['logs', pod], '', using)).toMatch(/^pid \d+\n$/);
      expect(await agent.ok(['describe', 'pod', pod], '', using)).toMatch(
        /Normal +Started +\S+ +kubelet.*Container started/,
      );
      expect(await agent.ok(['apply', '-f', '-'], shellPod(pod, mark, obedient), using)).toBe(
        `pod/${pod} unchanged\n`,
      );
      expect(await agent.ok(['delete', 'pod', pod], '', using)).toMatch(/^pod "by-\S+" deleted/);
      following.stop();
    }
  });

  test('every kubectl runs commands in a container and forwards ports to it', async () => {
    for (const using of kubectls) {
      expect(await agent.ok(['exec', 'web-e2e', '--', 'sh', '-c', 'echo "$HOSTNAME"'], '', using)).toBe(
        'web-e2e\n',
      );
      expect(await agent.ok(['exec', '-i', 'web-e2e', '--', 'cat'], 'from outside', using)).toBe(
        'from outside',
      );
      const failed = await agent.kubectl(['exec', 'web-e2e', '--', 'sh', '-c', 'exit 7'], '', using);
      expect(failed.code).toBe(7);
      const local = await freePort();
      const forwarding = agent.follow(['port-forward', 'pod/web-e2e', `${local}:${port}`], using);
      await forwarding.lines.waitFor((line) => line.startsWith('Forwarding from 127.0.0.1'));
      expect(await (await fetch(`http://127.0.0.1:${local}/`)).text()).toBe('hello from web-e2e\n');
      forwarding.stop();
    }
  });

  test('logs -f tells lines as they come and ends with the container', async () => {
    const script = 'echo one; sleep 1; echo two; exit 3';
    await agent.ok(['apply', '-f', '-'], shellPod('chatty', mark, script, { restartPolicy: 'Never' }));
    await pods.until('chatty', ({ status }) => status?.phase === 'Running');
    const following = agent.follow(['logs', '-f', 'chatty']);
    await following.ended;
    expect(following.lines.all).toEqual(['one', 'two']);
    const failed = await pods.until('chatty', ({ status }) => status?.phase === 'Failed');
    expect(failed.status?.containerStatuses?.[0]?.state?.terminated).toMatchObject({
      exitCode: 3,
      reason: 'Error',
    });
  });

  test('a pod without a node is bound here by the scheduler', async () => {
    const events = await agent.events();
    expect(events).toContainEqual(
      expect.objectContaining({
        reason: 'Scheduled',
        message: 'Successfully assigned default/chatty to e2e',
        involvedObject: expect.objectContaining({ kind: 'Pod', name: 'chatty' }) as unknown,
      }),
    );
  });

  test('what ignores the stop signal is killed once its grace period is over', async () => {
    await ready('stubborn-e2e');
    const startedAt = Date.now();
    await agent.ok(['delete', 'pod', 'stubborn-e2e', '--wait=false']);
    // the mirror is only an image: the pod goes on and has a new one
    await pods.until('stubborn-e2e', (_pod, type) => type === 'DELETED');
    await pods.until(
      'stubborn-e2e',
      (pod, type) => type === 'ADDED' && pod.metadata?.deletionTimestamp === undefined,
    );
    expect([...processesOf(mark).values()]).toContain('stubborn-e2e');
    const script = 'trap "" TERM; while :; do sleep 1; done';
    await agent.ok(['apply', '-f', '-'], shellPod('defiant', mark, script));
    await ready('defiant');
    await agent.ok(['delete', 'pod', 'defiant']);
    const last = pods
      .history('defiant')
      .filter(({ type }) => type === 'MODIFIED')
      .at(-1)?.object;
    expect(last?.status?.containerStatuses?.[0]?.state?.terminated).toMatchObject({ exitCode: 137 });
    expect(Date.now() - startedAt).toBeGreaterThan(2000);
    expect([...processesOf(mark).values()]).not.toContain('defiant');
  });

  test('delete --force takes the object at once and the processes soon after', async () => {
    await agent.ok(['apply', '-f', '-'], shellPod('forced', mark, obedient));
    await ready('forced');
    await agent.ok(['delete', 'pod', 'forced', '--force', '--grace-period=0']);
    await expect.poll(() => [...processesOf(mark).values()], { timeout: 10_000 }).not.toContain('forced');
  });

  test('the crashing pod is restarted after 10 s, then backs off for longer', async () => {
    const waiting = await pods.until(
      'crash-loop-e2e',
      ({ status }) => status?.containerStatuses?.[0]?.state?.waiting?.reason === 'CrashLoopBackOff',
      25_000,
    );
    expect(waiting.status?.containerStatuses?.[0]).toMatchObject({
      restartCount: 1,
      state: {
        waiting: {
          message: expect.stringMatching(/^back-off 10s restarting failed container=main/) as unknown,
        },
      },
      lastState: { terminated: { exitCode: 1, reason: 'Error' } },
    });
    await pods.until('crash-loop-e2e', ({ status }) => status?.containerStatuses?.[0]?.restartCount === 2);
    // once it has died again its life before is removed, and there is no such log until it is told to back off
    let previous = await agent.kubectl(['logs', 'crash-loop-e2e', '--previous']);
    for (let tries = 0; previous.code !== 0 && tries < 200; tries++) {
      expect(previous.stderr).toContain('no container');
      previous = await agent.kubectl(['logs', 'crash-loop-e2e', '--previous']);
    }
    expect(previous.stdout).toBe('starting, and failing in a second\nno luck\n');
    // how soon the first look at the runtime comes decides whether its creation and its second of life are seen
    const seen = states(pods.history('crash-loop-e2e')).filter(
      (state) => state !== 'Pending main=ContainerCreating' && state !== 'Running main=running+ready',
    );
    expect(seen.slice(0, 6)).toEqual([
      'Pending',
      'Running main=Error:1',
      'Running main=running+ready#1',
      'Running main=Error:1#1',
      'Running main=CrashLoopBackOff#1',
      'Running main=running+ready#2',
    ]);
    expect(await agent.ok(['get', 'events', '--field-selector', 'reason=BackOff'])).toMatch(
      /Warning +BackOff +pod\/crash-loop-e2e +Back-off restarting failed container main in pod crash-loop-e2e_default/,
    );
  });
});
