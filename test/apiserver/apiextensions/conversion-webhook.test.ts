import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { request } from 'node:https';
import { EmbeddedApiServer } from '../../../src/apiserver/index.ts';
import { type Answer, call } from '../support.ts';
import { bundleOf, type Review, startWebhook, type TestWebhook } from '../webhooks/support.ts';
import { definition, definitionsPath } from './support.ts';

/** Version v1 has `spec.host` and `spec.port`, version v2 the two in one as `spec.address`. */
type Thing = Readonly<{
  apiVersion: string;
  metadata: Record<string, unknown>;
  spec?: Readonly<{ host?: string; port?: number; address?: string }>;
}>;

function converted(thing: Thing, to: string): object {
  const { host = '', port = 0, address = '' } = thing.spec ?? {};
  const [name = '', number = '0'] = address.split(':');
  const spec = to.endsWith('/v2') ? { address: `${host}:${port}` } : { host: name, port: Number(number) };
  const labels = { ...(thing.metadata['labels'] as object | undefined), in: to.split('/')[1] };
  return { ...thing, apiVersion: to, spec, metadata: { ...thing.metadata, labels } };
}

const answerWith = (review: Review, response: object): object => ({
  apiVersion: review.apiVersion,
  kind: 'ConversionReview',
  response: { uid: review.request.uid, ...response },
});
const convert = (review: Review): object => {
  const to = (review.request as unknown as { readonly desiredAPIVersion: string }).desiredAPIVersion;
  const convertedObjects = (review.request.objects as readonly Thing[]).map((one) => converted(one, to));
  return answerWith(review, { result: { status: 'Success' }, convertedObjects });
};

let server: EmbeddedApiServer;
let webhook: TestWebhook;
const versionOf = (name: string, properties: object, more: object = {}): object => ({
  name,
  served: true,
  storage: false,
  schema: {
    openAPIV3Schema: { type: 'object', properties: { spec: { type: 'object', properties } } },
  },
  subresources: { status: {} },
  ...more,
});
const v1 = { host: { type: 'string' }, port: { type: 'integer' } };
const v2 = { address: { type: 'string', pattern: '^[a-z]*:[0-9]+$' } };

beforeAll(async () => {
  server = await EmbeddedApiServer.start();
  webhook = await startWebhook(server, convert);
  await call(server, 'POST', definitionsPath, things());
});
afterAll(async () => {
  await webhook.stop();
  await server.stop();
});
afterEach(() => {
  webhook.answer = convert;
  webhook.seen.length = 0;
});

const things = (): object =>
  definition('things', {
    kind: 'Thing',
    spec: {
      versions: [
        versionOf('v1', v1, { storage: true }),
        versionOf('v2', v2, { selectableFields: [{ jsonPath: '.spec.address' }] }),
      ],
      conversion: {
        strategy: 'Webhook',
        webhook: {
          conversionReviewVersions: ['v1'],
          clientConfig: { url: webhook.url, caBundle: bundleOf(server) },
        },
      },
    },
  });

const path = (version: string): string => `/apis/example.com/${version}/namespaces/default/things`;
let count = 0;
const create = (version: string, spec: object, name = `thing-${++count}`): Promise<Answer> =>
  call(server, 'POST', path(version), {
    apiVersion: `example.com/${version}`,
    kind: 'Thing',
    metadata: { name },
    spec,
  });
const get = (version: string, name: string): Promise<Answer> =>
  call(server, 'GET', `${path(version)}/${name}`);
const nameIn = ({ body }: Answer): string => body.metadata.name;

