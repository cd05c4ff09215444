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

test('a review says which of its selectors it does not understand', async () => {
  const path = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';
  const review = async (selectors: object): Promise<Record<string, unknown>> => {
    const spec = { resourceAttributes: { verb: 'list', resource: 'pods', ...selectors } };
    return (await call(server, 'POST', path, { spec })).body;
  };
  expect(await review({ labelSelector: { rawSelector: 'a in (' } })).toMatchObject({
    status: { evaluationError: 'spec.resourceAttributes.labelSelector ignored due to parse error' },
  });
  const requirements = [
    { key: 'spec.nodeName', operator: 'In', values: ['n'] },
    { key: 'spec.nodeName', operator: 'Exists' },
  ];
  expect(await review({ fieldSelector: { requirements } })).toMatchObject({
    status: { evaluationError: 'spec.resourceAttributes.fieldSelector partially ignored due to parse error' },
  });
  expect(await review({ fieldSelector: { rawSelector: 'a=b' }, labelSelector: {} })).toMatchObject({
    code: 422,
    message:
      '.authorization.k8s.io "" is invalid: spec.resourceAttributes.labelSelector.requirements: Required value: when spec.resourceAttributes.labelSelector is specified, requirements or rawSelector is required',
  });
});

test('a review within a namespace holds for that namespace', async () => {
  const path = '/apis/authorization.k8s.io/v1/namespaces/default/localsubjectaccessreviews';
  const spec = { user: 'u', resourceAttributes: { verb: 'get', resource: 'pods', namespace: 'other' } };
  expect((await call(server, 'POST', path, { spec })).body).toMatchObject({
    code: 422,
    message:
      '.authorization.k8s.io "" is invalid: spec.resourceAttributes.namespace: Invalid value: "other": must match metadata.namespace',
  });
});
