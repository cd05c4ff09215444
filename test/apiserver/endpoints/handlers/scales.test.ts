import { afterAll, beforeAll, expect, test } from 'vitest';
import { EmbeddedApiServer } from '../../../../src/apiserver/index.ts';
import { rule, configure, unconfigure } from '../../admission/webhooks/support.ts';
import { type Answer, call } from '../../support.ts';
import { allow, patching, startWebhook } from '../../webhooks/support.ts';

let server: EmbeddedApiServer;
beforeAll(async () => {
  server = await EmbeddedApiServer.start({ externalControllers: true });
});
afterAll(() => server.stop());

const template = {
  metadata: { labels: { app: 'a', tier: 'x' } },
  spec: { containers: [{ name: 'c', image: 'x' }] },
};
const selector = {
  matchLabels: { app: 'a' },
  matchExpressions: [{ key: 'tier', operator: 'In', values: ['x', 'w'] }],
};
const apps = '/apis/apps/v1/namespaces/default';
const kinds = [
  ['deployments', `${apps}/deployments`, selector, 'app=a,tier in (w,x)'],
  ['replicasets', `${apps}/replicasets`, selector, 'app=a,tier in (w,x)'],
  ['statefulsets', `${apps}/statefulsets`, selector, 'app=a,tier in (w,x)'],
  [
    'replicationcontrollers',
    '/api/v1/namespaces/default/replicationcontrollers',
    { tier: 'x', app: 'a' },
    'app=a,tier=x',
  ],
] as const;
const make = (path: string, name: string, of: object): Promise<Answer> =>
  call(server, 'POST', path, {
    metadata: { name },
    spec: { replicas: 2, selector: of, template, serviceName: undefined },
  });
const merge = 'application/merge-patch+json';

test.each(kinds)('the scale of %s is read, replaced and patched', async (_resource, path, of, text) => {
  const made = await make(path, 'one', of);
  expect(made.status).toBe(201);
  const at = `${path}/one/scale`;
  const { status, body } = await call(server, 'GET', at);
  const { uid, resourceVersion, creationTimestamp } = made.body.metadata as unknown as Record<string, string>;
  expect([status, body]).toEqual([
    200,
    {
      kind: 'Scale',
      apiVersion: 'autoscaling/v1',
      metadata: { name: 'one', namespace: 'default', uid, resourceVersion, creationTimestamp },
      spec: { replicas: 2 },
      status: { replicas: 0, selector: text },
    },
  ]);
  const put = await call(server, 'PUT', at, { ...body, spec: { replicas: 3 } });
  expect([put.status, put.body]).toMatchObject([200, { kind: 'Scale', spec: { replicas: 3 } }]);
  const stale = await call(server, 'PUT', at, { ...body, spec: { replicas: 4 } });
  expect(stale.status).toBe(409);
  const patched = await call(server, 'PATCH', at, { spec: { replicas: 5 } }, merge);
  expect([patched.status, patched.body]).toMatchObject([200, { spec: { replicas: 5 } }]);
  const strategic = 'application/strategic-merge-patch+json';
  expect((await call(server, 'PATCH', at, { spec: { replicas: 6 } }, strategic)).body).toMatchObject({
    spec: { replicas: 6 },
  });
  const object = await call(server, 'GET', `${path}/one`);
  expect(object.body).toMatchObject({ spec: { replicas: 6 }, metadata: { generation: 4 } });
});

test('field owners of a scale own the replicas', async () => {
  const path = `${apps}/deployments`;
  await make(path, 'owned', selector);
  const scale = {
    apiVersion: 'autoscaling/v1',
    kind: 'Scale',
    metadata: { name: 'owned' },
    spec: { replicas: 7 },
  };
  const apply = (query: string): Promise<Answer> =>
    call(
      server,
      'PATCH',
      `${path}/owned/scale?fieldManager=scaler${query}`,
      scale,
      'application/apply-patch+yaml',
    );
  const refused = await apply('');
  expect([refused.status, refused.body]).toMatchObject([
    409,
    { details: { causes: [{ field: '.spec.replicas' }] } },
  ]);
  const forced = await apply('&force=true');
  expect([forced.status, forced.body]).toMatchObject([200, { kind: 'Scale', spec: { replicas: 7 } }]);
  const { metadata } = (await call(server, 'GET', `${path}/owned`)).body as unknown as {
    readonly metadata: { readonly managedFields: readonly object[] };
  };
  expect(metadata.managedFields).toContainEqual(
    expect.objectContaining({
      manager: 'scaler',
      operation: 'Apply',
      subresource: 'scale',
      apiVersion: 'apps/v1',
      fieldsV1: { 'f:spec': { 'f:replicas': {} } },
    }),
  );
});

