import { afterAll, beforeAll, expect, test } from 'vitest';
import { EmbeddedApiServer } from '../../../../src/apiserver/index.ts';
import { type Answer, call } from '../../support.ts';

let server: EmbeddedApiServer;
beforeAll(async () => {
  server = await EmbeddedApiServer.start({ controllers: false });
});
afterAll(() => server.stop());

const apps = '/apis/apps/v1/namespaces/default';
const labels = { a: 'b' };
const set = (template: object = {}): object => ({
  metadata: { name: 'one' },
  spec: {
    selector: { matchLabels: labels },
    template: { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'x' }], ...template } },
  },
});
const apply = (path: string, apiVersion: string, kind: string, object: object): Promise<Answer> =>
  call(
    server,
    'PATCH',
    `${path}?fieldManager=other`,
    { apiVersion, kind, ...object },
    'application/apply-patch+yaml',
  );
const messageOf = (answer: Answer): string => String((answer.body as { message?: unknown }).message);

test('an apply configuration is checked: types, owners, decoding, name, rules', async () => {
  const leases = '/apis/coordination.k8s.io/v1/namespaces/default/leases';
  const lease = { metadata: { name: 'one' }, spec: { holderIdentity: 'a', leaseDurationSeconds: 5 } };
  await call(server, 'POST', leases, lease);
  const outcome = async (object: object): Promise<readonly [number, string]> => {
    const answer = await apply(`${leases}/one`, 'coordination.k8s.io/v1', 'Lease', object);
    return [answer.status, messageOf(answer)];
  };
  const shown = '(/two; coordination.k8s.io/v1, Kind=Lease)';
  const named = (spec: object): object => ({ metadata: { name: 'two' }, spec });
  expect(await outcome(named({ renewTime: {}, holderIdentity: 'b' }))).toEqual([
    500,
    `failed to create typed patch object ${shown}: .spec.renewTime: expected any scalar, got &{map[]}`,
  ]);
  expect((await outcome(named({ renewTime: 5, holderIdentity: 'b' })))[0]).toBe(409);
  expect(await outcome(named({ renewTime: 5 }))).toEqual([
    500,
    `failed to convert new object ${shown} to proper version: unable to convert unstructured object to coordination.k8s.io/v1, Kind=Lease: json: cannot unmarshal number into Go value of type string`,
  ]);
  expect(await outcome(named({ leaseTransitions: -1 }))).toEqual([
    400,
    'the name of the object (two) does not match the name on the URL (one)',
  ]);
  expect((await outcome({ spec: { leaseTransitions: -1 } }))[0]).toBe(422);
});

test('an apply without a name is one of the object that the path names, if that exists', async () => {
  const path = '/api/v1/namespaces/default/configmaps';
  await call(server, 'POST', path, { metadata: { name: 'there' } });
  const { status } = await apply(`${path}/there`, 'v1', 'ConfigMap', { data: { a: 'b' } });
  expect(status).toBe(200);
  const absent = await apply(`${path}/absent`, 'v1', 'ConfigMap', { data: { a: 'b' } });
  expect([absent.status, messageOf(absent)]).toEqual([
    400,
    'the name of the object (absent based on URL) was undeterminable: name must be provided',
  ]);
});

test('owned ports are written in the order of their numbers', async () => {
  const ports = [{ port: 443 }, { port: 80 }, { port: 9 }].map((one) => ({ ...one, name: `p${one.port}` }));
  const { body } = await call(server, 'POST', '/api/v1/namespaces/default/services', {
    metadata: { name: 'ports' },
    spec: { ports },
  });
  const [entry] = (body.metadata as unknown as { managedFields: [{ fieldsV1: object }] }).managedFields;
  const spec = (entry.fieldsV1 as { 'f:spec': { 'f:ports': object } })['f:spec'];
  expect(Object.keys(spec['f:ports'])).toEqual([
    '.',
    ...[9, 80, 443].map((port) => `k:{"port":${port},"protocol":"TCP"}`),
  ]);
});

test('views show the metadata of the internal version', async () => {
  await call(server, 'POST', `${apps}/daemonsets`, set());
  const annotation = 'deprecated.daemonset.template.generation';
  const { text } = await call(server, 'GET', `${apps}/daemonsets/one`);
  expect(text).toContain(`"${annotation}":"1"`);
  const path = `${apps}/daemonsets/one`;
  for (const as of ['Table', 'PartialObjectMetadata']) {
    const Accept = `application/json;as=${as};v=v1;g=meta.k8s.io`;
    const view = await call(server, 'GET', path, undefined, undefined, { Accept });
    expect(view.text, as).toContain(`"kind":"${as}"`);
    expect(view.text, as).not.toContain(`"${annotation}":"1"`);
  }
  const { body } = await call(server, 'GET', path);
  const { annotations: _a, ...metadata } = body.metadata as unknown as Record<string, unknown>;
  const status = await call(server, 'PUT', `${path}/status`, { ...body, metadata });
  expect(status.text).toContain(`"${annotation}":"1"`);
});

