import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import {
  likeKnown,
  restOf,
  knownObjects,
  withoutManagedFields as bytesWithout,
  versionAt,
  versionInEvent,
} from '../../../src/api/cache/known-objects.ts';
import { dropManagedFields } from '../../../src/api/cache/reflector.ts';
import type { KubeObject } from '../../../src/kube/types.ts';

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
  expect(versionInEvent(`{"type":"BOOKMARK","object":${text}}`)).toBeUndefined();
});

test('a response is taken once, and only for its version; unused ones are dropped', () => {
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

test('it is empty until a response is noted, and again once its event has come', () => {
  const objects = knownObjects(() => undefined);
  expect(objects.isEmpty).toBe(true);
  const metadata = { name: 'web', uid: 'u', resourceVersion: '1' };
  objects.note({ metadata });
  expect(objects.isEmpty).toBe(false);
  objects.take({ key: 'web', uid: 'u', resourceVersion: '1' });
  expect(objects.isEmpty).toBe(true);
  objects.noteRest({ metadata }, '"spec":{}}');
  expect(objects.isEmpty).toBe(false);
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

const withoutManagedFields = (json: string): string => bytesWithout(Buffer.from(json)).toString();

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

const identity = { name: 'a', namespace: 'default', uid: 'u' };
const told = {
  kind: 'Pod',
  apiVersion: 'v1',
  metadata: { ...identity, resourceVersion: '7' },
  spec: { nodeName: 'ä → 😀' },
  status: { phase: 'Running' },
} as KubeObject;

/** What is at hand of the object of an event, after an answer that told of `told`. */
function likeTold(type: string, object: object): ReturnType<typeof likeKnown> {
  const known = knownObjects(() => undefined, { unmanaged: true });
  known.noteRest(told, restOf(`${JSON.stringify(told)}\n`) ?? '');
  const line = JSON.stringify({ type, object });
  const seen = versionInEvent(line);
  return seen && likeKnown(Buffer.from(line), seen.version.uid, known);
}

test.each(['MODIFIED', 'DELETED'])(
  '%s: of an object that changed in its metadata alone only they are read',
  (type) => {
    const metadata = { ...identity, resourceVersion: '8', labels: { spec: '},"spec":{' } };
    const { object, news = '' } = likeTold(type, { ...told, metadata }) ?? {};
    expect(object).toBe(told);
    const { kind, apiVersion } = told;
    expect(JSON.parse(news)).toEqual({ type, object: { kind, apiVersion, metadata } });
  },
);

test.each([
  ['another status', { ...told, status: { phase: 'Failed' } }],
  ['a member more', { ...told, more: 1 }],
  ['another object', { ...told, metadata: { ...identity, uid: 'v', resourceVersion: '8' } }],
  ['no spec', { ...told, spec: undefined }],
])('an object that says something else is read as a whole: %s', (_what, object) => {
  expect(likeTold('MODIFIED', object)).toBeUndefined();
});

test('old entries are no longer found', () => {
  const known = knownObjects(() => undefined, { unmanaged: true });
  const rest = restOf(JSON.stringify(told)) ?? '';
  expect(rest).toBe(',"spec":{"nodeName":"ä → 😀"},"status":{"phase":"Running"}}');
  expect(restOf('{"kind":"Status","spec":{}}')).toBeUndefined();
  known.noteRest(told, rest);
  expect(known.alike('u', Buffer.from(rest))).toBe(told);
  for (let i = 0; i < 1000; i++) known.noteRest(podAt('8', `other-${i}`), rest);
  expect(known.alike('u', Buffer.from(rest))).toBeUndefined();
});

test('what is noted keeps no bytes but its own', async () => {
  const known = knownObjects(() => undefined, { unmanaged: true });
  const rest = restOf(JSON.stringify(told)) ?? '';
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const kept = async (): Promise<number> => {
    await new Promise(setImmediate);
    collect();
    return process.memoryUsage().arrayBuffers;
  };
  const before = await kept();
  for (let i = 0; i < 128; i++) {
    known.noteRest(podAt('8', `pod-${i}`), rest);
    Buffer.from('x'.repeat(Buffer.poolSize / 4)); // what others take of the bytes that short buffers share
    Buffer.from('x'.repeat(Buffer.poolSize / 4));
  }
  // 128 pools of 8 KiB at worst; what the test runner itself has in flight goes, and what is kept does not
  await expect.poll(async () => (await kept()) - before, { timeout: 5000 }).toBeLessThan(8 * Buffer.poolSize);
  expect(known.alike('pod-127', Buffer.from(rest))).toBeDefined();
});

test('what is noted takes the room of what is forgotten', () => {
  const known = knownObjects(() => undefined, { unmanaged: true });
  const restOfLength = (length: number): string => `,"spec":{},"status":{"message":"${'x'.repeat(length)}"}}`;
  const note = (uid: string, length: number): void => {
    known.noteRest({ ...told, metadata: { ...told.metadata, uid } }, restOfLength(length));
  };
  const tells = (uid: string, length: number): boolean =>
    known.alike(uid, Buffer.from(restOfLength(length))) !== undefined;
  for (let i = 0; i < 200; i++) note(`pod-${i}`, 3000);
  const before = process.memoryUsage().arrayBuffers;
  for (let i = 200; i < 2000; i++) note(`pod-${i}`, 2100 + (i % 700));
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(64 * 1024);
  expect(tells('pod-1999', 2100 + (1999 % 700))).toBe(true);
  expect(tells('pod-1999', 2100 + (1998 % 700))).toBe(false);
  note('pod-1999', 9000); // does not fit
  note('pod-1998', 10); // would waste it
  expect([tells('pod-1999', 9000), tells('pod-1998', 10), tells('pod-1997', 2100 + (1997 % 700))]).toEqual([
    true,
    true,
    true,
  ]);
});
