import { afterAll, beforeAll, expect, test } from 'vitest';
import { EmbeddedApiServer } from '../../src/apiserver/index.ts';
import { call, pod, podsPath } from './support.ts';

let server: EmbeddedApiServer;
beforeAll(async () => {
  server = await EmbeddedApiServer.start();
});
afterAll(() => server.stop());

const priorities = '/apis/scheduling.k8s.io/v1/priorityclasses';
const volumes = '/api/v1/persistentvolumes';
const classes = '/apis/node.k8s.io/v1/runtimeclasses';

test.for([
  [
    priorities,
    { metadata: { name: 'high' }, value: 2_000_000_000 },
    'value: Forbidden: maximum allowed value of a user defined priority is 1000000000',
  ],
  [
    priorities,
    { metadata: { name: 'empty' }, value: 1, preemptionPolicy: '' },
    'preemptionPolicy: Required value',
  ],
  [
    priorities,
    { metadata: { name: 'system-x' }, value: 1 },
    "metadata.name: Forbidden: priority class names with 'system-' prefix are reserved for system use only. error: system-x is not a known system priority class",
  ],
  [classes, { metadata: { name: 'rc' } }, 'handler: Required value'],
  [
    volumes,
    { metadata: { name: 'pv' }, spec: {} },
    '[spec.accessModes: Required value, spec.capacity: Required value, spec.capacity: Unsupported value: null: supported values: "storage", spec: Required value: must specify a volume type]',
  ],
] as const)('%s refuses what breaks its rules', async ([path, object, why]) => {
  const answer = await call(server, 'POST', path, object);
  expect(answer.status).toBe(422);
  expect(String(answer.body['message'])).toContain(`is invalid: ${why}`);
});

test('a priority class keeps its value, and only one is the default', async () => {
  await call(server, 'POST', priorities, { metadata: { name: 'usual' }, value: 7, globalDefault: true });
  const type = 'application/merge-patch+json';
  const changed = await call(server, 'PATCH', `${priorities}/usual`, { value: 5 }, type);
  expect(changed).toMatchObject({
    status: 422,
    body: {
      details: { causes: [{ field: 'value', message: 'Forbidden: may not be changed in an update.' }] },
    },
  });
  const second = { metadata: { name: 'second' }, value: 8, globalDefault: true };
  expect(await call(server, 'POST', priorities, second)).toMatchObject({
    status: 403,
    body: {
      message:
        'priorityclasses.scheduling.k8s.io "second" is forbidden: PriorityClass usual is already marked as default. Only one default can exist',
    },
  });
  expect(await call(server, 'PATCH', `${priorities}/usual`, { description: 'd' }, type)).toMatchObject({
    status: 200,
    body: { globalDefault: true, description: 'd' },
  });
  expect(await call(server, 'DELETE', `${priorities}/system-node-critical`)).toMatchObject({ status: 403 });
  expect(await call(server, 'DELETE', `${priorities}/usual`)).toMatchObject({ status: 200 });
});

test('kubectl shows what a volume and a claim hold', async () => {
  const Accept = 'application/json;as=Table;v=v1;g=meta.k8s.io';
  const volume = { accessModes: ['ReadWriteMany', 'ReadWriteOnce'], capacity: { storage: '1Gi' } };
  const spec = { ...volume, hostPath: { path: '/x' }, claimRef: { namespace: 'default', name: 'c' } };
  await call(server, 'POST', volumes, { metadata: { name: 'shown' }, spec });
  const claims = '/api/v1/namespaces/default/persistentvolumeclaims';
  const { accessModes } = volume;
  const resources = { requests: volume.capacity };
  const claim = { accessModes, resources, volumeName: 'shown', storageClassName: 'fast' };
  await call(server, 'POST', claims, { metadata: { name: 'c' }, spec: claim });
  const status = { phase: 'Bound', accessModes, capacity: volume.capacity };
  await call(server, 'PATCH', `${claims}/c/status`, { status }, 'application/merge-patch+json');
  const row = async (path: string): Promise<unknown> => {
    const { rows } = (await call(server, 'GET', path, undefined, undefined, { Accept })).body as unknown as {
      rows: readonly { cells: readonly unknown[] }[];
    };
    return rows[0]?.cells.filter((cell) => !/^\d+s$/.test(String(cell)));
  };
  expect(await row(`${volumes}/shown`)).toEqual([
    'shown',
    '1Gi',
    'RWO,RWX',
    'Retain',
    'Pending',
    'default/c',
    '',
    '<unset>',
    '',
    'Filesystem',
  ]);
  expect(await row(`${claims}/c`)).toEqual([
    'c',
    'Bound',
    'shown',
    '1Gi',
    'RWO,RWX',
    'fast',
    '<unset>',
    'Filesystem',
  ]);
});

