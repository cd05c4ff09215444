import { expect, test } from 'vitest';
import { FakeClock } from '../../src/base/fake-clock.ts';
import { silentLogger } from '../../src/base/logger.ts';
import { nameOf } from '../../src/kube/names.ts';
import type { Pod } from '../../src/kube/types.ts';
import { readyCondition } from '../../src/node/setters/conditions.ts';
import {
  type ShutdownKill,
  ShutdownManager,
  shutDownStatus,
} from '../../src/nodeshutdown/shutdown-manager.ts';
import { shutdownWindows, type ShutdownWindow } from '../../src/nodeshutdown/shutdown.ts';

const podOf = (name: string, priority: number, terminationGracePeriodSeconds?: number): Pod => ({
  metadata: { name, namespace: 'default', uid: name, generation: 2 },
  spec: {
    containers: [{ name: 'c' }],
    priority,
    ...(terminationGracePeriodSeconds !== undefined && { terminationGracePeriodSeconds }),
  },
});

/** A machine that a test stops, and pods that end when the test says so. */
class Machine {
  readonly clock = new FakeClock(Date.UTC(2026, 0, 2, 3, 4, 5));
  readonly log: string[] = [];
  readonly ending = new Map<string, () => void>();
  readonly kills = new Map<string, ShutdownKill>();
  pods: readonly Pod[] = [podOf('web', 0), podOf('dns', 2_000_000_000, 5)];
  tell: (starting: boolean) => void = () => undefined;
  readonly stop = new AbortController();
  readonly times: [string, number][] = [];

  manager(windows: readonly ShutdownWindow[] = shutdownWindows(30_000, 10_000)): ShutdownManager {
    return new ShutdownManager(
      {
        clock: this.clock,
        logger: silentLogger,
        recorder: { event: (_object, _type, reason, message) => this.log.push(`${reason}: ${message}`) },
        nodeRef: { kind: 'Node', metadata: { name: 'node-1' } },
        source: {
          onShutdown: (listener) => {
            this.tell = listener;
            return () => void this.log.push('unsubscribed');
          },
          delay: async () => {
            this.log.push('delayed');
            return () => void this.log.push('released');
          },
        },
        activePods: () => this.pods,
        killPod: (pod, kill) => {
          this.log.push(`kill ${nameOf(pod)} within ${kill.gracePeriodSeconds} s`);
          this.kills.set(nameOf(pod), kill);
          return new Promise((resolve) => this.ending.set(nameOf(pod), resolve));
        },
        podsUnmounted: async (pods) => void this.log.push(`unmounted ${pods.map(nameOf).join()}`),
        noted: (moment, at) => this.times.push([moment, at]),
        syncNodeStatus: async () => void this.log.push('node told'),
      },
      windows,
    );
  }
}

test('groups end in ascending priority, the next when the one before has ended', async () => {
  const machine = new Machine();
  const manager = machine.manager();
  const running = manager.run(machine.stop.signal);
  await machine.clock.advance(0);
  machine.tell(true);
  await machine.clock.advance(0);
  expect([manager.isShuttingDown, manager.fault()]).toEqual([true, 'node is shutting down']);
  expect(machine.kills.has('dns')).toBe(false);
  machine.ending.get('web')?.();
  await machine.clock.advance(0);
  machine.ending.get('dns')?.();
  await machine.clock.advance(0);
  machine.stop.abort();
  await running;
  expect(machine.log).toEqual([
    'delayed',
    'Shutdown: Shutdown manager detected shutdown event',
    'node told',
    'kill web within 20 s',
    'unmounted web',
    'kill dns within 5 s',
    'unmounted dns',
    'released',
    'unsubscribed',
  ]);
  expect(machine.clock.pending).toBe(0);
});

test('a group that does not end gives way when its window is over', async () => {
  const machine = new Machine();
  const manager = machine.manager();
  const done = manager.shutDown();
  await machine.clock.advance(19_999);
  expect(machine.kills.has('dns')).toBe(false);
  await machine.clock.advance(1);
  expect(machine.kills.has('dns')).toBe(true);
  await machine.clock.advance(10_000);
  await done;
  expect(machine.log).not.toContain('unmounted web');
});

test('a window without pods takes no time', async () => {
  const machine = new Machine();
  machine.pods = [podOf('dns', 2_000_000_000)];
  const done = machine.manager().shutDown();
  const startedAt = machine.clock.now();
  await machine.clock.advance(0);
  expect(machine.log).toContain('kill dns within 10 s');
  await machine.clock.advance(2000);
  machine.ending.get('dns')?.();
  await done;
  expect(machine.times).toEqual([
    ['start', startedAt],
    ['end', startedAt + 2000],
  ]);
});

test('a shutdown that is called off is carried through first, then pods are taken again', async () => {
  const machine = new Machine();
  machine.pods = [podOf('web', 0)];
  const manager = machine.manager();
  const running = manager.run(machine.stop.signal);
  await machine.clock.advance(0);
  machine.tell(true);
  machine.tell(false);
  await machine.clock.advance(0);
  expect(manager.isShuttingDown).toBe(true);
  machine.ending.get('web')?.();
  await machine.clock.advance(0);
  expect([manager.isShuttingDown, manager.fault()]).toEqual([false, undefined]);
  machine.stop.abort();
  await running;
  expect(machine.log.slice(-4)).toEqual([
    'Shutdown: Shutdown manager detected shutdown cancellation',
    'delayed',
    'unsubscribed',
    'released',
  ]);
});

test('without windows nothing is watched', async () => {
  const machine = new Machine();
  await machine.manager([]).run(machine.stop.signal);
  expect(machine.log).toEqual([]);
});

test('a pod that was killed fails with the reason, one that had succeeded stays so', () => {
  const pod = podOf('web', 0);
  const message = 'Pod was terminated in response to imminent node shutdown.';
  const now = Date.UTC(2026, 0, 2, 3, 4, 5);
  expect(shutDownStatus({ phase: 'Running' }, pod, now)).toEqual({
    phase: 'Failed',
    reason: 'Terminated',
    message,
    conditions: [
      {
        type: 'DisruptionTarget',
        observedGeneration: 2,
        status: 'True',
        lastTransitionTime: '2026-01-02T03:04:05Z',
        reason: 'TerminationByKubelet',
        message,
      },
    ],
  });
  expect(shutDownStatus({ phase: 'Succeeded' }, pod, now).phase).toBe('Succeeded');
});

test('a node that is shutting down is not ready', async () => {
  const machine = new Machine();
  machine.pods = [];
  const manager = machine.manager();
  await manager.shutDown();
  const shutdown = manager.fault();
  const node = { status: { capacity: { cpu: '1', memory: '1Gi', pods: '110' } } };
  const { node: told } = readyCondition(node, 0, { ...(shutdown !== undefined && { shutdown }) }, false);
  expect(told.status?.conditions?.[0]).toMatchObject({
    type: 'Ready',
    status: 'False',
    reason: 'KubeletNotReady',
    message: 'node is shutting down',
  });
});
