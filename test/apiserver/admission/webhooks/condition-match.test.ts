import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { EmbeddedApiServer } from '../../../../src/apiserver/index.ts';
import { type Answer, call } from '../../support.ts';
import { allow, startWebhook, type TestWebhook } from '../../webhooks/support.ts';
import { configure, unconfigure } from './support.ts';

let server: EmbeddedApiServer;
let webhook: TestWebhook;
beforeAll(async () => {
  server = await EmbeddedApiServer.start();
  webhook = await startWebhook(server, allow);
});
afterAll(async () => {
  await webhook.stop();
  await server.stop();
});
afterEach(async () => {
  for (const type of ['mutating', 'validating'] as const) await unconfigure(server, type, 'one');
  webhook.seen.length = 0;
});

let count = 0;
const create = (data: object = { a: 'b' }): Promise<Answer> =>
  call(server, 'POST', '/api/v1/namespaces/default/configmaps', {
    metadata: { name: `map-${++count}` },
    data,
  });
const configured = (
  type: 'mutating' | 'validating',
  expressions: readonly string[],
  more: object = {},
): Promise<Answer> => {
  const matchConditions = expressions.map((expression, i) => ({ name: `c${i}`, expression }));
  return configure(server, type, 'one', webhook, { matchConditions, ...more });
};

test.each(['mutating', 'validating'] as const)(
  'a %s webhook is called where all its conditions are true',
  async (type) => {
    await configured(type, [
      "object.data.a == 'b'",
      "request.operation == 'CREATE' && request.userInfo.username != 'x'",
    ]);
    await create({ a: 'c' });
    expect(webhook.seen).toHaveLength(0);
    await create({ a: 'b' });
    expect(webhook.seen).toHaveLength(1);
    const { text } = await call(server, 'GET', '/metrics');
    expect(text).toContain(
      `apiserver_admission_match_condition_exclusions_total{name="one.example.com",kind="webhook",type="${type === 'mutating' ? 'admit' : type}",operation="CREATE"} 1`,
    );
  },
);

test.each(['mutating', 'validating'] as const)(
  'conditions of a %s webhook that fail are up to its failure policy',
  async (type) => {
    await configured(type, ["object.data.none == 'b'"]);
    const { status, body } = await create();
    expect(status).toBe(403);
    expect((body as unknown as { readonly message: string }).message).toMatch(
      /^configmaps "map-\d+" is forbidden: expression 'object.data.none == 'b'' resulted in error: no such key: none$/,
    );
    await unconfigure(server, type, 'one');
    await configured(type, ["object.data.none == 'b'"], { failurePolicy: 'Ignore' });
    expect((await create()).status).toBe(201);
    expect(webhook.seen).toEqual([]);
  },
);

test('a condition that is false decides, whatever the others are', async () => {
  await configured('validating', ["object.data.none == 'b'", 'false']);
  expect((await create()).status).toBe(201);
  expect(webhook.seen).toEqual([]);
});

test('conditions ask the authorizer about the user', async () => {
  await configured('validating', [
    "authorizer.group('').resource('pods').namespace('default').check('create').allowed()",
  ]);
  await create();
  expect(webhook.seen).toHaveLength(1);
});