test('a token with a foreign signature is distinguished from any other text', async () => {
  const encoded = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  const iss = 'https://kubernetes.default.svc.cluster.local';
  const token = `${encoded({ alg: 'RS256' })}.${encoded({ iss })}.c2ln`;
  const errorOf = async (text: string): Promise<unknown> =>
    (await call(server, 'POST', '/apis/authentication.k8s.io/v1/tokenreviews', { spec: { token: text } }))
      .body['status'];
  expect(await errorOf(token)).toMatchObject({
    error: '[invalid bearer token, go-jose/go-jose: error in cryptographic primitive]',
  });
  expect(await errorOf('a.b.c')).toMatchObject({ error: 'invalid bearer token' });
});

test('the handler of a runtime class stays', async () => {
  await call(server, 'POST', classes, { metadata: { name: 'kept' }, handler: 'a' });
  const answer = await call(
    server,
    'PATCH',
    `${classes}/kept`,
    { handler: 'b' },
    'application/merge-patch+json',
  );
  expect(answer).toMatchObject({
    status: 422,
    body: { details: { causes: [{ field: 'handler', message: 'Invalid value: "b": field is immutable' }] } },
  });
});

test('a limit range says what a container asks for when it says nothing', async () => {
  const limits = [{ type: 'Container', default: { cpu: '1' }, max: { memory: '1Gi' }, min: { cpu: '10m' } }];
  const path = '/api/v1/namespaces/default/limitranges';
  const answer = await call(server, 'POST', path, { metadata: { name: 'lr' }, spec: { limits } });
  const full = { cpu: '1', memory: '1Gi' };
  expect(answer.body).toMatchObject({ spec: { limits: [{ default: full, defaultRequest: full }] } });
});

test('a list of pods is no PartialObjectMetadata', async () => {
  const Accept = 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1';
  const { port, ca, admin } = server;
  const { request } = await import('node:https');
  const status = await new Promise((resolve, reject) => {
    const options = { host: '127.0.0.1', port, ca, cert: admin.cert, key: admin.key, agent: false };
    request({ ...options, path: podsPath, headers: { Accept } }, (answer) => {
      answer.resume();
      resolve(answer.statusCode);
    })
      .on('error', reject)
      .end();
  });
  expect(status).toBe(406);
});

test('a change that admission takes back is none: the generation stays', async () => {
  const made = await call(server, 'POST', podsPath, pod('p', { nodeName: 'n1' }));
  const type = 'application/merge-patch+json';
  const same = await call(server, 'PATCH', `${podsPath}/p`, { spec: { tolerations: null } }, type);
  expect(same.body.metadata).toEqual(made.body.metadata);
});

test('a PUT that names the life of a lease that is gone is a conflict, and makes none', async () => {
  const path = '/apis/coordination.k8s.io/v1/namespaces/default/leases/gone';
  const uid = '00000000-0000-4000-8000-000000000001';
  const lease = (metadata: object): object => ({ metadata: { name: 'gone', ...metadata }, spec: {} });
  expect(await call(server, 'PUT', path, lease({ uid, resourceVersion: '5' }))).toMatchObject({
    status: 409,
    body: {
      reason: 'Conflict',
      message: `Operation cannot be fulfilled on leases.coordination.k8s.io "gone": StorageError: invalid object, Code: 4, Key: /registry/leases/default/gone, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: ${uid}, UID in object meta: `,
    },
  });
  expect(await call(server, 'GET', path)).toMatchObject({ status: 404 });
  expect(await call(server, 'PUT', path, lease({ resourceVersion: '5' }))).toMatchObject({ status: 201 });
});

