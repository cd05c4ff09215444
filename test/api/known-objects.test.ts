import { afterEach, beforeEach, expect, test } from 'vitest';
import { createApiClient, type HttpApiClient } from '../../src/api/http-client.ts';
import { Informer } from '../../src/api/informer.ts';
import { knownObjects, versionAt, versionInEvent } from '../../src/api/known-objects.ts';
import { podResource } from '../../src/api/resources.ts';
import { systemClock } from '../../src/base/clock.ts';
import type { KubeObject, Pod } from '../../src/kube/types.ts';
import { KubeStub, until } from '../support/kube-stub.ts';

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

let stub: KubeStub;
let client: HttpApiClient;
let stop: AbortController;

beforeEach(async () => {
  stub = new KubeStub();
  stop = new AbortController();
  client = createApiClient({ server: await stub.listen() }, { clock: systemClock, qps: 0 });
});
afterEach(async () => {
  stop.abort();
  await client.close();
  await stub.close();
});

test('answers to other calls and the events of a watch are parsed once', async () => {
  const informer = new Informer<Pod>({ client, clock: systemClock }, podResource);
  void informer.run(stop.signal);
  await informer.waitSynced();
  await until(() => stub.watchers === 1);
  stub.put('a', 'u', { spec: { containers: [] } });
  await until(() => informer.store.size === 1);
  stub.intercept = ({ method }, response) => {
    const object =
      method === 'PATCH' ? stub.put('a', 'u', { status: { phase: 'Running' } }) : stub.objects.get('a');
    response.end(JSON.stringify(object));
    return method === 'PATCH' || method === 'GET';
  };
  const ref = { namespace: 'default', name: 'a' };
  const { known } = informer;
  const cached = informer.store.get('default/a');
  expect(await client.get(podResource, ref, { known })).toBe(cached);
  expect(await client.get(podResource, ref)).not.toBe(cached);

  const patched = await client.patch<Pod>(podResource, ref, { type: 'merge', body: {} }, { known });
  expect(patched.status?.phase).toBe('Running');
  await until(() => informer.store.get('default/a') !== cached);
  expect(informer.store.get('default/a')).toBe(patched); // whichever of the two came first
});

test('an answer that nobody wants is not parsed', async () => {
  stub.intercept = (_request, response) => {
    response.end('this is no JSON');
    return true;
  };
  await expect(client.delete(podResource, { name: 'a' }, { discardAnswer: true })).resolves.toEqual({});
  await expect(client.delete(podResource, { name: 'a' })).rejects.toMatchObject({ code: 'unavailable' });
});
