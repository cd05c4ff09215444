import { expect, test } from 'vitest';
import { type PodQueries, queriesOf, syncOf } from '../../src/podworkers/queries.ts';
import { endingAt, firstState, type PodState } from '../../src/podworkers/state.ts';
import { testPod } from './bench.ts';

const sync = firstState('web_ns', 0);
const ending = { ...sync, ...endingAt(1) };
const terminating: PodState = { ...ending, phase: 'terminating' };
const terminated: PodState = { ...ending, notify: [], statusFns: [], phase: 'terminated', terminatedAt: 2 };
const finished: PodState = { ...ending, phase: 'finished', terminatedAt: 2 };

/** The names of the questions that are answered with yes. */
const yes = (queries: PodQueries): readonly string[] =>
  Object.entries(queries).flatMap(([name, answer]) => (answer === true ? [name] : []));

const runtimeGone = ['shouldPodRuntimeBeRemoved', 'isPodTerminationRequested', 'isPodKnownTerminated'];

test.for([
  {
    says: 'an unknown pod may well run as long as nobody told the desired pods',
    state: undefined,
    podsSynced: false,
    answers: ['couldHaveRunningContainers'],
  },
  {
    says: 'after that, an unknown pod is nobody’s',
    state: undefined,
    podsSynced: true,
    answers: [
      'shouldPodContainersBeTerminating',
      'shouldPodRuntimeBeRemoved',
      'shouldPodContentBeRemoved',
      'shouldPodBeFinished',
    ],
  },
  {
    says: 'a pod that is synced runs',
    state: sync,
    podsSynced: true,
    answers: ['couldHaveRunningContainers'],
  },
  {
    says: 'an end that has not begun leaves its containers alone',
    state: terminating,
    podsSynced: true,
    answers: ['couldHaveRunningContainers', 'isPodTerminationRequested'],
  },
  {
    says: 'an end that has begun starts no container any more',
    state: { ...terminating, startedTerminating: true },
    podsSynced: true,
    answers: ['couldHaveRunningContainers', 'shouldPodContainersBeTerminating', 'isPodTerminationRequested'],
  },
  {
    says: 'the content of an evicted pod may go while it ends',
    state: { ...terminating, evicted: true },
    podsSynced: true,
    answers: ['couldHaveRunningContainers', 'shouldPodContentBeRemoved', 'isPodTerminationRequested'],
  },
  {
    says: 'the content of a deleted pod stays while it ends',
    state: { ...terminating, deleted: true },
    podsSynced: true,
    answers: ['couldHaveRunningContainers', 'isPodTerminationRequested'],
  },
  {
    says: 'of an ended pod the runtime’s part may go',
    state: terminated,
    podsSynced: true,
    answers: runtimeGone,
  },
  {
    says: 'the content of a deleted pod may go when it has ended',
    state: { ...terminated, deleted: true },
    podsSynced: true,
    answers: ['shouldPodContentBeRemoved', ...runtimeGone],
  },
  {
    says: 'of a finished pod all is done',
    state: finished,
    podsSynced: true,
    answers: ['shouldPodBeFinished', ...runtimeGone],
  },
] satisfies { says: string; state: PodState | undefined; podsSynced: boolean; answers: string[] }[])(
  '$says (R120)',
  ({ state, podsSynced, answers }) => {
    expect(yes(queriesOf(state, podsSynced)).toSorted()).toEqual(answers.toSorted());
  },
);

const web = testPod({ uid: 'u' });
const etcd = testPod({ uid: 's', isStatic: true });
const runningPod = { uid: 'u', name: 'web', namespace: 'ns', containers: [], sandboxes: [] };

test.for([
  { says: 'nobody told anything', state: sync, hasConfig: false, isStatic: false },
  {
    says: 'an update waits',
    state: { ...sync, pending: { type: 'sync' as const, pod: web } },
    hasConfig: true,
    isStatic: false,
  },
  {
    says: 'only the runtime knows it, whatever waits',
    state: {
      ...sync,
      active: { type: 'kill' as const, runningPod },
      pending: { type: 'sync' as const, pod: web },
    },
    hasConfig: false,
    isStatic: false,
  },
  {
    says: 'a static pod',
    state: { ...sync, active: { type: 'sync' as const, pod: etcd } },
    hasConfig: true,
    isStatic: true,
  },
])('what housekeeping is told of a worker: $says (R127)', ({ state, hasConfig, isStatic }) => {
  expect(syncOf(state as PodState, true)).toEqual({
    state: 'sync',
    orphan: true,
    hasConfig,
    static: isStatic,
  });
  expect(syncOf(state as PodState, false).orphan).toBe(false);
});