const nodes = '/api/v1/nodes';
test('deprecated fields of a node cause a warning, and stay', async () => {
  const made = await call(server, 'POST', nodes, { metadata: { name: 'old' }, spec: { externalID: 'x' } });
  expect([made.status, made.headers.warning]).toEqual([201, expect.stringContaining('spec.externalID')]);
  const changed = await call(server, 'PATCH', `${nodes}/old`, { spec: { externalID: 'y' } }, mergeType);
  expect(changed).toMatchObject({
    status: 422,
    body: { message: 'Node "old" is invalid: spec.externalID: Forbidden: may not be updated' },
  });
});

const mergeType = 'application/merge-patch+json';
const accounts = '/api/v1/namespaces/default/serviceaccounts';

test('admission knows a new pod by the prefix of its name at best', async () => {
  const told = async (metadata: object, spec: object): Promise<unknown> => {
    const { containers } = { containers: [{ name: 'c', image: 'i' }] };
    const answer = await call(server, 'POST', podsPath, { metadata, spec: { containers, ...spec } });
    return answer.body['message'];
  };
  const none = 'no PriorityClass with name none was found';
  await call(server, 'POST', accounts, { metadata: { name: 'default' } });
  expect(await told({ generateName: 'web-' }, { priorityClassName: 'none' })).toBe(
    `pods "web-" is forbidden: ${none}`,
  );
  expect(await told({}, { priorityClassName: 'none' })).toBe(`pods "Unknown" is forbidden: ${none}`);
  expect(await told({ name: 'p' }, { serviceAccountName: 'a/b' })).toBe(
    'pods "p" is forbidden: error looking up service account default/a/b: invalid resource name "a/b": [may not contain \'/\']',
  );
  expect(await told({ name: 'p' }, { overhead: { x: '1' } })).toMatch(/^Pod "p" is invalid: /);
});

test('a PUT that does not tell a pod’s priority keeps it', async () => {
  const spec = { containers: [{ name: 'c', image: 'i' }], automountServiceAccountToken: false };
  await call(server, 'POST', podsPath, { metadata: { name: 'kept' }, spec });
  const { body } = await call(server, 'GET', `${podsPath}/kept`);
  const { priority: _p, preemptionPolicy: _q, ...rest } = body['spec'] as unknown as Record<string, unknown>;
  const put = await call(server, 'PUT', `${podsPath}/kept`, { metadata: { name: 'kept' }, spec: rest });
  expect(put).toMatchObject({ status: 200, body: { spec: { priority: 0 } } });
});

test('a new object keeps the generation that it brings where its kind counts none', async () => {
  const made = await call(server, 'POST', accounts, { metadata: { name: 'g', generation: 7 } });
  expect(made).toMatchObject({ status: 201, body: { metadata: { generation: 7 } } });
});

test.for(['apiversion', 'KIND'])('%s says what a body is, too, and strictly it is unknown', async (key) => {
  const answer = await call(server, 'POST', accounts, { metadata: { name: 'k' }, [key]: 'x' });
  expect(answer).toMatchObject({
    status: 400,
    body: { message: expect.stringContaining('no kind "') as string },
  });
});

test('an apply without a name is for what is there alone', async () => {
  const path = '/api/v1/namespaces/default/configmaps/applied';
  const apply = (metadata: object) =>
    call(
      server,
      'PATCH',
      `${path}?fieldManager=m`,
      { apiVersion: 'v1', kind: 'ConfigMap', metadata },
      'application/apply-patch+yaml',
    );
  expect(await apply({})).toMatchObject({
    status: 400,
    body: {
      message: 'the name of the object (applied based on URL) was undeterminable: name must be provided',
    },
  });
  expect(await apply({ name: 'applied' })).toMatchObject({ status: 201 });
  expect(await apply({})).toMatchObject({ status: 200 });
});

const configMaps = '/api/v1/namespaces/default/configmaps';
const leases = '/apis/coordination.k8s.io/v1/namespaces/default/leases';

test('a finalizer has a domain or is Kubernetes’ own; a lease’s need not', async () => {
  const metadata = { name: 'f', finalizers: ['mine'] };
  expect(await call(server, 'POST', configMaps, { metadata })).toMatchObject({
    status: 422,
    body: {
      message:
        'ConfigMap "f" is invalid: metadata.finalizers[0]: Invalid value: "mine": name is neither a standard finalizer name nor is it fully qualified',
    },
  });
  expect(await call(server, 'POST', leases, { metadata })).toMatchObject({ status: 201 });
});