test('each applier of a scale has an entry of its own; a new one has no time', async () => {
  const path = `${apps}/deployments/told`;
  await make(`${apps}/deployments`, 'told', selector);
  const scale = (spec: object): object => ({
    apiVersion: 'autoscaling/v1',
    kind: 'Scale',
    metadata: { name: 'told' },
    spec,
  });
  const apply = async (manager: string, spec: object, force = ''): Promise<string> => {
    const query = `fieldManager=${manager}${force}`;
    const at = `${path}/scale?${query}`;
    const { status, body } = await call(server, 'PATCH', at, scale(spec), 'application/apply-patch+yaml');
    return status === 200 ? '' : String((body as { message?: unknown }).message);
  };
  const owners = async (): Promise<readonly (readonly [manager: string, isTimed: boolean])[]> => {
    const { body } = await call(server, 'GET', path);
    const { managedFields = [] } = body.metadata as unknown as {
      managedFields?: readonly { manager: string; subresource?: string; time?: string }[];
    };
    return managedFields
      .filter(({ subresource }) => subresource === 'scale')
      .map(({ manager, time }) => [manager, time !== undefined]);
  };
  expect(await apply('one', { replicas: 3 }, '&force=true')).toBe('');
  expect(await owners()).toEqual([['one', false]]);
  expect(await apply('two', { replicas: 4 })).toContain('conflict with "one": .spec.replicas');
  expect(await apply('one', {})).toBe('');
  expect(await owners()).toEqual([['one', false]]);
  const { body } = await call(server, 'GET', path);
  expect(body).toMatchObject({ spec: { replicas: 0 } });
  const { resourceVersion: _version, ...metadata } = body.metadata;
  const spec = { ...(body as { spec?: object }).spec, replicas: 5 };
  await call(server, 'PUT', path, { ...body, spec, metadata: { ...metadata, managedFields: [] } });
  expect(await apply('three', { replicas: 4 })).toContain(
    'conflict with "before-first-apply" with subresource "scale" using autoscaling/v1: .spec.replicas',
  );
  expect(await apply('three', { replicas: 4 }, '&force=true')).toBe('');
  expect(await owners()).toEqual([['three', false]]);
});

test('an applied scale leaves the other fields to their owner', async () => {
  const path = `${apps}/deployments/shared`;
  await make(`${apps}/deployments`, 'shared', { ...selector, replicas: 2 });
  const apply = async (replicas: number): Promise<number> => {
    const scale = {
      apiVersion: 'autoscaling/v1',
      kind: 'Scale',
      metadata: { name: 'shared' },
      spec: { replicas },
    };
    const at = `${path}/scale?fieldManager=one`;
    return (await call(server, 'PATCH', at, scale, 'application/apply-patch+yaml')).status;
  };
  const fields = async (): Promise<readonly string[]> => {
    const { body } = await call(server, 'GET', path);
    const { managedFields = [] } = body.metadata as unknown as {
      managedFields?: readonly { operation: string; time?: string; fieldsV1: { 'f:spec': object } }[];
    };
    return managedFields.map(({ operation, time, fieldsV1 }) => {
      const keys = Object.keys(fieldsV1['f:spec']);
      return `${operation} ${time === undefined ? 'without time' : 'timed'} ${keys.includes('f:replicas') ? 'replicas' : ''}${keys.length > 1 ? ' and more' : ''}`;
    });
  };
  expect(await apply(2)).toBe(200);
  const others = 'Update timed  and more';
  expect(await fields()).toEqual(['Apply without time replicas', 'Update without time replicas', others]);
  expect(await apply(5)).toBe(200);
  expect(await fields()).toEqual(['Apply without time replicas', others]);
});

