import { beforeEach, describe, expect, test } from 'vitest';
import { FakeClock } from '../../../src/base/fake-clock.ts';
import type { Pod } from '../../../src/kube/types.ts';
import { MemoryProvider } from '../../../src/providers/memory/memory-provider.ts';
import { behaviourOf } from '../../../src/providers/memory/behaviour.ts';

const never = new AbortController().signal;
let clock: FakeClock;
let provider: MemoryProvider;
beforeEach(() => {
  clock = new FakeClock(1000);
  provider = new MemoryProvider({ clock });
});

type Spec = NonNullable<Pod['spec']>;

function podOf(annotations: Readonly<Record<string, string>> = {}, spec: Partial<Spec> = {}, uid = 'u'): Pod {
  const prefixed = Object.fromEntries(
    Object.entries(annotations).map(([key, value]) => [`podtender.io/memory.${key}`, value]),
  );
  return {
    metadata: { name: 'p', namespace: 'default', uid, annotations: prefixed },
    spec: { containers: [{ name: 'main', image: 'a' }], ...spec },
  };
}

const statusOf = (uid = 'u') => provider.getPodStatus({ uid, name: 'p', namespace: 'default' });

async function sync(pod: Pod) {
  const observed = await statusOf(pod.metadata?.uid);
  return provider.syncPod({ pod, observed, pullSecrets: [], restartAllContainers: false }, never);
}

const kill = async (graceSeconds: number) => {
  const [running] = await provider.listPods();
  if (running) await provider.killPod(undefined, running, graceSeconds, never);
};

test('a pod runs until it is killed and holds no timer', async () => {
  expect(await sync(podOf())).toMatchObject({
    changed: true,
    results: [{ action: 'StartContainer', target: 'main' }],
  });
  expect(clock.pending).toBe(0);
  expect((await statusOf()).containerStatuses).toMatchObject([{ state: 'running', startedAt: 1000 }]);
  expect(await sync(podOf())).toEqual({ changed: false, results: [] });
  await kill(30);
  const status = await statusOf();
  expect(status.containerStatuses).toMatchObject([{ state: 'exited', exitCode: 0, reason: 'Completed' }]);
  expect(status.sandboxStatuses).toMatchObject([{ state: 'SANDBOX_NOTREADY' }]);
});

test('delays and exit codes are data', async () => {
  await sync(podOf({ 'start-delay-ms': '50', 'main.run-ms': '100', 'run-ms': '9', 'exit-code': '3' }));
  expect((await statusOf()).containerStatuses[0]?.state).toBe('created');
  await clock.advance(50);
  expect((await statusOf()).containerStatuses[0]?.state).toBe('running');
  await clock.advance(100);
  expect((await statusOf()).containerStatuses).toMatchObject([
    { exitCode: 3, reason: 'Error', startedAt: 1050, finishedAt: 1150 },
  ]);
  expect(clock.pending).toBe(0);
});

test('a container that stops too slowly is killed when its grace period is over', async () => {
  await sync(podOf({ 'stop-delay-ms': '60000' }));
  const killed = kill(2);
  await clock.advance(2000);
  await killed;
  expect((await statusOf()).containerStatuses).toMatchObject([{ exitCode: 137, finishedAt: 3000 }]);
});

test('init containers end before the others start, sidecars stay', async () => {
  const spec = {
    initContainers: [
      { name: 'side', image: 'a', restartPolicy: 'Always' },
      { name: 'init', image: 'a' },
    ],
  };
  await sync(podOf({ 'init.run-ms': '10' }, spec));
  expect((await statusOf()).containerStatuses.map(({ name }) => name)).toEqual(['side', 'init']);
  await clock.advance(10);
  await sync(podOf({ 'init.run-ms': '10' }, spec));
  expect((await statusOf()).containerStatuses).toMatchObject([
    { name: 'side', state: 'running' },
    { name: 'init', state: 'exited', exitCode: 0 },
    { name: 'main', state: 'running' },
  ]);
});

