import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { EmbeddedApiServer } from '../../../../src/apiserver/index.ts';
import { type Answer, call, pod, podsPath } from '../../support.ts';
import { allow, patching, type Review, startWebhook, type TestWebhook } from '../../webhooks/support.ts';
import { configure, rule, unconfigure } from './support.ts';

const audited: { readonly annotations?: Record<string, string> }[] = [];
let server: EmbeddedApiServer;
let first: TestWebhook;
let second: TestWebhook;
beforeAll(async () => {
  server = await EmbeddedApiServer.start({ audit: (event) => audited.push(event) });
  first = await startWebhook(server, allow);
  second = await startWebhook(server, allow);
});
afterAll(async () => {
  await first.stop();
  await second.stop();
  await server.stop();
});
afterEach(async () => {
  for (const name of ['a', 'b']) await unconfigure(server, 'mutating', name);
  for (const webhook of [first, second]) {
    webhook.answer = allow;
    webhook.seen.length = 0;
  }
  audited.length = 0;
});

const path = '/api/v1/namespaces/default/configmaps';
let count = 0;
const create = (more: object = {}, query = ''): Promise<Answer> =>
  call(server, 'POST', path + query, { metadata: { name: `map-${++count}` }, data: { a: 'b' }, ...more });
const add = (key: string, value: string) => (review: Review) =>
  patching(review, { op: 'add', path: `/data/${key}`, value });
const configured = (name: 'a' | 'b', more: object = {}): Promise<Answer> =>
  configure(server, 'mutating', name, name === 'a' ? first : second, more);
const dataOf = ({ body }: Answer): unknown => (body as unknown as { readonly data: unknown }).data;

test('webhooks change the object one after the other, by the name of their configuration', async () => {
  first.answer = add('one', '1');
  second.answer = (review) => patching(review, { op: 'move', from: '/data/one', path: '/data/two' });
  await configured('b');
  await configured('a');
  expect(dataOf(await create())).toEqual({ a: 'b', two: '1' });
  expect(second.seen[0]?.review.request).toMatchObject({ object: { data: { a: 'b', one: '1' } } });
});

test('changes are validated, defaulted and known to field owners as the request’s', async () => {
  first.answer = (review) => patching(review, { op: 'add', path: '/data/bad~1key', value: 'x' });
  await configured('a');
  const { status, body } = await create();
  expect(status).toBe(422);
  expect(body).toMatchObject({ reason: 'Invalid' });
});

test('a pod that a webhook adds a container to has the defaults of the container, too', async () => {
  first.answer = (review) =>
    patching(review, {
      op: 'add',
      path: '/spec/containers/-',
      value: { name: 'side', image: 'y:1', junk: 1 },
    });
  await configured('a', { rules: [rule('pods', { operations: ['CREATE'] })] });
  const { status, body } = await call(server, 'POST', podsPath, pod('with-side'));
  expect(status).toBe(201);
  expect(body).toMatchObject({
    spec: {
      containers: [
        { name: 'c' },
        { name: 'side', imagePullPolicy: 'IfNotPresent', terminationMessagePath: '/dev/termination-log' },
      ],
    },
  });
  expect(JSON.stringify(body)).not.toContain('junk');
});

test('a webhook with IfNeeded is called once more after a later change, and sees it', async () => {
  first.answer = (review) => allow(review);
  second.answer = add('late', 'x');
  await configured('a', { reinvocationPolicy: 'IfNeeded' });
  await configured('b');
  await create();
  expect(first.seen).toHaveLength(2);
  expect(first.seen[1]?.review.request).toMatchObject({ object: { data: { late: 'x' } } });
  expect(second.seen).toHaveLength(1);
});

test('none is called again without a change', async () => {
  second.answer = add('a', 'b');
  await configured('a', { reinvocationPolicy: 'IfNeeded' });
  await configured('b', { reinvocationPolicy: 'IfNeeded' });
  await create();
  expect(first.seen).toHaveLength(1);
  expect(second.seen).toHaveLength(1);
});

test('the audit event names each call and whether it changed something', async () => {
  first.answer = add('x', 'y');
  await configured('a');
  await configured('b');
  await create();
  const key = 'mutation.webhook.admission.k8s.io/round_0_index_';
  const value = (configuration: string, mutated: boolean): string =>
    JSON.stringify({ configuration, webhook: `${configuration}.example.com`, mutated });
  await vi.waitFor(() => {
    expect(audited.map(({ annotations }) => annotations)).toContainEqual(
      expect.objectContaining({ [`${key}0`]: value('a', true), [`${key}1`]: value('b', false) }),
    );
  });
});