test('an object is read in the version that is asked for, and its own version needs no call', async () => {
  const name = nameIn(await create('v1', { host: 'a', port: 80 }));
  expect(webhook.seen).toEqual([]);
  const { status, body } = await get('v2', name);
  expect([status, body]).toMatchObject([
    200,
    {
      apiVersion: 'example.com/v2',
      kind: 'Thing',
      spec: { address: 'a:80' },
      metadata: { name, labels: { in: 'v2' } },
    },
  ]);
  expect((await get('v1', name)).body).toMatchObject({
    apiVersion: 'example.com/v1',
    spec: { host: 'a', port: 80 },
  });
  expect(webhook.seen).toHaveLength(1);
  expect(webhook.seen[0]?.review).toMatchObject({
    kind: 'ConversionReview',
    apiVersion: 'apiextensions.k8s.io/v1',
    request: {
      desiredAPIVersion: 'example.com/v2',
      objects: [
        { apiVersion: 'example.com/v1', kind: 'Thing', metadata: { name }, spec: { host: 'a', port: 80 } },
      ],
    },
  });
});

test('an object is written in any version and stored in one', async () => {
  const made = await create('v2', { address: 'b:1' });
  expect([made.status, made.body]).toMatchObject([
    201,
    { apiVersion: 'example.com/v2', spec: { address: 'b:1' }, metadata: { generation: 1 } },
  ]);
  const name = nameIn(made);
  expect((await get('v1', name)).body).toMatchObject({ spec: { host: 'b', port: 1 } });
  const patched = await call(
    server,
    'PATCH',
    `${path('v2')}/${name}`,
    { spec: { address: 'c:2' } },
    'application/merge-patch+json',
  );
  expect([patched.status, patched.body]).toMatchObject([
    200,
    { spec: { address: 'c:2' }, metadata: { generation: 2 } },
  ]);
  expect((await get('v1', name)).body).toMatchObject({ spec: { host: 'c', port: 2 } });
  const { body } = await get('v2', name);
  const put = await call(server, 'PUT', `${path('v2')}/${name}`, { ...body, spec: { address: 'd:3' } });
  expect(put.body).toMatchObject({ spec: { address: 'd:3' } });
  const applied = await call(
    server,
    'PATCH',
    `${path('v2')}/${name}?fieldManager=m&force=true`,
    { apiVersion: 'example.com/v2', kind: 'Thing', metadata: { name }, spec: { address: 'e:4' } },
    'application/apply-patch+yaml',
  );
  expect([applied.status, applied.body]).toMatchObject([200, { spec: { address: 'e:4' } }]);
  const status = await call(server, 'PUT', `${path('v2')}/${name}/status`, applied.body);
  expect(status.status).toBe(200);
  expect((await get('v1', name)).body).toMatchObject({ spec: { host: 'e', port: 4 } });
  expect((await call(server, 'DELETE', `${path('v2')}/${name}`)).status).toBe(200);
  expect((await get('v1', name)).status).toBe(404);
});

test('the schema of the version that is written counts', async () => {
  const { status, body } = await create('v2', { address: 'no port' });
  expect(status).toBe(422);
  expect(JSON.stringify(body)).toContain('spec.address');
});

test('lists and their selectors are of the version that is asked for', async () => {
  const name = nameIn(await create('v1', { host: 'listed', port: 9 }));
  const list = await call(server, 'GET', `${path('v2')}?fieldSelector=spec.address%3Dlisted:9`);
  expect(list.body).toMatchObject({
    apiVersion: 'example.com/v2',
    kind: 'ThingList',
    items: [{ metadata: { name }, spec: { address: 'listed:9' } }],
  });
  const labelled = await call(server, 'GET', `${path('v2')}?labelSelector=in%3Dv1`);
  expect(labelled.body).toMatchObject({ items: [] });
  const many = await call(server, 'DELETE', `${path('v2')}?fieldSelector=spec.address%3Dlisted:9`);
  expect(many.status).toBe(200);
  expect((await get('v1', name)).status).toBe(404);
});

