import { describe, expect, test } from 'vitest';
import type { Pod } from '../../../src/kube/types.ts';
import { KeyedRandom } from '../../../src/simulate/keyed-random.ts';
import { chooseStage, matches, mayMatch } from '../../../src/simulate/stages/selection.ts';
import { type Stage, stageExpressions, stageOf } from '../../../src/simulate/stages/stage.ts';

const expressions = stageExpressions({ now: () => 0, random: () => 0 });

const stage = (name: string, spec: object): Stage =>
  stageOf({ metadata: { name }, spec: { resourceRef: { kind: 'Pod' }, next: {}, ...spec } }, expressions);

const pod: Pod = {
  metadata: { name: 'web', labels: { app: 'web' }, annotations: { delay: '3s' } },
  spec: { containers: [{ name: 'a' }] },
  status: { phase: 'Running' },
};

const selecting = (...matchExpressions: readonly object[]): object => ({ selector: { matchExpressions } });

describe('selectors', () => {
  test.each([
    [{ selector: { matchLabels: { app: 'web' } } }, true],
    [{ selector: { matchLabels: { app: 'db' } } }, false],
    [{ selector: { matchAnnotations: { delay: '3s' } } }, true],
    [selecting({ key: '.status.phase', operator: 'In', values: ['Running'] }), true],
    [selecting({ key: '.status.phase', operator: 'NotIn', values: ['Running'] }), false],
    [selecting({ key: '.status.podIP', operator: 'NotIn', values: ['x'] }), true],
    [selecting({ key: '.status.podIP', operator: 'Exists' }), false],
    [selecting({ key: '.metadata.deletionTimestamp', operator: 'DoesNotExist' }), true],
    [selecting({ cel: { expression: 'self.metadata.name == "web"' } }), true],
    [selecting({ cel: { expression: 'self.status.podIP == "x"' } }), false],
    [selecting({ cel: { expression: '!has(self.metadata.deletionTimestamp)' } }), true],
    [selecting({ jq: { key: '.status.phase', operator: 'In', values: ['Running'] } }), true],
    [{}, true],
  ])('%j: %s', (spec, expected) => {
    expect(matches(stage('s', spec), pod)).toBe(expected);
  });

  test('a stage may come later when only status or deletion keep it away', () => {
    const later = selecting({ key: '.status.phase', operator: 'In', values: ['Failed'] });
    const never = selecting({ key: '.metadata.labels.app', operator: 'In', values: ['db'] });
    const laterByCel = selecting({
      cel: { expression: 'self.spec.x == 1 || self.status.phase == "Failed"' },
    });
    const neverByCel = selecting({ cel: { expression: 'self.metadata.labels["app"] == "db"' } });
    expect([later, never, laterByCel, neverByCel].map((spec) => mayMatch(stage('s', spec), pod))).toEqual([
      ...[true, false],
      ...[true, false],
    ]);
  });
});

describe('choice', () => {
  const choose = (stages: readonly Stage[], key = 'k', seed = '0') =>
    chooseStage(stages, pod, { chance: new KeyedRandom(seed), key, now: 10_000 });

  test('weights decide in their proportion, and the same seed decides the same', () => {
    const stages = [
      stage('often', { weight: 3 }),
      stage('seldom', { weight: 1 }),
      stage('never', { weight: 0 }),
    ];
    const names = Array.from({ length: 2000 }, (_, i) => choose(stages, String(i))?.stage.name);
    const often = names.filter((name) => name === 'often').length;
    expect([often > 1400, often < 1600, names.includes('never')]).toEqual([true, true, false]);
    expect(Array.from({ length: 2000 }, (_, i) => choose(stages, String(i))?.stage.name)).toEqual(names);
  });

  test.each([
    [{}, 0, 0],
    [{ durationMilliseconds: 500 }, 500, 500],
    [{ durationMilliseconds: 1000, jitterDurationMilliseconds: 5000 }, 1000, 5000],
    [{ durationMilliseconds: 1000, jitterDurationMilliseconds: 200 }, 200, 200],
    [{ durationFrom: { expressionFrom: '.metadata.annotations.delay' } }, 3000, 3000],
    [{ durationMilliseconds: 7, durationFrom: { expressionFrom: '.metadata.annotations.none' } }, 7, 7],
    [{ durationFrom: { expressionFrom: '"1970-01-01T00:00:12Z"' } }, 2000, 2000],
  ])('delay %j is from %d to %d ms', (delay, from, to) => {
    const delays = Array.from(
      { length: 50 },
      (_, i) => choose([stage('s', { delay })], String(i))?.delayMs ?? -1,
    );
    expect(Math.min(...delays)).toBeGreaterThanOrEqual(from);
    expect(Math.max(...delays)).toBeLessThanOrEqual(to);
    if (from !== to) expect(new Set(delays).size).toBeGreaterThan(10);
  });

  test('a weight from the object', () => {
    const weighty = stage('weighty', { weightFrom: { expressionFrom: '.metadata.annotations.none // "5"' } });
    expect(choose([weighty, stage('none', { weight: 0 })])?.stage.name).toBe('weighty');
  });
});
