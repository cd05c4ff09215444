import { expect, test } from 'vitest';
import { knownObjects, versionAt, versionInEvent } from '../../src/api/known-objects.ts';
import type { KubeObject } from '../../src/kube/types.ts';

const head = '{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a"';
const version = { key: 'default/a', uid: 'u', resourceVersion: '7' };

test.each([
  ['a pod', `${head},"namespace":"default","uid":"u","resourceVersion":"7","labels":{}}}`, version],
  [
    'a generated name',
    `${head},"generateName":"a-","namespace":"default","uid":"u","resourceVersion":"7"}}`,
    version,
  ],
  ['no namespace', `${head},"uid":"u","resourceVersion":"7"}}`, { ...version, key: 'a' }],
  ['another order', '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"}}', undefined],
  ['no version', `${head},"namespace":"default","uid":"u"}}`, undefined],
  [
    'a name with a quote',
    String.raw`{"kind":"Pod","apiVersion":"v1","metadata":{"name":"\"","uid":"u"}}`,
    undefined,
  ],
  ['a list', '{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"7"},"items":[]}', undefined],
  ['nonsense', 'kind', undefined],
])('the version is seen at a glance, or not at all: %s', (_what, text, expected) => {
  expect(versionAt(text)).toEqual(expected);
  const seen = versionInEvent(`{"type":"MODIFIED","object":${text}}`);
  expect(seen).toEqual(expected && { type: 'MODIFIED', version: expected });
  expect(versionInEvent(`{"type":"DELETED","object":${text}}`)).toBeUndefined();
});

test('an answer is taken once, and only as the version that it is; those that nobody takes go', () => {
  const known = knownObjects(() => undefined);
  const pod = (uid: string, resourceVersion: string): KubeObject => ({ metadata: { uid, resourceVersion } });
  const first = pod('u', '7');
  known.note(first);
  expect(known.take({ ...version, resourceVersion: '6' })).toBeUndefined();
  expect(known.take({ ...version, uid: 'v' })).toBeUndefined();
  expect(known.take(version)).toBe(first);
  expect(known.take(version)).toBeUndefined();
  known.note(first);
  for (let i = 0; i < 1000; i++) known.note(pod(`other-${i}`, '8'));
  expect(known.take(version)).toBeUndefined();
});
