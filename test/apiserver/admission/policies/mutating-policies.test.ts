import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { EmbeddedApiServer } from '../../../../src/apiserver/index.ts';
import { type Answer, call } from '../../support.ts';

let server: EmbeddedApiServer;
beforeAll(async () => {
  server = await EmbeddedApiServer.start({ controllers: false });
});
afterAll(() => server.stop());

const registration = '/apis/admissionregistration.k8s.io/v1';
const policies = `${registration}/mutatingadmissionpolicies`;
const bindings = `${registration}/mutatingadmissionpolicybindings`;
const deployments = '/apis/apps/v1/namespaces/default/deployments';

async function policy(name: string, mutations: readonly object[], more: object = {}): Promise<void> {
  const made = await call(server, 'POST', policies, {
    metadata: { name },
    spec: {
      failurePolicy: 'Fail',
      reinvocationPolicy: 'Never',
      matchConstraints: {
        resourceRules: [
          { apiGroups: ['apps'], apiVersions: ['v1'], operations: ['CREATE'], resources: ['deployments'] },
        ],
      },
      mutations,
      ...more,
    },
  });
  expect(made.status).toBe(201);
  expect(
    (await call(server, 'POST', bindings, { metadata: { name }, spec: { policyName: name } })).status,
  ).toBe(201);
}
const apply = (expression: string): object => ({
  patchType: 'ApplyConfiguration',
  applyConfiguration: { expression },
});
const patch = (expression: string): object => ({ patchType: 'JSONPatch', jsonPatch: { expression } });

beforeEach(async () => {
  await call(server, 'DELETE', policies);
  await call(server, 'DELETE', bindings);
  await call(server, 'DELETE', deployments);
});

const make = (): Promise<Answer> =>
  call(server, 'POST', deployments, {
    metadata: { name: 'web', labels: { app: 'web' } },
    spec: {
      selector: { matchLabels: { app: 'web' } },
      template: {
        metadata: { labels: { app: 'web' } },
        spec: { containers: [{ name: 'main', image: 'web:1' }] },
      },
    },
  });
const messageOf = ({ body }: Answer): unknown => (body as { message?: unknown }).message;

test('an applied configuration is merged: lists by their keys', async () => {
  await policy('side', [
    apply(
      `Object{
        metadata: Object.metadata{ labels: {"injected": string(object.spec.template.spec.containers.size())} },
        spec: Object.spec{ replicas: 3, template: Object.spec.template{ spec: Object.spec.template.spec{
          containers: [Object.spec.template.spec.containers{ name: "proxy", image: "proxy:" + request.namespace }]
        } } }
      }`,
    ),
  ]);
  const { status, body } = await make();
  expect(status).toBe(201);
  expect(body).toMatchObject({
    metadata: { labels: { app: 'web', injected: '1' } },
    spec: {
      replicas: 3,
      template: {
        spec: {
          containers: [
            { name: 'main' },
            { name: 'proxy', image: 'proxy:default', imagePullPolicy: 'IfNotPresent' },
          ],
        },
      },
    },
  });
});

test('steps of a JSON patch, with variables and conditions', async () => {
  await policy(
    'steps',
    [
      patch(
        '[JSONPatch{op: "test", path: "/metadata/labels/app", value: variables.app}, JSONPatch{op: "add", path: "/metadata/labels/" + jsonpatch.escapeKey("example.com/env"), value: "test"}, JSONPatch{op: "add", path: "/spec/template/spec/nodeSelector", value: {"disk": "ssd"}}]',
      ),
    ],
    {
      variables: [{ name: 'app', expression: 'object.metadata.labels.app' }],
      matchConditions: [{ name: 'unset', expression: '!("example.com/env" in object.metadata.labels)' }],
    },
  );
  const { body } = await make();
  expect(body).toMatchObject({
    metadata: { labels: { 'example.com/env': 'test' } },
    spec: { template: { spec: { nodeSelector: { disk: 'ssd' } } } },
  });
});

test('a policy that may be applied again sees what a later one changed', async () => {
  await policy(
    'a-counts',
    [apply('Object{metadata: Object.metadata{annotations: {"replicas": string(object.spec.replicas)}}}')],
    {
      reinvocationPolicy: 'IfNeeded',
    },
  );
  await policy('b-scales', [apply('Object{spec: Object.spec{replicas: 7}}')]);
  const { body } = await make();
  expect(body).toMatchObject({ metadata: { annotations: { replicas: '7' } }, spec: { replicas: 7 } });
});

test('a mutation that cannot be applied refuses the request, or is ignored', async () => {
  await policy('bad', [apply('Object{spec: Object.spec{selector: Object.spec.wrong{}}}')]);
  const refused = await make();
  expect(refused.status).toBe(403);
  expect(messageOf(refused)).toBe(
    'policy \'bad\' with binding \'bad\' denied request: type mismatch: unexpected type name "Object.spec.wrong", expected "Object.spec.selector", which matches field name path from root Object type',
  );
  await call(
    server,
    'PATCH',
    `${policies}/bad`,
    { spec: { failurePolicy: 'Ignore' } },
    'application/merge-patch+json',
  );
  expect((await make()).status).toBe(201);
});

test('lists that are replaced as a whole may not be set', async () => {
  await policy('atomic', [
    apply(
      'Object{spec: Object.spec{template: Object.spec.template{spec: Object.spec.template.spec{containers: [Object.spec.template.spec.containers{name: "main", args: ["a"]}]}}}}',
    ),
  ]);
  expect(messageOf(await make())).toContain(
    'error applying patch: invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: .spec.template.spec.containers[0].args',
  );
});

test('a patch whose test fails changes nothing; one that cannot be applied refuses the request', async () => {
  await policy('tests', [
    patch(
      '[JSONPatch{op: "test", path: "/metadata/labels/app", value: "other"}, JSONPatch{op: "replace", path: "/spec/replicas", value: 9}]',
    ),
  ]);
  expect((await make()).body).toMatchObject({ spec: { replicas: 1 } });
  await call(server, 'DELETE', deployments);
  await policy('removes', [patch('[JSONPatch{op: "remove", path: "/spec/missing"}]')]);
  expect(messageOf(await make())).toContain(
    "policy 'removes' with binding 'removes' denied request: JSON Patch: ",
  );
});
