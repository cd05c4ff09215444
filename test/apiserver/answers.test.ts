import { afterAll, beforeAll, expect, test } from 'vitest';
import { EmbeddedApiServer } from '../../src/apiserver/index.ts';
import { toYaml } from '../../src/apimachinery/serializer/yaml-writer.ts';
import { call, pod, podsPath } from './support.ts';

let server: EmbeddedApiServer;
beforeAll(async () => {
  server = await EmbeddedApiServer.start({ minimalScheduler: false });
});
afterAll(() => server.stop());

const maps = '/api/v1/namespaces/default/configmaps';
const named = (name: string): object => ({ metadata: { name } });
const accepting = (Accept: string) => ({ Accept });
const view = (as: string): Record<string, string> =>
  accepting(`application/json;as=${as};g=meta.k8s.io;v=v1`);

test('an object requested as a list is written all the same, and then refused', async () => {
  const said = {
    status: 406,
    body: {
      message:
        'you requested PartialObjectMetadataList, but the requested object is not a list (*core.ConfigMap)',
    },
  };
  const list = view('PartialObjectMetadataList');
  expect(await call(server, 'POST', maps, named('one'), 'application/json', list)).toMatchObject(said);
  expect(await call(server, 'GET', `${maps}/one`, undefined, '', list)).toMatchObject(said);
  expect(await call(server, 'POST', maps, named('No_'), 'application/json', list)).toMatchObject({
    status: 422,
  });
  expect(await call(server, 'DELETE', `${maps}/one`, undefined, '', list)).toMatchObject({ status: 200 });
});

