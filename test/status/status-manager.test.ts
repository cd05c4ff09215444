import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Pod, PodStatus } from '../../src/kube/types.ts';
import { isPodStatusByKubeletEqual } from '../../src/status/equal.ts';
import { mergePodStatus } from '../../src/status/merge.ts';
import { normalizeStatus } from '../../src/status/normalize.ts';
import { statusPatch } from '../../src/status/patch.ts';
import { statusClient } from '../../src/status/status-client.ts';
import { apply, now, podOf, world } from './support/status-server.ts';

const phases = ['Pending', 'Running', 'Succeeded', 'Failed'];

const state = fc.oneof(
  fc.constant({ waiting: { reason: 'ContainerCreating' } }),
  fc.constant({ running: { startedAt: '2000-01-01T00:00:00.5Z' } }),
  fc.record({ exitCode: fc.integer({ min: 0, max: 2 }), message: fc.string({ maxLength: 9 }) }).map((t) => ({
    terminated: { ...t, finishedAt: '2000-01-01T00:00:01+01:00' },
  })),
);
const condition = fc.record({
  type: fc.constantFrom('Ready', 'Initialized', 'DisruptionTarget', 'example.com/gate'),
  status: fc.constantFrom('True', 'False'),
  reason: fc.constantFrom('A', 'B'),
});
const status: fc.Arbitrary<PodStatus> = fc.record({
  phase: fc.constantFrom(...phases),
  conditions: fc.uniqueArray(condition, { selector: ({ type }) => type }),
  podIPs: fc.uniqueArray(fc.constantFrom('10.0.0.1', 'fd00::1')).map((ips) => ips.map((ip) => ({ ip }))),
  containerStatuses: fc.array(
    fc.record({
      name: fc.constantFrom('a', 'b'),
      image: fc.constant('i'),
      imageID: fc.constant(''),
      ready: fc.boolean(),
      restartCount: fc.nat(3),
      state,
      lastState: fc.constant({}),
    }),
    { maxLength: 2 },
  ),
});

/** The order of conditions of others moves once more after the end was told; what they say does not. */
const inOrder = (given: PodStatus): PodStatus => ({
  ...given,
  conditions: given.conditions?.toSorted((a, b) => (a.type < b.type ? -1 : 1)) ?? [],
});

describe('properties', () => {
  test('normalising twice is normalising once, and the second costs no object', () => {
    fc.assert(
      fc.property(status, (given) => {
        const once = normalizeStatus(podOf(), given);
        expect(normalizeStatus(podOf(), once)).toBe(once);
      }),
    );
  });

  test('a patch turns the old status into the new one, and then there is nothing left to send', () => {
    fc.assert(
      fc.property(status, status, (old, next) => {
        const { body } = statusPatch('u', old, next);
        const patch = (JSON.parse(body) as { status?: Record<string, unknown> }).status ?? {};
        const patched = apply(old, patch) as PodStatus;
        expect(statusPatch('u', patched, next).unchanged).toBe(true);
      }),
    );
  });

  test('merging what was merged changes nothing', () => {
    fc.assert(
      fc.property(status, status, fc.boolean(), (old, next, couldHaveRunningContainers) => {
        const context = { couldHaveRunningContainers, now };
        const once = mergePodStatus(podOf(), old, next, context);
        const twice = mergePodStatus(podOf(), once, next, context);
        expect(statusPatch('u', inOrder(once), inOrder(twice)).unchanged).toBe(true);
      }),
    );
  });

  test('whatever fails on the way, the last status is on the server in the end and nothing is sent after it', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(status, fc.nat(2)), { minLength: 1, maxLength: 6 }),
        async (given) => {
          const { server, manager } = world();
          let sent = 0;
          for (const [next, failures] of given) {
            manager.setPodStatus(podOf(), next);
            server.failures = failures;
            await manager.wake();
            const version = manager.sentVersions.get('u') ?? 0;
            expect(version).toBeGreaterThanOrEqual(sent);
            sent = version;
          }
          server.failures = 0;
          await manager.syncBatch(true);
          const told = manager.getPodStatus('u') ?? {};
          const merged = mergePodStatus(podOf(), server.pod?.status ?? {}, told, {
            couldHaveRunningContainers: false,
            now,
          });
          expect(statusPatch('u', inOrder(server.pod?.status ?? {}), inOrder(merged)).unchanged).toBe(true);
          const count = server.bodies.length;
          await manager.wake();
          expect(server.bodies).toHaveLength(count);
        },
      ),
      { numRuns: 60 },
    );
  });

  test('a phase that is told never goes back while containers could run', () => {
    fc.assert(
      fc.property(status, status, (old, next) => {
        const merged = mergePodStatus(podOf(), { ...old, phase: 'Running' }, next, {
          couldHaveRunningContainers: true,
          now,
        });
        expect(['Succeeded', 'Failed']).not.toContain(merged.phase);
      }),
    );
  });

  test('a status equals its own copy', () => {
    fc.assert(
      fc.property(status, (given) => {
        expect(isPodStatusByKubeletEqual(given, structuredClone(given))).toBe(true);
      }),
    );
  });
});

describe('the manager', () => {
  test('run tells a new status at once, and a drifted one at the next tick', async () => {
    const { server, pods, manager, clock } = world();
    const abort = new AbortController();
    const done = manager.run(abort.signal);
    manager.setPodStatus(podOf(), { phase: 'Running' });
    await clock.advance(0);
    expect(server.pod?.status?.phase).toBe('Running');
    server.pod = { ...podOf(), status: { phase: 'Pending' } };
    pods.updatePod(server.pod);
    await clock.advance(10_000);
    expect(server.pod.status?.phase).toBe('Running');
    abort.abort();
    await done;
    expect(clock.pending).toBe(0);
  });

  test('a pod is deleted only after its end was told', async () => {
    const { server, pods, manager } = world();
    const deleted = podOf({ deletionTimestamp: now });
    server.pod = deleted;
    pods.updatePod(deleted);
    manager.setPodStatus(deleted, { phase: 'Running' });
    await manager.wake();
    expect(server.pod).toBeDefined();
    manager.terminatePod(deleted);
    await manager.wake();
    expect(server.pod).toBeUndefined();
    expect(server.bodies.at(-1)).toContain('"phase":"Failed"');
    expect(manager.getPodStatus('u')).toBeUndefined();
  });

  test('the API client is asked for three things only', async () => {
    const calls: unknown[] = [];
    const note =
      (name: string) =>
      async (...args: unknown[]): Promise<Pod> => {
        calls.push([name, ...args.slice(1)]);
        return podOf();
      };
    const unused = (): never => {
      throw new Error('not asked for');
    };
    const client = statusClient({
      get: note('get') as never,
      patch: note('patch') as never,
      delete: note('delete'),
      deleteCollection: unused,
      list: unused,
      watch: unused,
      create: unused,
      update: unused,
    });
    await client.getPod('ns', 'p');
    await client.patchStatus('ns', 'p', '{}');
    await client.deletePod('ns', 'p', 'u');
    expect(calls).toEqual([
      ['get', { namespace: 'ns', name: 'p' }, {}],
      ['patch', { namespace: 'ns', name: 'p' }, { type: 'strategic', body: '{}' }, { subresource: 'status' }],
      [
        'delete',
        { namespace: 'ns', name: 'p' },
        { gracePeriodSeconds: 0, preconditions: { uid: 'u' }, discardAnswer: true },
      ],
    ]);
  });
});