test('a crash loop backs off as the kubelet does: at once, then 10 s, 20 s, …', async () => {
  const pod = podOf({ 'run-ms': '0', 'exit-code': '1' });
  await sync(pod);
  await sync(pod);
  const third = await sync(pod);
  expect(third).toMatchObject({
    backOffUntil: 11_000,
    results: [
      {
        reason: 'CrashLoopBackOff',
        message: 'back-off 10s restarting failed container=main pod=p_default(u)',
      },
    ],
  });
  await clock.advance(10_000);
  await sync(pod);
  expect((await statusOf()).containerStatuses[0]?.restartCount).toBe(2);
  expect(await sync(pod)).toMatchObject({ backOffUntil: 31_000 });
});

test.for([
  ['Never', '1', 1],
  ['OnFailure', '0', 1],
  ['OnFailure', '1', 2],
  ['Always', '0', 2],
] as const)('restart policy %s after exit code %s leaves %i lives', async ([restartPolicy, code, lives]) => {
  const pod = podOf({ 'run-ms': '0', 'exit-code': code }, { restartPolicy });
  await sync(pod);
  await sync(pod);
  expect((await statusOf()).containerStatuses).toHaveLength(lives);
});

test('requested failures happen once each, and start failures as often as the pod says', async () => {
  provider.failNext('listPods', new Error('away'));
  await expect(provider.listPods()).rejects.toThrow('away');
  expect(await provider.listPods()).toEqual([]);
  const pod = podOf({ 'start-failures': '1' });
  expect((await sync(pod)).error?.message).toContain('configured to fail to start');
  expect((await sync(pod)).error).toBeUndefined();
});

test('a call that is to hang ends when it is cancelled, and the next one answers', async () => {
  const end = new AbortController();
  provider.hangNext('syncPod');
  const observed = await statusOf();
  const request = { pod: podOf(), observed, pullSecrets: [], restartAllContainers: false };
  const hanging = provider.syncPod(request, end.signal);
  expect((await sync(podOf())).error).toBeUndefined();
  end.abort(new Error('too long'));
  await expect(hanging).rejects.toThrow('too long');
});

test('changes are pushed', async () => {
  const seen: string[] = [];
  provider.onPodEvent((uid) => seen.push(uid));
  await sync(podOf());
  seen.length = 0;
  expect(provider.endContainer('u', 'main', 5)).toBe(true);
  expect(seen).toEqual(['u']);
  expect(provider.endContainer('u', 'main', 5)).toBe(false);
});

test('another image starts the container anew', async () => {
  await sync(podOf());
  await sync(podOf({}, { containers: [{ name: 'main', image: 'b' }] }));
  expect((await statusOf()).containerStatuses).toMatchObject([
    { image: 'b', restartCount: 1 },
    { image: 'a' },
  ]);
});

test('exec answers as the pod says, and only while the container runs', async () => {
  const ref = { podUid: 'u', namespace: 'default', pod: 'p', container: 'main', id: '' };
  await expect(provider.execSync(ref)).rejects.toMatchObject({ code: 'not_found' });
  await sync(podOf({ 'exec-exit-code': '2' }));
  expect((await provider.execSync(ref)).exitCode).toBe(2);
});

describe('what is over', () => {
  test('is forgotten when it is removed', async () => {
    await sync(podOf());
    await kill(0);
    provider.removeDeadContainers('u', true);
    expect(await provider.listPods()).toEqual([]);
    expect(await statusOf()).toMatchObject({ containerStatuses: [], sandboxStatuses: [] });
  });

  test('is forgotten when there is too much of it', async () => {
    provider = new MemoryProvider({ clock, keptPods: 2 });
    for (const uid of ['a', 'b', 'c']) {
      await sync(podOf({}, {}, uid));
      const running = (await provider.listPods()).find((pod) => pod.uid === uid);
      if (running) await provider.killPod(undefined, running, 0, never);
    }
    expect((await provider.listPods()).map(({ uid }) => uid)).toEqual(['b', 'c']);
  });
});

test('an unchanged listing is the same value', async () => {
  await sync(podOf());
  expect(await provider.listPods()).toBe(await provider.listPods());
});

test('annotations that are no numbers count as unsaid', () => {
  expect(behaviourOf(podOf({ 'run-ms': 'soon', 'exit-code': '-1' }), 'main')).toMatchObject({ exitCode: 0 });
});
