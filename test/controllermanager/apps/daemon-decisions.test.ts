import { expect, test } from 'vitest';
import {
  byNode,
  daemonStatus,
  planRolling,
  planUpkeep,
} from '../../../src/controllermanager/apps/daemon-decisions.ts';
import { daemonPod, nodeFit, targetNode } from '../../../src/controllermanager/apps/daemon-nodes.ts';
import { expiredRevisions } from '../../../src/controllermanager/apps/daemon-revisions.ts';
import { nameOf } from '../../../src/controllermanager/workload/objects.ts';
import type {
  ControllerRevision,
  DaemonSet,
  Node,
  Pod,
} from '../../../src/controllermanager/workload/types.ts';

const now = Date.parse('2026-01-01T00:10:00Z');
const daemonSet = (
  spec: object = {},
  rollingUpdate: object = { maxUnavailable: 1, maxSurge: 0 },
): DaemonSet => ({
  metadata: { namespace: 'default', name: 'log', uid: 'u', generation: 3 },
  spec: {
    selector: { matchLabels: { app: 'log' } },
    template: {
      metadata: { labels: { app: 'log' } },
      spec: { containers: [{ name: 'c', image: 'i' }], ...spec },
    },
    updateStrategy: { type: 'RollingUpdate', rollingUpdate },
  },
});
const node = (name: string, spec: object = {}, labels: Record<string, string> = {}): Node => ({
  metadata: { name, labels },
  spec,
});
interface PodState {
  readonly hash?: string;
  readonly ready?: boolean;
  readonly phase?: string;
  readonly deleted?: boolean;
  readonly pending?: boolean;
  readonly created?: string;
}
const pod = (name: string, on: string, state: PodState = {}): Pod => {
  const {
    hash = 'new',
    ready = true,
    phase = 'Running',
    deleted,
    pending,
    created = '2026-01-01T00:00:00Z',
  } = state;
  const base = daemonPod(daemonSet(), on, hash);
  return {
    metadata: {
      ...base.metadata,
      name,
      creationTimestamp: created,
      ...(deleted && { deletionTimestamp: created }),
    },
    spec: { ...base.spec, containers: [], ...(!pending && { nodeName: on }) },
    status: {
      phase,
      conditions: [
        { type: 'Ready', status: ready ? 'True' : 'False', lastTransitionTime: '2026-01-01T00:00:00Z' },
      ],
    },
  };
};
const view = (nodes: readonly Node[], pods: readonly Pod[]) => ({
  nodes,
  pods: byNode(pods),
  hash: 'new',
  now,
});
const names = (pods: readonly Pod[]): string[] => pods.map(nameOf);

test('a pod is for one node only, and tolerates what a daemon must', () => {
  const made = daemonPod(
    daemonSet({ hostNetwork: true, tolerations: [{ key: 'a', operator: 'Exists' }] }),
    'n1',
    'h',
  );
  expect(targetNode(made)).toBe('n1');
  expect(made.metadata?.labels).toEqual({ app: 'log', 'controller-revision-hash': 'h' });
  expect(made.spec?.tolerations?.map(({ key, effect }) => `${key ?? ''}:${effect ?? ''}`)).toEqual([
    'a:',
    'node.kubernetes.io/not-ready:NoExecute',
    'node.kubernetes.io/unreachable:NoExecute',
    'node.kubernetes.io/disk-pressure:NoSchedule',
    'node.kubernetes.io/memory-pressure:NoSchedule',
    'node.kubernetes.io/pid-pressure:NoSchedule',
    'node.kubernetes.io/unschedulable:NoSchedule',
    'node.kubernetes.io/network-unavailable:NoSchedule',
  ]);
});