test('a watch has every object and change in its version, in order', async () => {
  const events: { type: string; object: Thing }[] = [];
  const { port, ca, admin } = server;
  const name = nameIn(await create('v1', { host: 'w', port: 1 }));
  const watching = await new Promise<{ destroy(): void }>((resolve, reject) => {
    const outgoing = request(
      {
        host: '127.0.0.1',
        port,
        path: `${path('v2')}?watch=1&fieldSelector=metadata.name%3D${name}`,
        ca,
        cert: admin.cert,
        key: admin.key,
        agent: false,
      },
      (incoming) => {
        incoming.on('data', (chunk: Buffer) => {
          for (const line of chunk.toString().split('\n').filter(Boolean))
            events.push(JSON.parse(line) as never);
        });
        incoming.on('error', () => undefined);
        resolve(outgoing);
      },
    );
    outgoing.on('error', reject);
    outgoing.end();
  });
  for (const number of [2, 3])
    await call(
      server,
      'PATCH',
      `${path('v1')}/${name}`,
      { spec: { port: number } },
      'application/merge-patch+json',
    );
  await call(server, 'DELETE', `${path('v1')}/${name}`);
  await expect.poll(() => events.length).toBe(4);
  watching.destroy();
  expect(events.map(({ type, object }) => [type, object.apiVersion, object.spec?.address])).toEqual([
    ['ADDED', 'example.com/v2', 'w:1'],
    ['MODIFIED', 'example.com/v2', 'w:2'],
    ['MODIFIED', 'example.com/v2', 'w:3'],
    ['DELETED', 'example.com/v2', 'w:3'],
  ]);
});

const failing: readonly (readonly [string, (review: Review) => unknown, string])[] = [
  [
    'says so',
    (review) => answerWith(review, { result: { status: 'Failure', message: 'no way' } }),
    'failed: no way',
  ],
  [
    'has no status',
    (review) => answerWith(review, {}),
    "failed: response.result.status was '', not 'Success'",
  ],
  [
    'returns too few',
    (review) => answerWith(review, { result: { status: 'Success' }, convertedObjects: [] }),
    'returned 0 objects, expected 1',
  ],
  [
    'has no response',
    (review) => ({ ...answerWith(review, {}), response: undefined }),
    'failed: no response provided',
  ],
  [
    'is of another kind',
    (review) => ({ ...answerWith(review, {}), kind: 'Other' }),
    'failed: expected webhook response of apiextensions.k8s.io/v1, Kind=ConversionReview, got apiextensions.k8s.io/v1, Kind=Other',
  ],
  [
    'is an error',
    () => ({ status: 500, type: 'text/plain', text: 'oh' }),
    'failed: an error on the server ("oh") has prevented the request from succeeding',
  ],
];
test.each(failing)('an answer that %s fails the read', async (_what, answer, why) => {
  const name = nameIn(await create('v1', { host: 'f', port: 1 }));
  webhook.answer = answer;
  const { status, body } = await get('v2', name);
  expect(status).toBe(500);
  expect(body).toMatchObject({
    kind: 'Status',
    message: `conversion webhook for example.com/v1, Kind=Thing ${why}`,
  });
  expect(body).not.toHaveProperty('reason');
});

const changed = (change: (thing: Thing) => object) => (review: Review) => {
  const { response } = convert(review) as {
    readonly response: { readonly convertedObjects: readonly Thing[] };
  };
  return answerWith(review, { ...response, convertedObjects: response.convertedObjects.map(change) });
};
test.each([
  [
    'the version',
    changed((one) => ({ ...one, apiVersion: 'example.com/v3' })),
    'returned invalid object at index 0: invalid groupVersion (expected example.com/v2, received example.com/v3)',
  ],
  [
    'the kind',
    changed((one) => ({ ...one, kind: 'Other' })),
    'returned invalid object at index 0: invalid kind (expected Thing, received Other)',
  ],
  [
    'the name',
    changed((one) => ({ ...one, metadata: { ...one.metadata, name: 'x' } })),
    /^returned invalid object: must have the same name: thing-\d+ != x$/,
  ],
  [
    'the metadata away',
    changed((one) => ({ ...one, metadata: undefined })),
    /^returned invalid object: must have the same name: thing-\d+ != $/,
  ],
  [
    'a label to a number',
    changed((one) => ({ ...one, metadata: { ...one.metadata, labels: { a: 1 } } })),
    'returned invalid metadata: metadata.labels[a] must be a string, but is int64 in converted object',
  ],
])('a webhook that changes %s fails the read', async (_what, answer, why) => {
  const name = nameIn(await create('v1', { host: 'f', port: 1 }));
  webhook.answer = answer;
  const { message } = (await get('v2', name)).body as unknown as { readonly message: string };
  const head = 'conversion webhook for example.com/v1, Kind=Thing ';
  expect(message.startsWith(head)).toBe(true);
  if (typeof why === 'string') expect(message.slice(head.length)).toBe(why);
  else expect(message.slice(head.length)).toMatch(why);
});

