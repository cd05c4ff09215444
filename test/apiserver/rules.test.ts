import { afterAll, beforeAll, expect, test } from 'vitest';
import { EmbeddedApiServer } from '../../src/apiserver/index.ts';
import { call, pod, podsPath } from './support.ts';

let server: EmbeddedApiServer;
beforeAll(async () => {
  server = await EmbeddedApiServer.start();
});
afterAll(() => server.stop());

const priorities = '/apis/scheduling.k8s.io/v1/priorityclasses';
const classes = '/apis/node.k8s.io/v1/runtimeclasses';

test.for([
  [
    priorities,
    { metadata: { name: 'high' }, value: 2_000_000_000 },
    'value: Forbidden: maximum allowed value of a user defined priority is 1000000000',
  ],
  [
    priorities,
    { metadata: { name: 'system-x' }, value: 1 },
    "metadata.name: Forbidden: priority class names with 'system-' prefix are reserved for system use only. error: system-x is not a known system priority class",
  ],
  [classes, { metadata: { name: 'rc' } }, 'handler: Required value'],
] as const)('%s refuses what breaks its rules', async ([path, object, why]) => {
  const answer = await call(server, 'POST', path, object);
  expect(answer.status).toBe(422);
  expect(String(answer.body['message'])).toContain(`is invalid: ${why}`);
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
