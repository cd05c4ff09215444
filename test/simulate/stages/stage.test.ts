import { expect, test } from 'vitest';
import { stageExpressions, stageOf } from '../../../src/simulate/stages/stage.ts';

const expressions = stageExpressions({ now: () => 0, random: () => 0 });

const decode = (spec: object): unknown =>
  stageOf({ metadata: { name: 's' }, spec: { resourceRef: { kind: 'Pod' }, ...spec } }, expressions);

test('a stage with everything', () => {
  const stage = stageOf(
    {
      metadata: { name: 's' },
      spec: {
        resourceRef: { apiGroup: 'v1', kind: 'Node' },
        selector: { matchLabels: { a: 'b' } },
        weight: 2,
        delay: { durationMilliseconds: 10, jitterDurationMilliseconds: 20 },
        immediateNextStage: true,
        next: {
          event: { reason: 'R', message: 'M' },
          finalizers: { add: [{ value: 'x/y' }], remove: [{ value: 'z' }], empty: false },
          statusTemplate: 'phase: Running',
          statusPatchAs: { username: 'ann' },
          patches: [{ subresource: 'status', root: 'status', type: 'merge', template: 'a: 1' }],
        },
        steps: [
          { event: { reason: 'S' } },
          { apply: { template: 'kind: X', type: 'merge' } },
          { delete: true },
        ],
      },
    },
    expressions,
  );
  expect(stage).toMatchObject({
    ...{ name: 's', apiVersion: 'v1', kind: 'Node', immediateNextStage: true },
    steps: [
      { event: { type: 'Normal', reason: 'R', message: 'M' } },
      { finalizers: { add: ['x/y'], remove: ['z'], empty: false } },
      { patch: { type: 'strategic', subresource: 'status', root: 'status', username: 'ann' } },
      { patch: { type: 'merge', subresource: 'status', root: 'status' } },
      { event: { reason: 'S' } },
      { apply: { type: 'merge' } },
      { delete: true },
    ],
  });
  expect([stage.weight({}, 0), stage.delay({}, 0), stage.jitter({}, 0)]).toEqual([2, 10, 20]);
});

test('numbers come from expressions of jq and CEL', () => {
  const of = (spec: object): readonly (number | undefined)[] => {
    const { weight, delay, jitter } = stageOf(
      { spec: { resourceRef: { kind: 'Pod' }, ...spec } },
      expressions,
    );
    const pod = { metadata: { name: '7', annotations: { weight: '3', delay: '2s' } } };
    return [weight(pod, 0), delay(pod, 0), jitter(pod, 0)];
  };
  const jq = (expression: string): object => ({ jq: { expression } });
  const cel = (expression: string): object => ({ cel: { expression } });
  const annotation = '.metadata.annotations.';
  expect(
    of({
      weightFrom: jq(`${annotation}weight`),
      delay: {
        durationFrom: jq(`${annotation}delay`),
        jitterDurationFrom: { expressionFrom: `${annotation}none` },
      },
    }),
  ).toEqual([3, 2000, undefined]);
  expect(
    of({
      weightFrom: cel('int(self.metadata.annotations["weight"]) * 2'),
      delay: {
        durationFrom: cel('self.metadata.annotations["delay"]'),
        jitterDurationFrom: cel('Now() + duration("3s")'),
      },
    }),
  ).toEqual([6, 2000, 3000]);
  expect(of({ weightFrom: jq('.metadata.name | tostring + "x"'), weight: 4 })[0]).toBeUndefined();
});

test('objects of other kinds are patched by merge', () => {
  const spec = {
    resourceRef: { apiGroup: 'apps/v1', kind: 'Deployment' },
    next: { statusTemplate: 'replicas: 1' },
  };
  expect(stageOf({ spec }, expressions)).toMatchObject({
    apiVersion: 'apps/v1',
    steps: [{ patch: { type: 'merge' } }],
  });
});

test.each([
  [{ resourceRef: {} }, 'Stage "s".spec.resourceRef.kind: is required'],
  [
    { selector: { matchExpressions: [{ cel: { expression: 'self.' } }] } },
    'matchExpressions[0].cel.expression: expression "self."',
  ],
  [{ steps: [{ patch: { root: 'status' } }] }, 'spec.steps[0].patch.template: is required'],
  [
    { steps: [{ apply: { template: 'a', type: 'json' } }] },
    'apply.type: must be one of apply, merge, strategic',
  ],
  [
    { selector: { matchExpressions: [{ key: '.a |', operator: 'In' }] } },
    'matchExpressions[0].key: expression ".a |"',
  ],
  [
    { selector: { matchExpressions: [{ key: '.a', operator: 'Is' }] } },
    'matchExpressions[0].operator: must be one of In, NotIn',
  ],
  [
    { delay: { durationMilliseconds: '5s' } },
    'spec.delay.durationMilliseconds: must be a number of at least 0',
  ],
  [
    { next: { statusTemplate: '{{ nope }}' } },
    'spec.next.statusTemplate: template, line 1: there is no function "nope"',
  ],
  [{ next: { delete: 'yes' } }, 'spec.next.delete: must be true or false'],
  [{ next: { finalizers: { add: ['x'] } } }, 'spec.next.finalizers.add[0]: must be an object'],
  [{ next: [] }, 'spec.next: must be an object'],
])('%j is rejected: %s', (spec, message) => {
  expect(() => decode(spec)).toThrow(message);
});