test('each item of a list of metadata has its kind; without items there is none', async () => {
  const list = view('PartialObjectMetadataList');
  await call(server, 'POST', maps, { metadata: { name: 'two', labels: { a: 'b' } } });
  const kind = { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1' };
  expect(await call(server, 'GET', `${maps}?labelSelector=a%3Db`, undefined, '', list)).toMatchObject({
    body: { items: [kind] },
  });
  expect(await call(server, 'GET', `${maps}?labelSelector=a%3Dc`, undefined, '', list)).toMatchObject({
    body: { items: null },
  });
});

test.for(['POST', 'PUT', 'PATCH', 'GET', 'DELETE'])(
  '%s that accepts no type of answer that there is does nothing',
  async (method) => {
    const path = method === 'POST' ? maps : `${maps}/three`;
    const body = ['GET', 'DELETE'].includes(method) ? undefined : named('three');
    const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
    for (const accept of ['text/plain', 'application/*'])
      expect(await call(server, method, path, body, type, accepting(accept))).toMatchObject({
        status: 406,
        body: { message: expect.stringContaining('406: Not Acceptable\n\nAvailable') as string, details: {} },
      });
    expect(await call(server, 'GET', `${maps}/three`)).toMatchObject({ status: 404 });
  },
);

test('a patch of a type that is none is refused before what is accepted is looked at', async () => {
  const refused = await call(server, 'PATCH', `${maps}/two`, {}, 'application/json', accepting('text/plain'));
  expect(refused).toMatchObject({ status: 415, body: { message: '415: Unsupported Media Type' } });
});

test.for([
  [{ kind: 'Pod', apiVersion: 'v1' }, '', 'no kind "Pod" is registered for version "v1" in scheme'],
  [
    { kind: 'Status', apiVersion: 'v1' },
    '',
    'converting (v1.Status) to (v1.DeleteOptions): unknown conversion',
  ],
  [undefined, '?gracePeriodSeconds=99999999999999999999', 'value out of range'],
  [undefined, '?timeout=x', 'invalid timeout specified in the request URL - time: invalid duration "x"'],
] as const)('a deletion with %s %s is a bad request', async ([body, query, why]) => {
  const answer = await call(server, 'DELETE', `${maps}/two${query}`, body);
  expect(answer).toMatchObject({ status: 400, body: { message: expect.stringContaining(why) as string } });
});

test('a query names the life and the version that are to be deleted, as a body does', async () => {
  for (const query of ['uid=x', 'resourceVersion=1'])
    expect(await call(server, 'DELETE', `${maps}/two?${query}`)).toMatchObject({ status: 409 });
  const nobody = { preconditions: { uid: '' } };
  expect(await call(server, 'DELETE', `${maps}/two`, nobody)).toMatchObject({ status: 409 });
});

test('a watch of the old form is for GET alone', async () => {
  const path = '/api/v1/watch/namespaces/default/configmaps';
  for (const method of ['POST', 'DELETE'])
    expect(await call(server, method, path)).toMatchObject({ status: 405 });
  expect(await call(server, 'GET', `${maps}/two`)).toMatchObject({ status: 200 });
});

test.for([
  ['resourceVersionMatch=Exact', 'Unsupported value: "Exact": supported values: "NotOlderThan"'],
  ['continue=x', 'resourceVersionMatch is forbidden when continue is provided'],
] as const)('a watch with %s is refused', async ([query, why]) => {
  const answer = await call(server, 'GET', `${maps}?watch=true&${query}`);
  expect(answer).toMatchObject({ status: 422, body: { message: expect.stringContaining(why) as string } });
});

test('an eviction names its pod and its version, and is warned of what it does not know', async () => {
  await call(server, 'POST', '/api/v1/namespaces/default/serviceaccounts', named('default'));
  await call(server, 'POST', podsPath, pod('p'));
  const evict = (body: object) => call(server, 'POST', `${podsPath}/p/eviction?dryRun=All`, body);
  expect(await evict({ apiVersion: 'x/y', metadata: { name: 'p' } })).toMatchObject({
    status: 400,
    body: {
      message: expect.stringContaining('no kind "Eviction" is registered for version "x/y"') as string,
    },
  });
  expect(await evict({})).toMatchObject({
    status: 400,
    body: { message: 'name in URL does not match name in Eviction object' },
  });
  const warned = await evict({ metadata: { name: 'p' }, foo: 1 });
  expect([warned.status, warned.headers.warning]).toEqual([201, '299 - "unknown field \\"foo\\""']);
});

const long =
  'a long text that goes on and on until it is beyond the eighty columns that a line may have here';
test.for([
  [{ b10: 1, b9: 1, a: null, B: true }, 'B: true\na: null\nb9: 1\nb10: 1\n'],
  [
    { a: 'yes', b: '1e3', c: '0x1f', d: '12:30', e: '2020-01-01T00:00:00Z', f: '', g: '~' },
    'a: "yes"\nb: "1e3"\nc: "0x1f"\nd: "12:30"\ne: "2020-01-01T00:00:00Z"\nf: ""\ng: "~"\n',
  ],
  [
    { a: 'x: y', b: "it's # so", c: '-x', d: '- x', e: 'tab\there' },
    `a: 'x: y'\nb: 'it''s # so'\nc: -x\nd: '- x'\ne: "tab\\there"\n`,
  ],
  [{ list: ['a', { b: 1, c: [] }, [1]], empty: {} }, 'empty: {}\nlist:\n- a\n- b: 1\n  c: []\n- - 1\n'],
  [{ text: 'one\ntwo\n', more: 'one\ntwo' }, 'more: |-\n  one\n  two\ntext: |\n  one\n  two\n'],
  [
    { text: long },
    'text: a long text that goes on and on until it is beyond the eighty columns that a\n  line may have here\n',
  ],
  [
    { text: `${long}: so` },
    "text: 'a long text that goes on and on until it is beyond the eighty columns that\n  a line may have here: so'\n",
  ],
  [{ '.': 1, '1': 'x', 'f:a': 1 }, '.: 1\n"1": x\nf:a: 1\n'],
] as const)('%j is written as YAML', ([value, text]) => {
  expect(toYaml(value)).toBe(text);
});
