import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import type { Pod, PodStatus } from '../../../src/kube/types.ts';
import { KeyedRandom } from '../../../src/simulate/keyed-random.ts';
import { contextOf } from '../../../src/simulate/stages/context.ts';
import { objectsOfSources } from '../../../src/simulate/stages/objects.ts';
import { guardPodStatus } from '../../../src/simulate/stages/pod-guard.ts';
import { chooseStage } from '../../../src/simulate/stages/selection.ts';
import { isStageSet, stageSet, stageSetNames } from '../../../src/simulate/stages/sets.ts';
import { type Stage, stageExpressions, stageOf } from '../../../src/simulate/stages/stage.ts';

const expressions = stageExpressions({ now: () => 0, random: () => 0 });

const stagesOf = (name: string): readonly Stage[] =>
  objectsOfSources([name]).map((object) =>
    stageOf(object as unknown as Record<string, unknown>, expressions),
  );

const context = {
  now: () => 60_000,
  startedAt: 0,
  addressOf: () => '127.64.0.1',
  kubeletPort: () => 10_250,
  podAddress: () => '10.0.0.7',
};

const base: Pod = {
  metadata: { name: 'web', namespace: 'default', uid: 'u' },
  spec: {
    nodeName: 'n',
    initContainers: [
      { name: 'one', image: 'i' },
      { name: 'side', image: 'i', restartPolicy: 'Always' },
    ],
    containers: [{ name: 'a', image: 'x' }],
  },
  status: { phase: 'Pending' },
};

/** Plays a set to its end; answers the stages and the pod after each. */
function play(stages: readonly Stage[], start: Pod): readonly (readonly [string, Pod])[] {
  const steps: (readonly [string, Pod])[] = [];
  let pod = start;
  for (let visit = 0; visit < 10; visit++) {
    const choice = chooseStage(stages, pod, {
      chance: new KeyedRandom('0'),
      key: String(visit),
      now: 0,
    });
    if (!choice || choice.stage.steps.some((step) => 'delete' in step))
      return choice ? [...steps, [choice.stage.name, pod]] : steps;
    const [patch] = choice.stage.steps.flatMap((step) => ('patch' in step ? [step.patch] : []));
    const status = parse(patch?.template(pod, contextOf('n', pod, context)) ?? '') as PodStatus;
    const others = (pod.status?.conditions ?? []).filter(
      ({ type }) => status.conditions?.every((one) => one.type !== type) !== false,
    );
    const next = { ...pod.status, ...status, conditions: [...others, ...(status.conditions ?? [])] };
    expect(guardPodStatus(pod, next)).toEqual({ status: next }); // our own stages need no correction
    pod = { ...pod, status: next };
    steps.push([choice.stage.name, pod]);
  }
  return steps;
}

describe('stage sets', () => {
  test('fast: one step to Running, with init containers and sidecars', () => {
    const steps = play(stagesOf('fast'), base);
    expect(steps.map(([name]) => name)).toEqual(['pod-ready']);
    const status = steps[0]?.[1].status;
    expect(status).toMatchObject({ phase: 'Running', podIP: '10.0.0.7', hostIP: '127.64.0.1' });
    expect(status?.initContainerStatuses?.map(({ state }) => Object.keys(state ?? {}))).toEqual([
      ['terminated'],
      ['running'],
    ]);
  });

  test('general: created, then each init container in turn, then Running', () => {
    const steps = play(stagesOf('general'), base);
    expect(steps.map(([name]) => name)).toEqual([
      ...['pod-create', 'pod-initialize', 'pod-initialize', 'pod-ready'],
    ]);
    const states = steps.map(([, { status }]) =>
      (status?.initContainerStatuses ?? []).map(({ state }) => Object.keys(state ?? {})[0]).join(),
    );
    expect(states).toEqual([
      ...['waiting,waiting', 'terminated,waiting', 'terminated,running', 'terminated,running'],
    ]);
  });

  test('the pods of Jobs succeed, deleted pods are removed', () => {
    const owner = { apiVersion: 'batch/v1', kind: 'Job', name: 'j', uid: 'x' };
    const job = { ...base, metadata: { ...base.metadata, ownerReferences: [owner] } };
    expect(play(stagesOf('fast'), job).at(-1)?.[1].status?.phase).toBe('Succeeded');
    const deleted = { ...base, metadata: { ...base.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } };
    for (const set of ['fast', 'general'])
      expect(play(stagesOf(set), deleted).map(([name]) => name)).toEqual(['pod-delete']);
  });

  test('chaos: only labelled pods fail', () => {
    const labels = { 'pod-container-failed.stage.podtender.io': 'true' };
    const doomed = { ...base, metadata: { ...base.metadata, labels } };
    expect(play(stagesOf('chaos'), doomed).at(-1)?.[1].status?.phase).toBe('Failed');
    expect(play(stagesOf('chaos'), base).at(-1)?.[1].status?.phase).toBe('Running');
  });

  test('every set decodes; another name is rejected with those that exist', () => {
    for (const name of stageSetNames) expect(stagesOf(name).length).toBeGreaterThan(0);
    expect(isStageSet('slow')).toBe(false);
    expect(() => stageSet('slow')).toThrow('fast, general, chaos, heartbeat or a file');
  });
});