const messages = async (method: string, path: string, body?: object): Promise<readonly [number, string]> => {
  const answer = await call(server, method, path, body);
  return [answer.status, messageOf(answer)];
};

test('a write with dry run keeps the resource version that it was sent with', async () => {
  const path = '/apis/rbac.authorization.k8s.io/v1/clusterroles';
  const role = (resourceVersion: string): object => ({
    metadata: { name: 'dry', resourceVersion },
    rules: [],
  });
  const versionOf = async (method: string, at: string): Promise<unknown> =>
    (await call(server, method, `${at}?dryRun=All`, role('5'))).body.metadata.resourceVersion;
  expect(await versionOf('POST', path)).toBe('5');
  expect(await versionOf('PUT', `${path}/dry`)).toBe('5');
  expect(await messages('PUT', `${path}/dry`, role('x'))).toEqual([
    500,
    'strconv.ParseUint: parsing "x": invalid syntax',
  ]);
  expect(await messages('POST', path, role('5'))).toEqual([
    500,
    'resourceVersion should not be set on objects to be created',
  ]);
});

test('an owner of another group is forgotten', async () => {
  const path = '/apis/storage.k8s.io/v1/csidrivers';
  const made = await call(server, 'POST', path, { metadata: { name: 'd' }, spec: {} });
  const owner = (apiVersion: string): object => ({
    ...made.body,
    metadata: {
      ...made.body.metadata,
      managedFields: [
        {
          manager: 'x',
          operation: 'Update',
          apiVersion,
          fieldsType: 'FieldsV1',
          fieldsV1: { 'f:metadata': {} },
        },
      ],
    },
  });
  const { text } = await call(server, 'PUT', `${path}/d?dryRun=All`, owner('v1'));
  expect(text).toContain('"name":"d"');
  expect(text).not.toContain('managedFields');
  const kept = await call(server, 'PUT', `${path}/d?dryRun=All`, owner('storage.k8s.io/v1'));
  expect(kept.text).toContain('"manager":"x"');
});

test('a DELETE of a Job without a propagation policy warns', async () => {
  const path = '/apis/batch/v1/namespaces/default/jobs/absent';
  const deleted = await call(server, 'DELETE', path);
  expect(deleted.status).toBe(404);
  expect(deleted.headers.warning).toContain('child pods are preserved by default');
  const named = await call(server, 'DELETE', `${path}?propagationPolicy=Orphan`);
  expect(named.headers.warning).toBeUndefined();
});

test('selectors without a field and a value select everything; the first fault is of the sorted terms', async () => {
  const path = '/apis/apps/v1/namespaces/default/daemonsets?fieldSelector=';
  const all = await call(server, 'GET', `${path}${encodeURIComponent('=')}`);
  expect(all.text).toContain('"name":"one"');
  expect(await messages('GET', path + encodeURIComponent('x,b=1,a=2'))).toEqual([
    400,
    "invalid selector: 'x,b=1,a=2'; can't understand 'x'",
  ]);
  expect(await messages('GET', path + encodeURIComponent('b=1,a\\=2'))).toEqual([
    400,
    '"a\\\\" is not a known field selector: only "metadata.name", "metadata.namespace"',
  ]);
});

test('faults of metadata are repeated as often as the kind validates them', async () => {
  const causesOf = async (path: string, object: object): Promise<number> => {
    await call(server, 'POST', path, object);
    const patch = { metadata: { labels: { a: '-' } } };
    const answer = await call(server, 'PATCH', `${path}/v`, patch, 'application/merge-patch+json');
    const { details } = answer.body as { details?: { causes?: readonly unknown[] } };
    return details?.causes?.length ?? 0;
  };
  const metadata = { name: 'v' };
  const limits = { metadata, spec: { limits: [] } };
  expect(await causesOf('/api/v1/namespaces/default/limitranges', limits)).toBe(3);
  const volume = {
    metadata,
    spec: { capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce'], hostPath: { path: '/x' } },
  };
  expect(await causesOf('/api/v1/persistentvolumes', volume)).toBe(4);
  const budgets = '/apis/policy/v1/namespaces/default/poddisruptionbudgets';
  expect(await causesOf(budgets, { metadata, spec: { minAvailable: 1 } })).toBe(2);
});
