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
    `failed to convert new object ${shown} to proper version: unable to convert unstructured object to coordination.k8s.io/v1, Kind=Lease: json: cannot unmarshal number into Go struct field LeaseSpec.spec.renewTime of type string`,
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
});