test('a name is shown as Go quotes it', async () => {
  const { body } = await call(server, 'POST', configMaps, { metadata: { name: '\u0007' } });
  expect(body['message']).toMatch(/^ConfigMap "\\a" is invalid: metadata\.name: Invalid value: "\\a": /);
});

test.for([
  ['/apis/policy/v1/namespaces/default/poddisruptionbudgets', { spec: { minAvailable: 1 } }, 201],
  [configMaps, {}, 422],
] as const)('%s takes * for a name: %s', async ([path, more, status]) => {
  expect((await call(server, 'POST', path, { metadata: { name: '*' }, ...more })).status).toBe(status);
});

test.for([
  [{ apiVersion: '/v1', kind: 'ConfigMap', metadata: { name: 'slash' } }, 201, undefined],
  [
    { apiVersion: 'a/b/c', kind: 'ConfigMap' },
    400,
    'the object provided is unrecognized (must be of type ConfigMap): unexpected GroupVersion string: a/b/c ({"apiVersion":"a/b/c","kind":" ...)',
  ],
  [
    { apiVersion: 'v1', kind: 'PodList', items: 'x' },
    400,
    'PodList in version "v1" cannot be handled as a ConfigMap: json: cannot unmarshal string into Go struct field PodList.items of type []v1.Pod',
  ],
] as const)('%o is read as what it says it is', async ([object, status, message]) => {
  const answer = await call(server, 'POST', configMaps, object);
  expect([answer.status, answer.body['message']]).toEqual([status, message]);
});

test('bytes may be a list of numbers', async () => {
  const secrets = '/api/v1/namespaces/default/secrets';
  const sent = (a: unknown[]): ReturnType<typeof call> =>
    call(server, 'POST', secrets, { metadata: { name: 'bytes' }, data: { a } });
  expect((await sent([256])).status).toBe(400);
  expect((await sent([104, 105, null])).body).toMatchObject({ data: { a: 'aGkA' } });
});

test('a runtime class is warned of nodes’ old labels', async () => {
  const scheduling = { nodeSelector: { 'beta.kubernetes.io/os': 'linux' } };
  const { headers } = await call(server, 'POST', classes, {
    metadata: { name: 'old' },
    handler: 'h',
    scheduling,
  });
  expect(headers.warning).toContain('scheduling.nodeSelector: deprecated since v1.14');
});

test('where a kubelet once took its configuration from is not kept', async () => {
  const spec = { configSource: { configMap: { name: 'x' } } };
  const node = { metadata: { name: 'configured' }, spec, status: { config: {} } };
  const { body } = await call(server, 'POST', '/api/v1/nodes', node);
  expect(body['spec']).not.toHaveProperty('configSource');
  expect(body['status']).not.toHaveProperty('config');
  const type = 'application/merge-patch+json';
  const changed = await call(server, 'PATCH', '/api/v1/nodes/configured', { spec }, type);
  expect(changed.body['spec']).not.toHaveProperty('configSource');
});

test('a duplicate owner is removed with a warning', async () => {
  // of a kind that the garbage collector cannot look up
  const owner = { apiVersion: 'example.com/v1', kind: 'Widget', name: 'p', uid: 'u' };
  const other = { ...owner, controller: true };
  const metadata = { name: 'owned', ownerReferences: [owner, owner, other] };
  const made = await call(server, 'POST', configMaps, { metadata });
  expect(made.headers.warning).toContain('duplicate entries; API server dedups');
  expect(made.headers.warning).toContain('observed: u"');
  expect(made.body.metadata).toMatchObject({ ownerReferences: [owner, other] });
  const type = 'application/merge-patch+json';
  const again = await call(
    server,
    'PATCH',
    `${configMaps}/owned`,
    { metadata: { ownerReferences: [owner, owner] } },
    type,
  );
  expect(again.headers.warning).toContain(
    'duplicate entries after mutating admission happens; API server dedups',
  );
  expect(again.body.metadata).toMatchObject({ ownerReferences: [owner] });
});