test.each([
  [
    'no patch type',
    (review: Review) => allow(review, { patch: 'W10=' }),
    'failed calling webhook "a.example.com": received invalid webhook response: webhook returned response.patch but not response.patchType',
  ],
  [
    'no JSON patch',
    (review: Review) => allow(review, { patch: Buffer.from('{').toString('base64'), patchType: 'JSONPatch' }),
    /^failed calling webhook "a.example.com": received undecodable patch in webhook response: /,
  ],
  [
    'another patch type',
    (review: Review) => ({
      ...patching(review, { op: 'add', path: '/x', value: 1 }),
      ...{
        response: {
          ...(patching(review, { op: 'add', path: '/x', value: 1 }) as { response: object }).response,
          patchType: 'Merge',
        },
      },
    }),
    'failed calling webhook "a.example.com": unsupported patch type "Merge"',
  ],
  [
    'a step that cannot be applied',
    (review: Review) => patching(review, { op: 'replace', path: '/none/x', value: 1 }),
    'replace operation does not apply: doc is missing path: /none/x: missing value',
  ],
])('an answer with %s fails the request', async (_what, answer, why) => {
  first.answer = answer;
  await configured('a');
  const { status, body } = await create();
  expect(status).toBe(500);
  const { message } = body as unknown as { readonly message: string };
  const head = 'Internal error occurred: ';
  expect(message.startsWith(head)).toBe(true);
  if (typeof why === 'string') expect(message.slice(head.length)).toBe(why);
  else expect(message.slice(head.length)).toMatch(why);
});

test('a deletion cannot be changed', async () => {
  const made = await create();
  await configured('a', { rules: [rule('configmaps', { operations: ['DELETE'] })] });
  first.answer = add('x', 'y');
  const { status, body } = await call(server, 'DELETE', `${path}/${made.body.metadata.name}`);
  expect(status).toBe(500);
  expect(body).toMatchObject({
    message:
      'Internal error occurred: admission webhook "a.example.com" attempted to modify the object, which is not supported for this operation',
  });
});

test('updates, patches and server-side apply are changed, too', async () => {
  first.answer = add('by', 'hook');
  await configured('a', { rules: [rule('configmaps', { operations: ['UPDATE'] })] });
  const name = (await create()).body.metadata.name;
  const patched = await call(
    server,
    'PATCH',
    `${path}/${name}`,
    { data: { c: 'd' } },
    'application/merge-patch+json',
  );
  expect(dataOf(patched)).toEqual({ a: 'b', c: 'd', by: 'hook' });
  const applied = await call(
    server,
    'PATCH',
    `${path}/${name}?fieldManager=m`,
    { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data: { e: 'f' } },
    'application/apply-patch+yaml',
  );
  expect(dataOf(applied)).toEqual({ a: 'b', c: 'd', e: 'f', by: 'hook' });
});

test('writes that happen while a webhook is called are not lost', async () => {
  const name = (await create()).body.metadata.name;
  await configured('a', { rules: [rule('configmaps', { operations: ['UPDATE'] })] });
  const patch = (data: object): Promise<Answer> =>
    call(server, 'PATCH', `${path}/${name}`, { data }, 'application/merge-patch+json');
  const answers = await Promise.all(['k', 'l', 'm'].map((key) => patch({ [key]: '1' })));
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
  expect(dataOf(await call(server, 'GET', `${path}/${name}`))).toEqual({ a: 'b', k: '1', l: '1', m: '1' });
});

test('a webhook for one version of a kind sees the requests of another, and changes them in its own', async () => {
  await configured('a', {
    rules: [rule('events', { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'] })],
  });
  first.answer = (review) => patching(review, { op: 'add', path: '/message', value: 'changed' });
  const event = {
    metadata: { name: 'modern', namespace: 'default' },
    eventTime: '2026-01-01T00:00:00.000000Z',
    reportingController: 'example.com/c',
    reportingInstance: 'c-1',
    action: 'Act',
    reason: 'Because',
    type: 'Normal',
    note: 'before',
    regarding: { kind: 'Namespace', name: 'default', namespace: 'default' },
  };
  const { status, body } = await call(
    server,
    'POST',
    '/apis/events.k8s.io/v1/namespaces/default/events',
    event,
  );
  expect([status, body]).toMatchObject([201, { note: 'changed' }]);
  expect(first.seen[0]?.review.request).toMatchObject({
    kind: { group: '', version: 'v1', kind: 'Event' },
    resource: { group: '', version: 'v1', resource: 'events' },
    requestKind: { group: 'events.k8s.io', version: 'v1', kind: 'Event' },
    requestResource: { group: 'events.k8s.io', version: 'v1', resource: 'events' },
    object: { apiVersion: 'v1', message: 'before' },
  });
  await unconfigure(server, 'mutating', 'a');
  await configured('a', {
    matchPolicy: 'Exact',
    rules: [rule('events', { apiGroups: [''], apiVersions: ['v1'] })],
  });
  await call(server, 'POST', '/apis/events.k8s.io/v1/namespaces/default/events', {
    ...event,
    metadata: { name: 'exact', namespace: 'default' },
  });
  expect(first.seen).toHaveLength(1);
});
