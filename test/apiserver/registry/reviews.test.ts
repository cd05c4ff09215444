import { afterAll, beforeAll, expect, test } from 'vitest';
import { EmbeddedApiServer } from '../../../src/apiserver/index.ts';
import { call } from '../support.ts';

let server: EmbeddedApiServer;
beforeAll(async () => {
  server = await EmbeddedApiServer.start();
});
afterAll(() => server.stop());

test.for<[object, string]>([
  [
    { resourceAttributes: { verb: 'get' }, nonResourceAttributes: { path: '/', verb: 'get' } },
    'spec.nonResourceAttributes: Invalid value: {"Path":"/","Verb":"get"}: cannot be specified in combination with resourceAttributes',
  ],
  [
    {},
    'spec.resourceAttributes: Invalid value: null: exactly one of nonResourceAttributes or resourceAttributes must be specified',
  ],
])('an access review of %j is invalid', async ([spec, why]) => {
  const path = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';
  const { status, body } = await call(server, 'POST', path, { spec });
  expect(status).toBe(422);
  expect(body).toMatchObject({ message: `.authorization.k8s.io "" is invalid: ${why}` });
});
