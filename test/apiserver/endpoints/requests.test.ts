import { request } from 'node:https';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { EmbeddedApiServer } from '../../../src/apiserver/index.ts';
import { mediaTypeOf } from '../../../src/apiserver/endpoints/negotiate.ts';
import { negotiate } from '../../../src/apiserver/endpoints/negotiate.ts';
import { call, pod, podsPath } from '../support.ts';

let server: EmbeddedApiServer;
beforeAll(async () => {
  server = await EmbeddedApiServer.start({ minimalScheduler: false });
  await call(server, 'POST', '/api/v1/namespaces/default/serviceaccounts', named('default'));
  await call(server, 'POST', podsPath, pod('p'));
});
afterAll(() => server.stop());

const named = (name: string): object => ({ metadata: { name } });
const maps = '/api/v1/namespaces/default/configmaps';
const saying = (text: string): object => ({ message: expect.stringContaining(text) as string });

/** An answer as text. */
function textOf(
  method: string,
  path: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<{ status: number; text: string; type: string }> {
  const { port, ca, admin } = server;
  return new Promise((resolve, reject) => {
    const to = { host: '127.0.0.1', port, ca, cert: admin.cert, key: admin.key, agent: false };
    const outgoing = request({ ...to, method, path, headers }, (answer) => {
      let text = '';
      answer.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      answer.on('end', () => {
        resolve({ status: answer.statusCode ?? 0, text, type: answer.headers['content-type'] ?? '' });
      });
    });
    outgoing.on('error', reject);
    outgoing.end();
  });
}

/** What comes back for a body as it is written. */
function sent(
  method: string,
  path: string,
  body: string,
  type: string,
): Promise<{ status: number; text: string; warning: string | undefined }> {
  const { port, ca, admin } = server;
  return new Promise((resolve, reject) => {
    const to = { host: '127.0.0.1', port, ca, cert: admin.cert, key: admin.key, agent: false };
    request({ ...to, method, path, headers: { 'Content-Type': type } }, (answer) => {
      let text = '';
      answer.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      answer.on('end', () => {
        resolve({ status: answer.statusCode ?? 0, text, warning: answer.headers.warning });
      });
    })
      .on('error', reject)
      .end(body);
  });
}

const json = { format: 'json', pretty: false };
const yaml = { format: 'yaml', pretty: false };
const meta = 'g=meta.k8s.io;v=v1';
test.for([
  [undefined, json],
  ['', json],
  ['*', json],
  ['application/*', json],
  ['application/json;q=0.1, application/yaml;q=0.2', yaml],
  ['application/json;q=x, application/yaml;q=0', json],
  ['*/*, application/yaml', yaml],
  ['json, application/yaml', yaml],
  ['application/json;as=;g=;v=', json],
  ['application/json;stream=watch', json],
  ['application/*;stream=watch', json],
  [`application/json;as=Table;${meta}`, { ...json, as: 'Table', version: 'v1' }],
  [`*/*;as=Table;${meta}`, { ...json, as: 'Table', version: 'v1' }],
  ['application/json;sv=v1', json],
  ['application/json;pretty=1', { ...json, pretty: true }],
] as const)('Accept: %s is met', ([accept, answer]) => {
  expect(negotiate(accept, { produces: false, views: ['Table'] })).toEqual(answer);
});

test.for([
  ';',
  ',',
  'json',
  'text/*',
  'application/json;stream=x',
  'application/yaml;stream=watch',
  'application/json ; as = Table',
  'application/json;v=v1',
  'application/json;sv=1',
  `application/vnd.kubernetes.protobuf;as=Table;${meta}`,
])('Accept: %s is not met', (accept) => {
  expect(() => negotiate(accept, { produces: false, views: ['Table'] })).toThrow(
    'only the following media types are accepted',
  );
});

test.for([
  ['application/json', 'application/json'],
  ['Application/JSON; charset="a;b"', 'application/json'],
  ['application/json;', 'application/json'],
  ['application/json;x', undefined],
  ['application/json;a=b;A=c', undefined],
  ['application/json, application/yaml', undefined],
  [';', undefined],
] as const)('Content-Type: %s is %s', ([text, type]) => {
  expect(mediaTypeOf(text)).toBe(type);
});

test('an error that cannot be written as is asked is JSON to be read', async () => {
  const Accept = 'application/json;as=Table;g=meta.k8s.io;v=v1';
  const { status, text } = await textOf('GET', `${maps}/none`, { Accept });
  expect(status).toBe(404);
  expect(text).toMatch(/^\{\n {2}"kind": "Status",\n[^]*\n\}$/);
  expect((await textOf('GET', `${maps}/none`)).text).toMatch(/^\{"kind":"Status",.*\}\n$/);
});

test.for([
  ['pretty=t', true],
  ['pretty=x', false],
  ['pretty=', true],
  ['pretty=0', false],
] as const)('to curl, %s is indented: %s', async ([query, pretty]) => {
  const { text } = await textOf('GET', `${maps}?${query}`, { 'User-Agent': 'curl/8' });
  expect(text.includes('\n  "')).toBe(pretty);
});

test('paths of the root are there for every method, documents only for those who take them', async () => {
  expect(await textOf('POST', '/index.html', { Accept: 'text/plain' })).toMatchObject({ status: 200 });
  for (const [path, Accept] of [
    ['/version', 'application/*'],
    ['/openid/v1/jwks', 'application/json'],
  ] as const)
    expect(await textOf('GET', path, { Accept })).toMatchObject({ status: 406 });
  expect(await textOf('GET', '/version', { Accept: '' })).toMatchObject({ status: 200 });
});

test('a patch of several types comes through, and is none', async () => {
  const several = 'application/merge-patch+json, application/json';
  expect(await call(server, 'PATCH', `${maps}/x`, {}, several)).toMatchObject({
    status: 415,
    body: saying('accepted media types include: application/json-patch+json, application/merge-patch+json'),
  });
});

test.for([
  ['POST', '', 415],
  ['PUT', '/x', 422],
] as const)('%s with a strange type of body and a strange option is %i', async ([method, name, status]) => {
  const path = `${maps}${name}?fieldValidation=strict`;
  expect(await call(server, method, path, named('x'), 'application/xml')).toMatchObject({ status });
});

test('what a manager of fields may be called', async () => {
  const long = await call(server, 'POST', `${maps}?fieldManager=${'%C3%A4'.repeat(65)}`, named('x'));
  expect(long).toMatchObject({ status: 422, body: saying('Too long: may not be more than 128 bytes') });
  const odd = await call(server, 'POST', `${maps}?fieldManager=%C3%A4%0A`, named('x'));
  expect(odd).toMatchObject({ status: 422, body: saying('invalid character U+000A (at position 2)') });
});

test.for([
  ['labelSelector=-a&resourceVersionMatch=x', 400, 'unable to parse requirement'],
  ['labelSelector=-a&limit=x', 400, 'strconv.ParseInt'],
  ['fieldSelector=a&resourceVersionMatch=x', 400, "invalid selector: 'a'"],
  ['fieldSelector=a%3Db&resourceVersionMatch=x', 422, 'resourceVersionMatch'],
  [
    'resourceVersion=0&resourceVersionMatch=Exact&sendInitialEvents=1',
    422,
    '"0", sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list]',
  ],
  ['watch=FALSE&sendInitialEvents=1', 422, 'is forbidden for list'],
  ['watch=true;limit=1&resourceVersionMatch=%zz', 200, ''],
] as const)('a list with %s is %i', async ([query, status, why]) => {
  for (const method of status === 200 ? ['GET'] : ['GET', 'DELETE']) {
    const answer = await call(server, method, `${maps}?${query}`, method === 'GET' ? undefined : []);
    expect(answer.status).toBe(status);
    if (why !== '') expect(answer.body).toMatchObject(saying(why));
  }
});

test('a row without its object says so', async () => {
  const Accept = `application/json;as=Table;${meta}`;
  const table = await call(server, 'GET', `${podsPath}?includeObject=None`, undefined, '', { Accept });
  expect(table).toMatchObject({ body: { rows: [{ object: null }] } });
});

test.for([
  ['GET', '/api/v1/namespaces/default/configmaps/..', 400, `Name parameter invalid: "..": may not be '..'`],
  [
    'DELETE',
    '/api/v1/namespaces/default/pods/a%25b',
    400,
    `Name parameter invalid: "a%b": may not contain '%'`,
  ],
  ['GET', '/api/v1/namespaces/default/pods/../log', 400, 'Name parameter invalid'],
  ['POST', '/api/v1/namespaces//configmaps', 422, 'metadata.namespace: Required value'],
  ['PUT', '/api/v1/namespaces//configmaps/x', 400, 'Namespace parameter required.'],
  ['GET', '/api/v1/namespaces/default/pods//status', 400, 'name must be provided'],
  ['DELETE', '/api/v1/namespaces/default/pods//status', 405, 'does not allow this method'],
  ['POST', '/api/v1/namespaces/../configmaps', 500, `invalid resource name "..": [may not be '..']`],
  ['GET', '/api/v1/namespaces/../configmaps', 500, 'invalid key: "/configmaps/.."'],
  ['GET', '/api/v1/namespaces/../configmaps/x', 500, 'invalid key: "/configmaps/../x"'],
  ['GET', '/api/v1/namespaces/default/configmaps/a%2Fb', 404, 'could not find the requested resource'],
  ['GET', '/api/v1/namespaces/default/namespaces', 404, 'could not find the requested resource'],
  ['OPTIONS', '/api/v1/namespaces/default/namespaces/x', 404, 'could not find the requested resource'],
  ['GET', '/api/v1//nodes', 404, 'could not find the requested resource'],
  ['POST', '/api/v1/watch/nodes', 405, 'does not allow this method'],
  ['POST', '/api/v1/watch/nodes/x/status', 404, 'could not find the requested resource'],
  ['GET', '/api//v1/nodes', 404, 'could not find the requested resource'],
] as const)('%s %s is %i', async ([method, path, status, why]) => {
  const answer = await call(server, method, path, method.startsWith('P') ? named('x') : undefined);
  expect(answer).toMatchObject({ status, body: saying(why) });
});

test('an empty segment leads to nowhere, one at the end to the same', async () => {
  for (const path of ['//api/v1/nodes', '/apis//v1/nodes', '/apis//', '//version'])
    expect(await textOf('GET', path)).toMatchObject({ status: 404, text: '404 page not found\n' });
  for (const path of ['/api/v1/nodes//', '/api/v1/namespaces//configmaps', `${podsPath}/p/`])
    expect(await textOf('GET', path)).toMatchObject({ status: 200 });
});

test('a kind warns of itself where there is something to do with it', async () => {
  const path = '/api/v1/componentstatuses';
  expect((await call(server, 'POST', path, {})).headers.warning).toBeUndefined();
  expect((await call(server, 'GET', path)).headers.warning).toContain('v1 ComponentStatus is deprecated');
});

test('the components that kube-apiserver names are listed, and each is read by its name', async () => {
  const path = '/api/v1/componentstatuses';
  const items = ['controller-manager', 'scheduler', 'etcd-0'].map((name) => ({ metadata: { name } }));
  expect((await call(server, 'GET', path)).body).toMatchObject({ items });
  expect((await call(server, 'GET', `${path}/etcd-0`)).body).toMatchObject({
    kind: 'ComponentStatus',
    conditions: [{ type: 'Healthy', status: 'True' }],
  });
  expect(await textOf('GET', `${path}/other`)).toMatchObject({ status: 404 });
});

test('a pod without a node has no log yet', async () => {
  const { status, type } = await textOf('GET', `${podsPath}/p/log`);
  expect([status, type]).toEqual([204, '']);
});

const patchTypes = {
  json: 'application/json-patch+json',
  merge: 'application/merge-patch+json',
  apply: 'application/apply-patch+yaml',
};
test.for([
  [
    'json',
    '',
    {},
    'error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp',
  ],
  [
    'json',
    '',
    ['x'],
    'error decoding patch: json: cannot unmarshal string into Go value of type handlers.jsonPatchOp',
  ],
  ['json', '', [{ op: true }], 'cannot unmarshal bool into Go struct field jsonPatchOp.op of type string'],
  [
    'json',
    'fieldValidation=Ignore',
    {},
    'json: cannot unmarshal object into Go value of type jsonpatch.Patch',
  ],
  ['merge', '', true, 'cannot unmarshal bool into Go value of type map[string]interface {}'],
  [
    'apply',
    'fieldManager=m',
    [],
    'while decoding JSON: json: cannot unmarshal array into Go value of type map',
  ],
  ['apply', 'fieldManager=m', null, 'invalid object type: /, Kind='],
] as const)('a %s patch (%s) of %j is none', async ([type, query, body, why]) => {
  const patch = (name: string) => call(server, 'PATCH', `${maps}/${name}?${query}`, body, patchTypes[type]);
  await call(server, 'POST', maps, named('patched'));
  expect(await patch('patched')).toMatchObject({ status: 400, body: saying(why) });
  expect(await patch('none')).toMatchObject({ status: type === 'apply' ? 400 : 404 });
});

test('impersonation without a user name is refused with the request’s values', async () => {
  const headers = { 'Impersonate-Extra-A': 'b', 'Impersonate-Group': 'g' };
  expect(await call(server, 'GET', maps, undefined, '', headers)).toMatchObject({
    status: 400,
    body: saying('Groups:[]string{"g"}, Extra:map[string][]string{"a":[]string{"b"}}} without'),
  });
});

test('a document says what may be said of a body, and has nothing below', async () => {
  const plain = { 'Content-Type': 'text/plain' };
  for (const path of ['/version', '/api', '/api/v1'])
    expect(await textOf('GET', path, plain)).toMatchObject({ status: 415 });
  expect(await textOf('GET', '/apis', plain)).toMatchObject({ status: 200 });
  expect(await call(server, 'GET', '/version/x')).toMatchObject({ status: 404, body: { kind: 'Status' } });
  expect((await textOf('GET', '/readyz/ping/x')).status).toBe(404);
});

test('what is no object of the store can be asked for as metadata alone', async () => {
  const review = '/apis/authentication.k8s.io/v1/tokenreviews';
  const post = (path: string, body: object, as: string) =>
    call(server, 'POST', path, body, 'application/json', { Accept: `application/json;as=${as};${meta}` });
  expect(await post(review, { spec: { token: 'x' } }, 'PartialObjectMetadata')).toMatchObject({
    status: 201,
    body: { kind: 'PartialObjectMetadata' },
  });
  expect(await post(review, { spec: { token: 'x' } }, 'PartialObjectMetadataList')).toMatchObject({
    status: 406,
    body: saying('the requested object is not a list (*authentication.TokenReview)'),
  });
  expect(await post(review, {}, 'Table')).toMatchObject({ status: 406, body: saying('only the following') });
  const eviction = `${podsPath}/p/eviction?dryRun=All`;
  expect(await post(eviction, named('p'), 'PartialObjectMetadataList')).toMatchObject({
    status: 201,
    body: { kind: 'Status', status: 'Success' },
  });
});

test('a namespace keeps what becomes of its dependents, a deletion in so many words is accepted', async () => {
  await call(server, 'POST', '/api/v1/namespaces', named('gone'));
  const path = '/api/v1/namespaces/gone';
  expect(await call(server, 'DELETE', path, { dryRun: ['All'], orphanDependents: false })).toMatchObject({
    status: 202,
  });
  expect(await call(server, 'DELETE', path, { propagationPolicy: 'Orphan' })).toMatchObject({
    status: 200,
    body: { metadata: { finalizers: ['orphan'] } },
  });
});

test('an unknown key is not reported as a duplicate', async () => {
  const body = '{"metadata":{"name":"w"},"a":{"b":1,"b":2},"a":1}';
  const { warning } = await sent('POST', `${maps}?dryRun=All`, body, 'application/json');
  expect(warning).toBe('299 - "unknown field \\"a\\""');
  for (const name of ['é', '😀']) {
    const odd = await sent(
      'POST',
      `${maps}?dryRun=All`,
      body.replaceAll('"a"', JSON.stringify(name)),
      'application/json',
    );
    const utf8 = Buffer.from(odd.warning ?? '', 'latin1').toString();
    expect([odd.status, utf8]).toEqual([201, `299 - "unknown field \\"${name}\\""`]);
  }
});

test.for([
  ['e30', 'server does not recognize this encoded version '],
  ['W10', 'json: cannot unmarshal array into Go value of type storage.continueToken'],
  [{ v: 1 }, 'json: cannot unmarshal number into Go struct field continueToken.v of type string'],
  [{ v: 'meta.k8s.io/v1', start: 'a' }, 'incorrect encoded start resourceVersion (version meta.k8s.io/v1)'],
  [{ v: 'meta.k8s.io/v1', rv: -1 }, 'encoded start key empty (version meta.k8s.io/v1)'],
  [{ v: 'meta.k8s.io/v1', rv: -1, start: 'a/../b' }, 'a/../b'],
  ['%25', 'illegal base64 data at input byte 0'],
  ['YQ', "invalid character 'a' looking for beginning of value"],
] as const)('a list does not go on from %j', async ([token, why]) => {
  const text = typeof token === 'string' ? token : Buffer.from(JSON.stringify(token)).toString('base64url');
  expect(await call(server, 'GET', `${maps}?continue=${text}`)).toMatchObject({
    status: 400,
    body: { message: `invalid continue token: continue key is not valid: ${why}` },
  });
});

test.for([
  ['alice', {}, 'cannot impersonate-on:user-info:list resource "pods"'],
  ['system:node:n', {}, 'cannot impersonate-on:arbitrary-node:list resource "pods"'],
  ['system:serviceaccount:a:b', {}, 'cannot impersonate-on:serviceaccount:list resource "pods"'],
  [
    'system:serviceaccount:a:b',
    { 'Impersonate-Group': 'g' },
    'cannot impersonate resource "serviceaccounts" in API group "" in the namespace "a"',
  ],
] as const)('impersonating %s (%j) without permission is refused', async ([name, more, why]) => {
  const { cert, key } = server.clientCertificate('mallory');
  const as = { port: server.port, ca: server.ca, admin: { cert, key } } as EmbeddedApiServer;
  const answer = await call(as, 'GET', podsPath, undefined, '', { 'Impersonate-User': name, ...more });
  expect(answer).toMatchObject({ status: 403, body: saying(why) });
});

test('a request for a resource without a name is refused without one', async () => {
  const { cert, key } = server.clientCertificate('mallory');
  const as = { port: server.port, ca: server.ca, admin: { cert, key } } as EmbeddedApiServer;
  expect(await call(as, 'GET', '/api/v1//default')).toMatchObject({
    status: 403,
    body: saying('forbidden: User "mallory" cannot get resource ""'),
  });
});

test('a service account that is asked for is in its groups', async () => {
  const who = async (headers: Record<string, string>): Promise<unknown> =>
    (
      await call(
        server,
        'POST',
        '/apis/authentication.k8s.io/v1/selfsubjectreviews',
        {},
        'application/json',
        headers,
      )
    ).body['status'];
  expect(await who({ 'Impersonate-User': 'system:serviceaccount:a:b' })).toMatchObject({
    userInfo: {
      groups: ['system:serviceaccounts', 'system:serviceaccounts:a', 'system:authenticated'],
    },
  });
  expect(await who({ 'Impersonate-User': 'x', 'Impersonate-Group': 'system:authenticated' })).toMatchObject({
    userInfo: { groups: ['system:authenticated'] },
  });
});

test('only a request that lasts may say anything of its time', async () => {
  const at = `${podsPath}/p?watch=true&timeout=1`;
  expect(await call(server, 'GET', at)).toMatchObject({ status: 400, body: saying('missing unit') });
  expect((await textOf('GET', `${podsPath}/p/log?timeout=x`)).status).toBe(204);
});

test('an apply patch that is no YAML', async () => {
  const { status, text } = await sent('PATCH', `${maps}/x?fieldManager=m`, 'a: [', patchTypes.apply);
  expect(status).toBe(400);
  expect(text).toContain(
    'error decoding YAML: error converting YAML to JSON: yaml: line 1: did not find expected node content',
  );
});

test('an apply patch in which a key stands twice', async () => {
  const body = (value: string) =>
    `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"twice"},"data":{"a":"b"},"data":{"a":"${value}"}}`;
  const apply = (query: string): ReturnType<typeof sent> =>
    sent('PATCH', `${maps}/twice?fieldManager=m${query}`, body('c'), patchTypes.apply);
  expect(await apply('')).toMatchObject({
    status: 201,
    warning: '299 - "line 1: key \\"data\\" already set in map"',
  });
  expect(await apply('&fieldValidation=Strict')).toMatchObject({
    status: 400,
    text: expect.stringContaining(
      'error strict decoding YAML: error converting YAML to JSON: yaml: unm',
    ) as string,
  });
});

test('a writer without a printable name is unknown', async () => {
  const headers = { 'User-Agent': '/x' };
  const made = await call(
    server,
    'POST',
    `${maps}?dryRun=All`,
    { ...named('nobody'), data: { a: 'b' } },
    'application/json',
    headers,
  );
  expect(made).toMatchObject({ status: 201 });
  expect(JSON.stringify(made.body)).toContain('"manager":"unknown"');
});

test('there are no profiles, and a path to them leads to where they would be', async () => {
  const answers = await Promise.all(
    ['/debug/pprof', '/debug/pprof/heap'].map((path) => call(server, 'GET', path)),
  );
  expect(answers.map(({ status, headers, text }) => [status, headers.location, text])).toEqual([
    [302, '/debug/pprof/', '<a href="/debug/pprof/">Found</a>.\n\n'],
    [404, undefined, 'Unknown profile\n'],
  ]);
});
