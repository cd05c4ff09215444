import { expect, test } from 'vitest';
import {
  changedTaints,
  conditionTaints,
  evictionDelay,
  missingLabels,
} from '../../../src/controllermanager/nodes/node-taints.ts';
import { node } from './support.ts';

const key = (name: string): string => `node.kubernetes.io/${name}`;
const evicting = { key: key('unreachable'), effect: 'NoExecute' };

test('conditions and cordons become NoSchedule taints, others stay', () => {
  const own = { key: 'own', effect: 'NoSchedule' };
  const one = node('n', { ready: 'Unknown', taints: [own, { key: key('not-ready'), effect: 'NoSchedule' }] });
  const change = conditionTaints({ ...one, spec: { ...one.spec, unschedulable: true } });
  expect(change.add.map((taint) => taint.key)).toEqual([key('unreachable'), key('unschedulable')]);
  expect(change.remove.map((taint) => taint.key)).toEqual([key('not-ready')]);
  expect(changedTaints(one.spec?.taints ?? [], change, 0)).toEqual([
    own,
    { key: key('unreachable'), effect: 'NoSchedule', timeAdded: '1970-01-01T00:00:00Z' },
    { key: key('unschedulable'), effect: 'NoSchedule', timeAdded: '1970-01-01T00:00:00Z' },
  ]);
  const pressed = { ...one, spec: {}, status: { conditions: [{ type: 'DiskPressure', status: 'True' }] } };
  expect(conditionTaints(pressed).add).toEqual([{ key: key('disk-pressure'), effect: 'NoSchedule' }]);
});

test('the shortest toleration of those that cover the taints counts', () => {
  const toleration = { key: evicting.key, operator: 'Exists', effect: 'NoExecute' };
  expect(evictionDelay([{ key: 'a', effect: 'NoSchedule' }], [])).toBeUndefined();
  expect(evictionDelay([evicting], [])).toBe(0);
  expect(evictionDelay([evicting], [toleration])).toBeUndefined();
  const both = [evicting, { key: 'b', effect: 'NoExecute' }];
  expect(evictionDelay(both, [{ ...toleration, tolerationSeconds: 300 }])).toBe(0);
  const all = [
    { ...toleration, tolerationSeconds: 300 },
    { ...toleration, key: 'b', tolerationSeconds: 20 },
    { ...toleration, key: 'c', tolerationSeconds: 1 },
  ];
  expect(evictionDelay(both, all)).toBe(20_000);
  expect(evictionDelay([evicting], [{ ...toleration, tolerationSeconds: -1 }])).toBe(0);
});

test('old labels of system and architecture follow the new ones', () => {
  const labels = {
    'kubernetes.io/os': 'linux',
    'kubernetes.io/arch': 'arm64',
    'beta.kubernetes.io/arch': 'x',
  };
  expect(missingLabels(node('n', { labels }))).toEqual({
    'beta.kubernetes.io/os': 'linux',
    'beta.kubernetes.io/arch': 'arm64',
  });
  expect(missingLabels(node('n'))).toEqual({});
});
