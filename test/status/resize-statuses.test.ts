import { expect, test } from 'vitest';
import { FakeClock } from '../../src/base/fake-clock.ts';
import type { Pod, PodCondition } from '../../src/kube/types.ts';
import { ResizeStatuses } from '../../src/status/resize-statuses.ts';

const [start, later] = ['2000-01-01T00:00:00Z', '2000-01-01T00:00:05Z'];

const world = (): { clock: FakeClock; resizes: ResizeStatuses } => {
  const clock = new FakeClock(Date.parse(start));
  return { clock, resizes: new ResizeStatuses(clock) };
};

const pending = (extra: object = {}) => ({
  type: 'PodResizePending',
  observedGeneration: 1,
  status: 'True',
  reason: 'Deferred',
  message: 'm',
  lastProbeTime: start,
  lastTransitionTime: start,
  ...extra,
});
const inProgress = (extra: object = {}) => {
  const { reason: _, message: _m, ...rest } = pending({ type: 'PodResizeInProgress' });
  return { ...rest, ...extra };
};

test.for([
  ['Infeasible', 'Infeasible'],
  ['Deferred', 'Deferred'],
  ['Anything', 'Deferred'],
] as const)('a resize that waits for %s is %s (R139, R215)', ([reason, told]) => {
  const { resizes } = world();
  expect([resizes.isInfeasible('u'), resizes.isDeferred('u')]).toEqual([false, false]);
  expect(resizes.setPending('u', { reason, message: 'm', observedGeneration: 1 })).toBe(true);
  expect(resizes.conditions('u')).toEqual([pending({ reason: told })]);
  expect(resizes.conditions('another')).toEqual([]);
  expect([resizes.isInfeasible('u'), resizes.isDeferred('u')]).toEqual([
    told === 'Infeasible',
    told === 'Deferred',
  ]);
});

test('of a resize that waits a new reason or generation is news, a new message is not; the time moves with the reason', () => {
  const { clock, resizes } = world();
  const report = { reason: 'Deferred', message: 'm', observedGeneration: 1 };
  const tell = (extra: object): readonly [boolean, PodCondition | undefined] => {
    const changed = resizes.setPending('u', { ...report, ...extra });
    return [changed, resizes.conditions('u')[0]];
  };
  resizes.setPending('u', report);
  clock.set(Date.parse(later));
  expect(tell({})).toEqual([false, pending({ lastProbeTime: later })]);
  expect(tell({ message: 'n' })).toEqual([false, pending({ message: 'n', lastProbeTime: later })]);
  expect(tell({ observedGeneration: 2 })).toEqual([
    true,
    pending({ observedGeneration: 2, lastProbeTime: later }),
  ]);
  const turned = { lastProbeTime: later, lastTransitionTime: later };
  expect(tell({ reason: 'Infeasible' })).toEqual([true, pending({ reason: 'Infeasible', ...turned })]);
  expect(tell({ reason: 'Deferred' })).toEqual([true, pending(turned)]);
  expect(tell({ reason: 'Infeasible' })[0]).toBe(true);
  expect(tell({ observedGeneration: 0, message: '' })[1]).not.toHaveProperty('observedGeneration');
  expect(resizes.conditions('u')[0]).not.toHaveProperty('message');
});

test('a resize that is carried out keeps its generation, and a bare report keeps what was said (R215)', () => {
  const { clock, resizes } = world();
  const tell = (reason: string, message: string, observedGeneration: number): unknown[] => {
    const told = resizes.setInProgress('u', { reason, message, observedGeneration });
    return [told.changed, told.observedGeneration, ...resizes.conditions('u')];
  };
  expect(tell('', '', 1)).toEqual([true, 1, inProgress()]);
  clock.set(Date.parse(later));
  expect(tell('', '', 2)).toEqual([false, 1, inProgress({ lastProbeTime: later })]);
  const failed = { reason: 'Error', message: 'm', lastProbeTime: later, lastTransitionTime: later };
  expect(tell('Error', 'm', 2)).toEqual([true, 1, inProgress(failed)]);
  expect(tell('', '', 3)).toEqual([false, 1, inProgress(failed)]);
  expect(tell('Error', 'n', 3)).toEqual([true, 1, inProgress({ ...failed, message: 'n' })]);
  const { reason: _, ...reasonless } = failed;
  expect(tell('', 'n', 3)).toEqual([true, 1, inProgress({ ...reasonless, message: 'n' })]);
  const { message: _m, ...messageless } = failed;
  expect(tell('Error', '', 3)).toEqual([true, 1, inProgress(messageless)]);
});

test('one that waits comes before one that is carried out, and each is cleared alone (R215)', () => {
  const { resizes } = world();
  const report = { reason: '', message: '', observedGeneration: 4 };
  const types = (): string[] => resizes.conditions('u').map(({ type }) => type);
  resizes.setInProgress('u', report);
  expect([resizes.isInfeasible('u'), resizes.isDeferred('u')]).toEqual([false, false]);
  resizes.setPending('u', report);
  expect(types()).toEqual(['PodResizePending', 'PodResizeInProgress']);
  resizes.clearPending('u');
  expect(types()).toEqual(['PodResizeInProgress']);
  resizes.setPending('u', report);
  resizes.setInProgress('u', report);
  expect(resizes.clearInProgress('u')).toEqual({ cleared: true, observedGeneration: 4 });
  expect(types()).toEqual(['PodResizePending']);
  expect(resizes.clearInProgress('u')).toEqual({ cleared: false, observedGeneration: 0 });
  resizes.clearPending('u');
  expect(types()).toEqual([]);
  expect(resizes.clearInProgress('u')).toEqual({ cleared: false, observedGeneration: 0 });
  resizes.clearPending('unknown');
  expect(resizes.conditions('unknown')).toEqual([]);
  resizes.setPending('u', report);
  resizes.forget('u');
  expect(types()).toEqual([]);
});

test('after a start what the API remembers of resizes stands (R55)', () => {
  const { resizes } = world();
  const podOf = (uid: string, conditions?: object[]): Pod => ({
    metadata: { uid },
    ...(conditions && { status: { conditions: conditions as PodCondition[] } }),
  });
  const bare = { type: 'PodResizeInProgress', status: 'True' };
  resizes.backfill([
    podOf('a', [pending({ reason: 'Infeasible' }), { type: 'Ready', status: 'True' }]),
    podOf('b', [bare]),
    podOf('c', [inProgress({ reason: 'Error', observedGeneration: 3 }), pending()]),
    podOf('d', []),
    podOf('e'),
  ]);
  expect(resizes.conditions('a')).toEqual([pending({ reason: 'Infeasible' })]);
  const { observedGeneration: _, ...generationless } = inProgress();
  expect(resizes.conditions('b')).toEqual([generationless]);
  expect(resizes.conditions('c')).toEqual([
    pending(),
    inProgress({ reason: 'Error', observedGeneration: 3 }),
  ]);
  expect([...resizes.conditions('d'), ...resizes.conditions('e')]).toEqual([]);
  resizes.backfill([podOf('f', [{ type: 'PodResizePending', status: 'True' }])]);
  expect(resizes.conditions('f')[0]).not.toHaveProperty('reason');
  expect([resizes.isInfeasible('f'), resizes.isDeferred('f')]).toEqual([false, false]);
});
