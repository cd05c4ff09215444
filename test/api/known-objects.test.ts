import { expect, test } from 'vitest';
import {
  knownObjects,
  textWithoutManagedFields,
  versionAt,
  versionInEvent,
} from '../../src/api/known-objects.ts';
import { dropManagedFields } from '../../src/api/reflector.ts';
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

const podAt = (resourceVersion: string, uid = 'u'): KubeObject => ({ metadata: { uid, resourceVersion } });

test.each([
  ['nothing is cached', undefined, [], undefined],
  ['the cache alone', podAt('7'), [], '7'],
  ['an answer is newer', podAt('7'), [podAt('9')], '9'],
  ['numbers, not texts', podAt('9'), [podAt('10')], '10'],
  ['the cache is newer', podAt('8'), [podAt('7')], '8'],
  ['an answer of another object', podAt('7'), [podAt('9', 'v')], '7'],
  ['versions that are no numbers', podAt('a'), [podAt('b')], undefined],
])('the newest version that is known: %s', (_what, cached, answers, expected) => {
  const known = knownObjects(() => cached);
  for (const answer of answers) known.note(answer);
  expect(known.newest('default/a')?.metadata?.resourceVersion).toBe(expected);
});

test('after answers were let go, what is older than they may not be the newest', () => {
  let cached = podAt('7');
  const known = knownObjects(() => cached);
  known.note(podAt('9'));
  for (let i = 0; i < 128; i++) known.note(podAt('8', `other-${i}`));
  expect(known.newest('default/a')).toBeUndefined();
  cached = podAt('9');
  expect(known.newest('default/a')).toBe(cached);
});

const managed = (...managers: readonly string[]) =>
  managers.map((manager) => ({
    manager,
    operation: 'Update',
    fieldsV1: {
      'f:status': { 'f:podIPs': { 'k:{"ip":"10.0.0.1"}': { '.': {} }, 'v:[{"a":[{}]},"b"]': {} } },
    },
    subresource: 'status',
  }));

const withoutManagedFields = (json: string): string => textWithoutManagedFields(Buffer.from(json));

test.each([
  ['of one manager', { managedFields: managed('a') }],
  ['of several', { managedFields: managed('a', 'b') }],
  ['of one whose name looks like the end', { managedFields: managed('x}]},', '}]},"spec":{') }],
  ['of none', {}],
  ['an empty list', { managedFields: [] }],
  ['told of in an annotation', { annotations: { a: ',"managedFields":[{}]},"spec":{' } }],
  ['beside owners', { ownerReferences: [{ name: 'x' }], finalizers: ['a'], managedFields: managed('a') }],
])('an object is read without managed fields: %s', (_what, metadata) => {
  const spec = { containers: [{ name: 'c', env: [{ name: 'A' }] }] };
  const identity = { name: 'a', namespace: 'default', uid: 'u', resourceVersion: '7' };
  const object = {
    kind: 'Pod',
    apiVersion: 'v1',
    metadata: { ...identity, ...metadata },
    spec,
  } as KubeObject;
  const text = withoutManagedFields(JSON.stringify(object));
  expect(text).not.toContain('"manager"');
  expect(dropManagedFields(JSON.parse(text) as KubeObject)).toEqual(dropManagedFields(object));
  const event = JSON.stringify({ type: 'DELETED', object });
  expect(withoutManagedFields(event)).toBe(`{"type":"DELETED","object":${text}}`);
});

test.each([
  ['another order', `{"metadata":{"name":"a","managedFields":[{}]},"kind":"Pod"}`],
  ['metadata at the end', `${head},"uid":"u","resourceVersion":"7","managedFields":[{}]}}`],
  ['cut off', `${head},"uid":"u","resourceVersion":"7","managedFields":[{"manager"`],
])('a text that is not as API servers write it stays: %s', (_what, text) => {
  expect(withoutManagedFields(text)).toBe(text);
});
