import { expect, test } from 'vitest';
import type { PodStatus } from '../../src/kube/types.ts';
import {
  emptyPodStatus,
  type RuntimeContainerStatus,
  type RuntimePodStatus,
} from '../../src/provider/runtime-pod.ts';
import { reportedEnd, withReportedConditions, withReportedContainers } from '../../src/status/reported.ts';

const container = (state: RuntimeContainerStatus['state']): RuntimeContainerStatus => ({
  ...{ id: 'c', name: 'main', state, exitCode: 0, image: '', imageId: '', imageRef: '' },
  ...{ hash: 0, restartCount: 0, reason: '', message: '' },
});
const runtime = (
  phase: 'Running' | 'Succeeded' | 'Failed' | undefined,
  states: readonly RuntimeContainerStatus['state'][],
): RuntimePodStatus => ({
  ...emptyPodStatus({ uid: 'u', name: 'n', namespace: 'ns' }),
  containerStatuses: states.map(container),
  ...(phase && { reported: { phase } }),
});

test.for([
  { phase: 'Succeeded', states: [], end: 'Succeeded' },
  { phase: 'Failed', states: ['exited'], end: 'Failed' },
  { phase: 'Succeeded', states: ['exited', 'running'], end: undefined },
  { phase: 'Running', states: ['exited'], end: undefined },
  { phase: undefined, states: ['exited'], end: undefined },
] as const)('reported $phase with containers $states ends the pod as $end', ({ phase, states, end }) => {
  expect(reportedEnd(runtime(phase, states))).toBe(end);
});

const running = (ready: boolean, started = true): PodStatus => ({
  containerStatuses: [
    { name: 'main', ready, started, restartCount: 0, image: '', imageID: '', state: { running: {} } },
  ],
});

test.for([
  { own: true, backend: false, byAgent: true, ready: false },
  { own: false, backend: true, byAgent: true, ready: false },
  { own: true, backend: true, byAgent: true, ready: true },
  { own: false, backend: true, byAgent: false, ready: true },
  { own: true, backend: false, byAgent: false, ready: false },
  { own: true, backend: undefined, byAgent: true, ready: true },
])('ready: agent $own, backend $backend, probes by the agent $byAgent: $ready', (row) => {
  const containers = { main: row.backend === undefined ? {} : { ready: row.backend } };
  const status = withReportedContainers(running(row.own), { containers }, row.byAgent);
  expect(status.containerStatuses?.[0]?.ready).toBe(row.ready);
});

test('conditions that the backend calls True make nothing ready', () => {
  const own = [
    { type: 'Ready', status: 'False', reason: 'ContainersNotReady' },
    { type: 'ContainersReady', status: 'True' },
  ];
  const conditions = [
    { type: 'Ready', status: 'True' },
    { type: 'ContainersReady', status: 'False', reason: 'Draining' },
    { type: 'Initialized', status: 'False' },
  ];
  expect(withReportedConditions(own, { conditions })).toEqual([
    own[0],
    { type: 'ContainersReady', status: 'False', reason: 'Draining' },
  ]);
});

test('a disruption that the backend reports is passed on, once', () => {
  const conditions = [{ type: 'DisruptionTarget', status: 'True', reason: 'PreemptionByScheduler' }];
  expect(withReportedConditions([], { conditions })).toEqual(conditions);
  const own = [{ type: 'DisruptionTarget', status: 'True', reason: 'TerminationByKubelet' }];
  expect(withReportedConditions(own, { conditions })).toEqual(own);
  expect(withReportedConditions([], { conditions: [{ type: 'DisruptionTarget', status: 'False' }] })).toEqual(
    [],
  );
});
