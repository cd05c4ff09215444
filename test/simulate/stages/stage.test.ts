import { expect, test } from 'vitest';
import { stageOf } from '../../../src/simulate/stages/stage.ts';

const decode = (spec: object): unknown =>
  stageOf({ metadata: { name: 's' }, spec: { resourceRef: { kind: 'Pod' }, ...spec } });

test('a stage with everything', () => {
  const stage = stageOf({
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
        patches: [{ subresource: 'status', root: 'status', type: 'merge', template: 'a: 1' }],
      },
    },
  });
  expect(stage).toMatchObject({
    ...{ name: 's', kind: 'Node', immediateNextStage: true, weight: { fixed: 2 }, jitter: { fixed: 20 } },
    next: {
      delete: false,
      event: { type: 'Normal', reason: 'R', message: 'M' },
      finalizers: { add: ['x/y'], remove: ['z'], empty: false },
      patches: [
        { type: 'strategic', subresource: 'status', root: 'status' },
        { type: 'merge', subresource: 'status', root: 'status' },
      ],
    },
  });
});

test.each([
  [{ resourceRef: { kind: 'Secret' } }, 'Stage "s".spec.resourceRef.kind: must be one of Pod, Node'],
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
