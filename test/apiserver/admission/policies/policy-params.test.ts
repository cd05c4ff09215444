import { afterAll, beforeAll, expect, test } from 'vitest';
import { EmbeddedApiServer } from '../../../../src/apiserver/index.ts';
import { definition, definitionsPath, schema } from '../../apiextensions/support.ts';
import { type Answer, call } from '../../support.ts';
import { bundleOf, type Review, startWebhook, type TestWebhook } from '../../webhooks/support.ts';

type Limit = Readonly<{ spec: Readonly<{ most?: number; limit?: number }> }>;

/** Version v1 has `spec.most`, version v2 the same as `spec.limit`. */
function convert({ request, apiVersion }: Review): object {
  const to = (request as unknown as { readonly desiredAPIVersion: string }).desiredAPIVersion;
  const convertedObjects = (request.objects as readonly Limit[]).map((one) => {
    const number = one.spec.most ?? one.spec.limit;
    return { ...one, apiVersion: to, spec: to.endsWith('/v2') ? { limit: number } : { most: number } };
  });
  const response = { uid: request.uid, result: { status: 'Success' }, convertedObjects };
  return { apiVersion, kind: 'ConversionReview', response };
}

const registration = '/apis/admissionregistration.k8s.io/v1';
const configMaps = '/api/v1/namespaces/default/configmaps';
let server: EmbeddedApiServer;
let webhook: TestWebhook;

const version = (name: string, field: string, storage: boolean): object => ({
  name,
  served: true,
  storage,
  ...schema({
    type: 'object',
    properties: { spec: { type: 'object', properties: { [field]: { type: 'integer' } } } },
  }),
});

beforeAll(async () => {
  server = await EmbeddedApiServer.start({ controllers: false });
  webhook = await startWebhook(server, convert);
  const conversion = {
    strategy: 'Webhook',
    webhook: {
      conversionReviewVersions: ['v1'],
      clientConfig: { url: webhook.url, caBundle: bundleOf(server) },
    },
  };
  const versions = [version('v1', 'most', true), version('v2', 'limit', false)];
  await call(
    server,
    'POST',
    definitionsPath,
    definition('maxima', { kind: 'Limit', spec: { versions, conversion } }),
  );
  await call(server, 'POST', '/apis/example.com/v1/namespaces/default/maxima', {
    apiVersion: 'example.com/v1',
    kind: 'Limit',
    metadata: { name: 'params' },
    spec: { most: 1 },
  });
  const rule = { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['configmaps'] };
  await call(server, 'POST', `${registration}/validatingadmissionpolicies`, {
    metadata: { name: 'p' },
    spec: {
      paramKind: { apiVersion: 'example.com/v2', kind: 'Limit' },
      matchConstraints: { resourceRules: [rule] },
      validations: [{ expression: 'size(object.data) <= params.spec.limit', message: 'too much' }],
    },
  });
  await call(server, 'POST', `${registration}/validatingadmissionpolicybindings`, {
    metadata: { name: 'b' },
    spec: {
      policyName: 'p',
      validationActions: ['Deny'],
      paramRef: { name: 'params', parameterNotFoundAction: 'Deny' },
    },
  });
});
afterAll(async () => {
  await webhook.stop();
  await server.stop();
});

const make = (name: string, data: object): Promise<Answer> =>
  call(server, 'POST', configMaps, { metadata: { name }, data });

test('parameters are converted to the version of the policy', async () => {
  expect((await make('small', { a: '1' })).status).toBe(201);
  const refused = await make('large', { a: '1', b: '2' });
  expect(refused.text).toContain("ValidatingAdmissionPolicy 'p' with binding 'b' denied request: too much");
});

test('parameters that cannot be converted fail the policy', async () => {
  webhook.answer = ({ request, apiVersion }) => ({
    apiVersion,
    kind: 'ConversionReview',
    response: { uid: request.uid, result: { status: 'Failure', message: 'no' } },
  });
  const refused = await make('other', { a: '1' });
  expect(refused.status).toBe(422);
  expect(refused.text).toContain('failed to configure binding: ');
  webhook.answer = convert;
});
