import { afterEach, expect, test } from 'vitest';
import { EmbeddedApiServer } from '../../src/apiserver/index.ts';
import { call, pod, podsPath } from './support.ts';

let server: EmbeddedApiServer;
afterEach(() => server.stop());

interface Owned {
  readonly metadata: { readonly managedFields?: readonly { readonly fieldsV1: unknown }[] };
}
const configMaps = '/api/v1/namespaces/default/configmaps';
const ownersOf = ({ body }: { readonly body: unknown }): unknown[] | undefined =>
  (body as Owned).metadata.managedFields?.map(({ fieldsV1 }) => fieldsV1);

test('an object without owned fields is no longer tracked', async () => {
  server = await EmbeddedApiServer.start();
  const made = await call(server, 'POST', configMaps, { metadata: { name: 'x' } });
  expect(ownersOf(made)).toBeUndefined();
  const patch = { data: { z: '1' } };
  const changed = await call(server, 'PATCH', `${configMaps}/x`, patch, 'application/merge-patch+json');
  expect(changed.body).toMatchObject(patch);
  expect(ownersOf(changed)).toBeUndefined();
});

test('an update brings its owners along: what they had before is as it says', async () => {
  server = await EmbeddedApiServer.start();
  const { body: first } = await call(server, 'POST', configMaps, {
    metadata: { name: 'x' },
    data: { a: '1' },
  });
  const both = { ...first, metadata: { ...first.metadata, labels: { l: '1' } } };
  const { body: second } = await call(server, 'PUT', `${configMaps}/x`, both);
  const { metadata } = second;
  // the list of owners from before the label: the map of labels was there, so only what is in it changes
  const third = await call(server, 'PUT', `${configMaps}/x`, {
    ...second,
    metadata: {
      ...metadata,
      labels: { l: '2' },
      managedFields: (first as unknown as Owned).metadata.managedFields,
    },
  });
  expect(ownersOf(third)).toEqual([
    { 'f:data': { '.': {}, 'f:a': {} }, 'f:metadata': { 'f:labels': { 'f:l': {} } } },
  ]);
});

test('items of one key are owned together', async () => {
  server = await EmbeddedApiServer.start();
  const env = [
    { name: 'A', value: '1' },
    { name: 'A', value: '2' },
    { name: 'B', value: '3' },
  ];
  const made = await call(
    server,
    'POST',
    podsPath,
    pod('p', { containers: [{ name: 'c', image: 'x', env }] }),
  );
  expect(JSON.stringify(ownersOf(made))).toContain(
    '"f:env":{".":{},"k:{\\"name\\":\\"A\\"}":{},"k:{\\"name\\":\\"B\\"}":{".":{},"f:name":{},"f:value":{}}}',
  );
});

test('a subresource does not take ownership of fields that it cannot change', async () => {
  server = await EmbeddedApiServer.start();
  const made = await call(server, 'POST', podsPath, pod('p', { nodeName: 'n1' }));
  const patch = { spec: { nodeName: 'other' }, status: { reason: 'R' } };
  const type = 'application/strategic-merge-patch+json';
  const changed = await call(server, 'PATCH', `${podsPath}/p/status`, patch, type);
  expect(changed.body).toMatchObject({ spec: { nodeName: 'n1' }, status: { reason: 'R' } });
  expect(ownersOf(changed)?.[0]).toEqual(ownersOf(made)?.[0]);
});

const merge = 'application/merge-patch+json';

test('who sends an empty list of owners has them forgotten', async () => {
  server = await EmbeddedApiServer.start();
  await call(server, 'POST', configMaps, { metadata: { name: 'x' }, data: { a: '1' } });
  const patch = { metadata: { managedFields: [] } };
  expect(ownersOf(await call(server, 'PATCH', `${configMaps}/x`, patch, merge))).toBeUndefined();
});

test('fields of another kind are passed over; a list that cannot be read counts as not sent', async () => {
  server = await EmbeddedApiServer.start();
  const entry = { manager: 'm', operation: 'Update', apiVersion: 'v1', fieldsType: 'FieldsV1' };
  const sent = (name: string, fieldsV1: object): ReturnType<typeof call> =>
    call(server, 'POST', configMaps, {
      metadata: { name, managedFields: [{ ...entry, fieldsV1 }] },
      data: { a: '1' },
    });
  const own = { 'f:data': { '.': {}, 'f:a': {} } };
  expect(ownersOf(await sent('x', { 'f:immutable': { 'z:later': {} } }))).toEqual([
    { 'f:immutable': {} },
    own,
  ]);
  expect(ownersOf(await sent('y', { 'f:immutable': { later: {} } }))).toEqual([own]);
});

test('an item without its key has an empty one', async () => {
  server = await EmbeddedApiServer.start();
  const made = await call(server, 'POST', podsPath, pod('keyless', { imagePullSecrets: [{}] }));
  expect(ownersOf(made)).toMatchObject([
    { 'f:spec': { 'f:imagePullSecrets': { '.': {}, 'k:{"name":""}': {} } } },
  ]);
});

test('a required list that was sent empty has an owner, one that was not sent has none', async () => {
  server = await EmbeddedApiServer.start();
  const roles = '/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles';
  const sent = await call(server, 'POST', roles, { metadata: { name: 'sent' }, rules: [] });
  expect([sent.body['rules'], ownersOf(sent)]).toEqual([null, [{ 'f:rules': {} }]]);
  const silent = await call(server, 'POST', roles, { metadata: { name: 'silent' } });
  expect([silent.body['rules'], ownersOf(silent)]).toEqual([null, undefined]);
});
