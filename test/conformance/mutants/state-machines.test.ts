import { expect, test } from 'vitest';
import {
  podtenderStateMachines as own,
  replayStateMachines,
  type StateMachineSubject,
} from '../../../src/conformance/index.ts';

/** The object with some of its members replaced. */
function over<T extends object>(target: T, members: Partial<Record<keyof T, unknown>>): T {
  return new Proxy(target, {
    get(of, name) {
      if (Object.hasOwn(members, name)) return members[name as keyof T];
      const value: unknown = Reflect.get(of, name, of);
      return typeof value === 'function' ? (value.bind(of) as unknown) : value;
    },
  });
}

const never = new AbortController().signal;

/** Each breaks one machine in one way, and is caught by a history of the family that is about it. */
const mutants: readonly (readonly [what: string, family: string, subject: StateMachineSubject])[] = [
  [
    'pod workers that forget the grace period',
    'pod_workers',
    {
      podWorkers: (deps, options) => {
        const { syncer } = deps;
        return own.podWorkers(
          {
            ...deps,
            syncer: over(syncer, {
              syncTerminatingPod: (
                { gracePeriodSeconds: _, ...request }: Parameters<typeof syncer.syncTerminatingPod>[0],
                signal: AbortSignal,
              ) => syncer.syncTerminatingPod({ ...request, gracePeriodSeconds: undefined }, signal),
            }),
          },
          options,
        );
      },
    },
  ],
  [
    'pod workers that never cancel a running sync',
    'pod_workers',
    {
      podWorkers: (deps, options) =>
        own.podWorkers(
          {
            ...deps,
            syncer: over(deps.syncer, {
              syncPod: (request: Parameters<typeof deps.syncer.syncPod>[0]) =>
                deps.syncer.syncPod(request, never),
            }),
          },
          options,
        ),
    },
  ],
  [
    'pod workers that look again twice as often',
    'pod_workers',
    {
      podWorkers: ({ queue, ...deps }, options) =>
        own.podWorkers(
          {
            ...deps,
            queue: {
              enqueue: (uid, delayMs) => {
                queue.enqueue(uid, delayMs / 2);
              },
            },
          },
          options,
        ),
    },
  ],
  [
    'pod workers that let a running pod be removed',
    'pod_workers',
    {
      podWorkers: (...args) => over(own.podWorkers(...args), { shouldPodRuntimeBeRemoved: () => true }),
    },
  ],
  [
    'pod workers that take an unknown pod for stopped',
    'pod_workers',
    {
      podWorkers: (...args) => {
        const workers = own.podWorkers(...args);
        return over(workers, {
          couldHaveRunningContainers: (uid: string) =>
            workers.stateOf(uid) !== undefined && workers.couldHaveRunningContainers(uid),
        });
      },
    },
  ],
  [
    'pod workers that drop kills',
    'pod_workers',
    {
      podWorkers: (...args) => {
        const workers = own.podWorkers(...args);
        return over(workers, {
          updatePod: (update: Parameters<typeof workers.updatePod>[0]) => {
            if (update.type !== 'kill') workers.updatePod(update);
          },
        });
      },
    },
  ],
  [
    'pod workers that ignore the pods that are wanted',
    'pod_workers',
    { podWorkers: (...args) => over(own.podWorkers(...args), { syncKnownPods: () => new Map() }) },
  ],
  [
    'pod workers that act on an old observation',
    'pod_workers',
    {
      podWorkers: ({ cache, ...deps }, options) =>
        own.podWorkers(
          { ...deps, cache: over(cache, { getNewerThan: (uid: string) => cache.getNewerThan(uid, 0) }) },
          options,
        ),
    },
  ],
  [
    'a status manager that calls every status a change',
    'status_manager',
    {
      statusManager: (...args) => {
        const manager = own.statusManager(...args);
        return over(manager, {
          setPodStatus: (...status: Parameters<typeof manager.setPodStatus>) => {
            manager.setPodStatus(...status);
            return true;
          },
        });
      },
    },
  ],
  [
    'a status manager that ignores readiness',
    'status_manager',
    {
      statusManager: (...args) =>
        over(own.statusManager(...args), { setContainerReadiness: () => undefined }),
    },
  ],
  [
    'a status manager that deletes whichever pod has the name',
    'status_manager',
    {
      statusManager: (deps) =>
        own.statusManager({
          ...deps,
          client: over(deps.client, {
            deletePod: (namespace: string, name: string) => deps.client.deletePod(namespace, name, ''),
          }),
        }),
    },
  ],
  [
    'a status manager that never terminates a pod',
    'status_manager',
    { statusManager: (...args) => over(own.statusManager(...args), { terminatePod: () => undefined }) },
  ],
  [
    'a status manager that keeps orphaned statuses',
    'status_manager',
    {
      statusManager: (...args) =>
        over(own.statusManager(...args), { removeOrphanedStatuses: () => undefined }),
    },
  ],
  [
    'a multiplexer that is always ready',
    'config_mux',
    { podConfig: (...args) => over(own.podConfig(...args), { seenAllSources: () => true }) },
  ],
  [
    'a multiplexer without warnings',
    'config_mux',
    { podConfig: (deps) => own.podConfig({ ...deps, recorder: { event: () => undefined } }) },
  ],
  [
    'a PLEG that is always healthy',
    'pleg',
    { pleg: (...args) => over(own.pleg(...args), { health: () => undefined }) },
  ],
  [
    'a PLEG that forgets requests to look again',
    'pleg',
    { pleg: (...args) => over(own.pleg(...args), { requestReinspect: () => undefined }) },
  ],
  [
    'a probe worker that takes every probe for a success',
    'prober_worker',
    {
      probeWorker: (spec, deps) =>
        own.probeWorker(spec, {
          ...deps,
          probe: async (...call) => {
            await deps.probe(...call);
            return 'Success';
          },
        }),
    },
  ],
  [
    'a pod manager that does not translate mirrors',
    'pod_manager',
    { podManager: () => over(own.podManager(), { translatePodUID: (uid: string) => uid }) },
  ],
  [
    'a pod manager that never removes',
    'pod_manager',
    { podManager: () => over(own.podManager(), { removePod: () => undefined }) },
  ],
  [
    'a work queue that does not wait',
    'work_queue',
    {
      workQueue: (clock) => {
        const queue = own.workQueue(clock);
        return over(queue, {
          enqueue: (uid: string) => {
            queue.enqueue(uid, 0);
          },
        });
      },
    },
  ],
  [
    'a back-off that cannot be reset',
    'backoff',
    { backOff: (...args) => over(own.backOff(...args), { reset: () => undefined }) },
  ],
  [
    'a back-off without an end',
    'backoff',
    { backOff: (clock, options) => own.backOff(clock, { ...options, maxMs: 1e12 }) },
  ],
];

test.for(mutants)('%s: a history of %s catches it', { timeout: 120_000 }, async ([, family, mutant]) => {
  const { failed, families } = await replayStateMachines(
    { ...own, ...mutant },
    { families: [family], bail: true },
  );
  expect(failed).toBeGreaterThan(0);
  expect(families[0]?.diffs[0]).toMatchObject({ family });
});
