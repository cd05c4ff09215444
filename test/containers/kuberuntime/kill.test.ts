import { describe, expect, test } from 'vitest';
import { FakeClock } from '../../../src/base/fake-clock.ts';
import { silentLogger } from '../../../src/base/logger.ts';
import { HookRunner } from '../../../src/containers/kuberuntime/hooks.ts';
import { ContainerKiller } from '../../../src/containers/kuberuntime/kill.ts';
import type { Container, Pod } from '../../../src/kube/types.ts';

const signal = new AbortController().signal;

/** A killer whose runtime says when each container was told to stop and with what time-out. */
function killerOver(clock: FakeClock, takesMs: Readonly<Record<string, number>> = {}) {
  const stops: string[] = [];
  const events: string[] = [];
  let hooksRunning = 0;
  const runtime = {
    stopContainer: async ({ containerId = '', timeout = 0 }) => {
      stops.push(`${clock.now() / 1000}s ${containerId} ${timeout}`);
      await clock.sleep(takesMs[containerId] ?? 0);
      return {};
    },
    stopPodSandbox: async () => ({}),
    containerStatus: async () => ({}),
    execSync: async (_request: unknown, options?: { signal?: AbortSignal }) => {
      hooksRunning++;
      await clock.sleep(1_000_000, options?.signal).finally(() => hooksRunning--);
      return {};
    },
  };
  const recorder = {
    event: (_pod: unknown, type: string, reason: string, message: string) =>
      void events.push(`${type} ${reason} ${message}`),
  };
  const hooks = new HookRunner({ runtime, clock, recorder, podIps: async () => [] });
  return {
    stops,
    events,
    hooks: () => hooksRunning,
    killer: new ContainerKiller({ runtime, clock, recorder, logger: silentLogger, hooks }),
  };
}

const podOf = (spec: Partial<NonNullable<Pod['spec']>>): Pod => ({
  metadata: { name: 'web', namespace: 'ns', uid: 'u' },
  spec: { containers: [{ name: 'main' }], terminationGracePeriodSeconds: 30, ...spec },
});
const running = (...names: readonly string[]) => ({
  uid: 'u',
  name: 'web',
  namespace: 'ns',
  sandboxes: [],
  containers: names.map((name) => ({ id: `t://${name}`, name, state: 'running' as const })),
});

describe('preStop spends the grace period (R164)', () => {
  test.for<
    readonly [string, NonNullable<Container['lifecycle']>['preStop'], readonly string[], readonly string[]]
  >([
    ['what is left goes to the stop', { sleep: { seconds: 10 } }, ['10s main 20'], []],
    ['a hook that overruns is abandoned', { exec: { command: ['x'] } }, ['30s main 2'], []],
    [
      'a hook that fails is told, without what it said',
      { httpGet: { port: 80 } },
      ['0s main 30'],
      ['Warning FailedPreStopHook PreStopHook failed'],
    ],
    ['a handler of no kind fails', {}, ['0s main 30'], ['Warning FailedPreStopHook PreStopHook failed']],
  ])('%s', async ([, preStop, stops, told]) => {
    const clock = new FakeClock();
    const under = killerOver(clock);
    const lifecycle = preStop ? { preStop } : {};
    const pod = podOf({ containers: [{ name: 'main', lifecycle }] });
    const killed = under.killer.killPod(pod, running('main'), undefined, signal);
    await clock.advance(40_000);
    await killed;
    expect(under.stops).toEqual(stops);
    expect(under.events).toEqual(['Normal Killing Stopping container main', ...told]);
  });
});

test('a hook that overruns the grace is given up a minute later', async () => {
  const clock = new FakeClock();
  const under = killerOver(clock);
  const lifecycle = { preStop: { exec: { command: ['x'] } } };
  const pod = podOf({ containers: [{ name: 'main', lifecycle }] });
  const killed = under.killer.killPod(pod, running('main'), undefined, signal);
  await clock.advance(30_000);
  await killed;
  await clock.advance(59_000);
  expect(under.hooks()).toBe(1);
  await clock.advance(1000);
  expect(under.hooks()).toBe(0);
});

describe('sidecars end last, and in reverse order (R163)', () => {
  const sidecars = ['a', 'b'].map((name) => ({ name, restartPolicy: 'Always' }));
  const pod = podOf({ initContainers: [{ name: 'setup' }, ...sidecars] });

  test('each waits for its turn and pays with its own grace', async () => {
    const clock = new FakeClock();
    const under = killerOver(clock, { main: 5000, b: 2000 });
    const killed = under.killer.killPod(pod, running('a', 'b', 'main'), undefined, signal);
    await clock.advance(10_000);
    await killed;
    expect(under.stops).toEqual(['0s main 30', '5s b 25', '7s a 23']);
  });

  test('a container that does not end in time is waited for no longer than the grace', async () => {
    const clock = new FakeClock();
    const under = killerOver(clock, { main: 100_000 });
    const killed = under.killer.killPod(pod, running('a', 'main'), 10, signal);
    await clock.advance(200_000);
    await killed;
    expect(under.stops).toEqual(['0s main 10', '10s a 2']);
  });

  test('what does not run has its turn behind it', async () => {
    const clock = new FakeClock();
    const under = killerOver(clock);
    const killed = under.killer.killPod(pod, running('a'), undefined, signal);
    await clock.advance(0);
    await killed;
    expect(under.stops).toEqual(['0s a 30']);
  });
});

test('a container that is not in the spec is a failure that names it', async () => {
  const under = killerOver(new FakeClock());
  const [result] = await under.killer.killPod(podOf({}), running('stranger'), undefined, signal);
  expect(result).toMatchObject({ target: 'stranger', reason: 'KillContainerError' });
  expect(result?.message).toContain(
    'failed to get containerSpec "stranger" (id="t://stranger") in pod "web_ns(u)"',
  );
});

test('of containers that end at the same time the last one of the list is reported first', async () => {
  const clock = new FakeClock(0);
  const { killer, stops } = killerOver(clock);
  const pod = podOf({ containers: [{ name: 'old' }, { name: 'mid' }, { name: 'new' }] });
  const killed = killer.killPod(pod, running('new', 'mid', 'old'), 3, signal);
  await clock.advance(0);
  await killed;
  expect(stops).toEqual(['0s old 3', '0s new 3', '0s mid 3']);
});