test('a Table of a scale has its replicas', async () => {
  const path = `${apps}/deployments`;
  await make(path, 'table', selector);
  const Accept = 'application/json;as=Table;v=v1;g=meta.k8s.io';
  const { body } = await call(server, 'GET', `${path}/table/scale`, undefined, undefined, { Accept });
  const table = body as unknown as {
    columnDefinitions: readonly { name: string }[];
    rows: readonly { cells: readonly unknown[]; object: object }[];
  };
  expect(table.columnDefinitions.map(({ name }) => name)).toEqual(['Name', 'Desired', 'Available', 'Age']);
  expect(table.rows[0]?.cells.slice(0, 3)).toEqual(['table', 2, 0]);
  expect(table.rows[0]?.object).toMatchObject({ kind: 'PartialObjectMetadata', metadata: { name: 'table' } });
});

test.each([
  [
    'a name of another',
    { metadata: { name: 'x' }, spec: {} },
    400,
    'the name of the object (x) does not match the name on the URL (bad)',
  ],
  [
    'no name',
    { spec: {} },
    400,
    'the name of the object (bad based on URL) was undeterminable: name must be provided',
  ],
  [
    'a negative number',
    { metadata: { name: 'bad' }, spec: { replicas: -1 } },
    422,
    'Scale.autoscaling "bad" is invalid: spec.replicas: Invalid value: -1: must be greater than or equal to 0',
  ],
  [
    'another object’s UID',
    { metadata: { name: 'bad', uid: 'u' }, spec: { replicas: 1 } },
    409,
    /^Operation cannot be fulfilled on deployments\/scale.apps "bad": Precondition failed: UID in precondition: u, UID in object meta: /,
  ],
])('a scale with %s is refused', async (_what, scale, code, message) => {
  const path = `${apps}/deployments`;
  await make(path, 'bad', selector);
  const { status, body } = await call(server, 'PUT', `${path}/bad/scale`, {
    kind: 'Scale',
    apiVersion: 'autoscaling/v1',
    ...scale,
  });
  expect(status).toBe(code);
  const found = (body as unknown as { readonly message: string }).message;
  if (typeof message === 'string') expect(found).toBe(message);
  else expect(found).toMatch(message);
});

test('what is not there has no scale, and a dry run writes nothing', async () => {
  const path = `${apps}/deployments`;
  expect((await call(server, 'GET', `${path}/none/scale`)).body).toMatchObject({
    code: 404,
    message: 'deployments.apps "none" not found',
  });
  await make(path, 'dry', selector);
  const dry = await call(server, 'PATCH', `${path}/dry/scale?dryRun=All`, { spec: { replicas: 9 } }, merge);
  expect(dry.body).toMatchObject({ spec: { replicas: 9 } });
  expect((await call(server, 'GET', `${path}/dry/scale`)).body).toMatchObject({ spec: { replicas: 2 } });
});

test('admission sees the Scale, and may change it', async () => {
  const webhook = await startWebhook(server, (review) =>
    patching(review, { op: 'replace', path: '/spec/replicas', value: 4 }),
  );
  const validating = await startWebhook(server, allow);
  const rules = [rule('deployments/scale')];
  await configure(server, 'mutating', 'm', webhook, { rules });
  await configure(server, 'validating', 'v', validating, { rules });
  const path = `${apps}/deployments`;
  await make(path, 'seen', selector);
  const { body } = await call(server, 'PATCH', `${path}/seen/scale`, { spec: { replicas: 100 } }, merge);
  expect(body).toMatchObject({ spec: { replicas: 4 } });
  expect(webhook.seen[0]?.review.request).toMatchObject({
    kind: { group: 'autoscaling', version: 'v1', kind: 'Scale' },
    resource: { group: 'apps', version: 'v1', resource: 'deployments' },
    subResource: 'scale',
    operation: 'UPDATE',
    object: { kind: 'Scale', apiVersion: 'autoscaling/v1', spec: { replicas: 100 } },
    oldObject: { kind: 'Scale', spec: { replicas: 2 } },
  });
  expect(validating.seen[0]?.review.request).toMatchObject({
    object: { kind: 'Scale', spec: { replicas: 4 } },
  });
  await unconfigure(server, 'mutating', 'm');
  await unconfigure(server, 'validating', 'v');
  await webhook.stop();
  await validating.stop();
});