test('a failing conversion fails writes, lists and watches too, and nothing is written', async () => {
  const name = nameIn(await create('v1', { host: 'g', port: 1 }));
  webhook.answer = (review) => answerWith(review, { result: { status: 'Failure', message: 'down' } });
  expect((await create('v2', { address: 'a:1' }, 'never')).status).toBe(500);
  expect((await get('v1', 'never')).status).toBe(404);
  const patched = await call(
    server,
    'PATCH',
    `${path('v2')}/${name}`,
    { spec: {} },
    'application/merge-patch+json',
  );
  expect(patched.body).toMatchObject({
    message: 'conversion webhook for example.com/v1, Kind=Thing failed: down',
  });
  expect((await call(server, 'GET', path('v2'))).status).toBe(500);
  const watch = await call(server, 'GET', `${path('v2')}?watch=1&timeoutSeconds=1`);
  expect(watch.text).toContain('"type":"ERROR"');
  expect((await call(server, 'GET', path('v1'))).status).toBe(200);
});

test('objects stay readable when another version becomes the stored one, and any update moves them', async () => {
  await call(
    server,
    'POST',
    definitionsPath,
    definition('moves', {
      kind: 'Thing',
      group: 'move.example.com',
      spec: { versions: [versionOf('v1', v1, { storage: true })] },
    }),
  );
  const at = (version: string): string => `/apis/move.example.com/${version}/namespaces/default/moves/one`;
  await call(server, 'POST', at('v1').replace('/one', ''), {
    apiVersion: 'move.example.com/v1',
    kind: 'Thing',
    metadata: { name: 'one' },
    spec: { host: 'm', port: 5 },
  });
  const moved = await call(
    server,
    'PATCH',
    `${definitionsPath}/moves.move.example.com`,
    {
      spec: {
        versions: [versionOf('v1', v1), versionOf('v2', v2, { storage: true })],
        conversion: {
          strategy: 'Webhook',
          webhook: {
            conversionReviewVersions: ['v1'],
            clientConfig: { url: webhook.url, caBundle: bundleOf(server) },
          },
        },
      },
    },
    'application/merge-patch+json',
  );
  expect([moved.status, moved.body]).toMatchObject([200, { status: { storedVersions: ['v1', 'v2'] } }]);
  expect((await call(server, 'GET', at('v2'))).body).toMatchObject({ spec: { address: 'm:5' } });
  expect((await call(server, 'GET', at('v1'))).body).toMatchObject({ spec: { host: 'm', port: 5 } });
  expect(webhook.seen).toHaveLength(1);
  const unchanged = await call(server, 'PATCH', at('v2'), {}, 'application/merge-patch+json');
  expect(unchanged.status).toBe(200);
  webhook.seen.length = 0;
  expect((await call(server, 'GET', at('v2'))).body).toMatchObject({ spec: { address: 'm:5' } });
  expect(webhook.seen).toEqual([]);
  expect((await call(server, 'GET', at('v1'))).body).toMatchObject({ spec: { host: 'm', port: 5 } });
  expect(webhook.seen).toHaveLength(1);
});

test('a definition is deleted with its objects without a conversion', async () => {
  await create('v1', { host: 'z', port: 1 });
  webhook.seen.length = 0;
  await call(server, 'DELETE', `${definitionsPath}/things.example.com`);
  await expect
    .poll(async () => (await call(server, 'GET', `${definitionsPath}/things.example.com`)).status)
    .toBe(404);
  expect(webhook.seen).toEqual([]);
});