test.each([
  ['a plain node', {}, {}, { runs: true, stays: true }],
  [
    'a cordoned node',
    { taints: [{ key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' }] },
    {},
    { runs: true, stays: true },
  ],
  [
    'an unreachable node',
    { taints: [{ key: 'node.kubernetes.io/unreachable', effect: 'NoExecute' }] },
    {},
    { runs: true, stays: true },
  ],
  [
    'a NoSchedule taint',
    { taints: [{ key: 'gpu', effect: 'NoSchedule' }] },
    {},
    { runs: false, stays: true },
  ],
  ['a NoExecute taint', { taints: [{ key: 'gpu', effect: 'NoExecute' }] }, {}, { runs: false, stays: false }],
  [
    'a node that the selector leaves out',
    {},
    { nodeSelector: { disk: 'ssd' } },
    { runs: false, stays: false },
  ],
])('%s', (_what, nodeSpec, podSpec, fit) => {
  expect(nodeFit(daemonSet(podSpec), node('n1', nodeSpec))).toEqual(fit);
});

test('each fitting node keeps one pod: failed, surplus and misplaced ones go', () => {
  const tainted = { taints: [{ key: 'gpu', effect: 'NoExecute' }] };
  const nodes = [node('n1'), node('n2'), node('n3'), node('n4', tainted)];
  const pods = [
    pod('failed', 'n2', { phase: 'Failed' }),
    pod('young', 'n3', { created: '2026-01-01T00:05:00Z' }),
    pod('old', 'n3'),
    pod('expelled', 'n4'),
    pod('homeless', 'gone', { pending: true }),
    pod('orphan', 'gone'),
  ];
  const plan = planUpkeep(daemonSet(), view(nodes, pods), () => 0);
  expect(plan.create).toEqual(['n1']);
  expect(names(plan.remove).sort()).toEqual(['expelled', 'failed', 'homeless', 'young']);
  const waiting = planUpkeep(daemonSet(), view(nodes, pods), () => 700);
  expect(names(waiting.remove)).not.toContain('failed');
  expect(waiting.after).toBe(700);
});

test('a rolling update replaces broken old pods at once and as many others as may be missing', () => {
  const nodes = ['n1', 'n2', 'n3'].map((name) => node(name));
  const old = nodes.map(({ metadata }, at) => pod(`o${at}`, metadata?.name ?? '', { hash: 'old' }));
  expect(names(planRolling(daemonSet(), view(nodes, old)).remove)).toEqual(['o0']);
  const two = { maxUnavailable: '60%', maxSurge: 0 };
  expect(names(planRolling(daemonSet({}, two), view(nodes, old)).remove)).toEqual(['o0', 'o1']);
  const broken = [old[0] ?? {}, pod('broken', 'n2', { hash: 'old', ready: false }), old[2] ?? {}];
  expect(names(planRolling(daemonSet(), view(nodes, broken)).remove)).toEqual(['broken']);
  const started = [pod('n', 'n1', { ready: false }), ...old.slice(1)];
  expect(planRolling(daemonSet(), view(nodes, started)).remove).toEqual([]);
  // a node whose pod is being deleted counts as unavailable
  const going = [pod('going', 'n1', { hash: 'old', deleted: true }), ...old.slice(1)];
  expect(planRolling(daemonSet(), view(nodes, going)).remove).toEqual([]);
});

test('a surging update creates first and deletes when the new pod is available', () => {
  const set = daemonSet({}, { maxSurge: 1, maxUnavailable: 0 });
  const nodes = [node('n1'), node('n2')];
  const old = [pod('o1', 'n1', { hash: 'old' }), pod('o2', 'n2', { hash: 'old' })];
  expect(planRolling(set, view(nodes, old))).toEqual({ create: ['n1'], remove: [] });
  const surging = [...old, pod('f1', 'n1', { ready: false })];
  expect(planRolling(set, view(nodes, surging))).toEqual({ create: [], remove: [] });
  expect(planUpkeep(set, view(nodes, surging), () => 0).remove).toEqual([]);
  const up = planRolling(set, view(nodes, [...old, pod('f1', 'n1')]));
  expect([names(up.remove), up.create]).toEqual([['o1'], ['n2']]);
  expect(names(planUpkeep(set, view(nodes, [...old, pod('f1', 'n1')]), () => 0).remove)).toEqual(['o1']);
});

test('the status counts nodes', () => {
  const nodes = [
    node('n1'),
    node('n2'),
    node('n3'),
    node('n4', { taints: [{ key: 'gpu', effect: 'NoSchedule' }] }),
  ];
  const pods = [pod('a', 'n1'), pod('b', 'n2', { hash: 'old', ready: false }), pod('c', 'n4')];
  expect(daemonStatus(daemonSet(), view(nodes, pods))).toEqual({
    desiredNumberScheduled: 3,
    currentNumberScheduled: 2,
    numberMisscheduled: 1,
    numberReady: 1,
    updatedNumberScheduled: 1,
    numberAvailable: 1,
    numberUnavailable: 2,
    observedGeneration: 3,
  });
});

test('revisions beyond the limit go, but not those of pods', () => {
  const revision = (number: number): ControllerRevision => ({
    metadata: { name: `r${number}`, labels: { 'controller-revision-hash': `h${number}` } },
    revision: number,
  });
  const set = daemonSet();
  const limited = { ...set, ...(set.spec && { spec: { ...set.spec, revisionHistoryLimit: 1 } }) };
  const expired = expiredRevisions(
    limited,
    [revision(3), revision(1), revision(2)],
    [pod('a', 'n1', { hash: 'h1' })],
  );
  expect(expired.map(nameOf)).toEqual(['r2', 'r3']);
});
