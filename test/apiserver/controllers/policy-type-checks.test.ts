import { afterAll, beforeAll, expect, test } from 'vitest';
import { EmbeddedApiServer } from '../../../src/apiserver/index.ts';
import { call } from '../support.ts';
import { definition, definitionsPath, schema } from '../apiextensions/support.ts';

const policies = '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies';
let server: EmbeddedApiServer;
beforeAll(async () => {
  server = await EmbeddedApiServer.start();
  const properties = {
    spec: { type: 'object', properties: { size: { type: 'integer' }, free: { type: 'object' } } },
  };
  const version = schema({ type: 'object', properties });
  await call(server, 'POST', definitionsPath, definition('widgets', { version }));
});
afterAll(() => server.stop());

interface Policy {
  readonly status?: {
    readonly observedGeneration: number;
    readonly typeChecking: {
      readonly expressionWarnings?: readonly { readonly fieldRef: string; readonly warning: string }[];
    };
  };
}
const statusOf = async (name: string): Promise<Policy['status']> =>
  ((await call(server, 'GET', `${policies}/${name}`)).body as Policy).status;

const specOf = (group: string, resources: readonly string[], spec: object): object => ({
  matchConstraints: {
    resourceRules: [{ apiGroups: [group], apiVersions: ['v1'], operations: ['CREATE'], resources }],
  },
  ...spec,
});

async function checked(
  name: string,
  ...of: Parameters<typeof specOf>
): Promise<readonly (readonly [field: string, warning: string])[]> {
  const made = await call(server, 'POST', policies, { metadata: { name }, spec: specOf(...of) });
  expect(made.text).toContain('"generation":1');
  const status = await statusOf(name);
  expect(status?.observedGeneration).toBe(1);
  return (status?.typeChecking.expressionWarnings ?? []).map(({ fieldRef, warning }) => [fieldRef, warning]);
}
const validations = (...expressions: string[]): object => ({
  validations: expressions.map((expression) => ({ expression })),
});

// the texts are those of a kube-controller-manager 1.36.2
test('expressions are checked against each kind that the policy names', async () => {
  const warnings = await checked('kinds', 'apps', ['deployments', 'replicasets', 'deployments/scale'], {
    validations: [
      { expression: 'object.spec.replicas > 1' },
      { expression: 'object.spec.paused == 1', messageExpression: 'object.bar + "x"' },
    ],
  });
  expect(warnings).toEqual([
    [
      'spec.validations[1].expression',
      `apps/v1, Kind=Deployment: ERROR: <input>:1:20: found no matching overload for '_==_' applied to '(bool, int)'
 | object.spec.paused == 1
 | ...................^

apps/v1, Kind=ReplicaSet: ERROR: <input>:1:12: undefined field 'paused'
 | object.spec.paused == 1
 | ...........^
`,
    ],
    [
      'spec.validations[1].messageExpression',
      ['Deployment', 'ReplicaSet']
        .map(
          (kind) => `apps/v1, Kind=${kind}: ERROR: <input>:1:7: undefined field 'bar'
 | object.bar + "x"
 | ......^
`,
        )
        .join('\n'),
    ],
  ]);
});

test('quantities are not seen, maps, lists and times are; the authorizer has no request', async () => {
  const container = 'object.spec.template.spec.containers[0]';
  const warnings = await checked(
    'parts',
    'apps',
    ['deployments'],
    validations(
      `${container}.resources.limits["cpu"] == "a"`,
      `${container}.ports[0].containerPort == 1`,
      'object.metadata.labels["a"] == 1',
      'object.metadata.creationTimestamp == 1',
      'object.spec.strategy.rollingUpdate.maxSurge == 1',
      'authorizer.requestResource.check("get").allowed()',
      'authorizer.path("/x").check("get").allowed() && object.kind == "x"',
    ),
  );
  expect(warnings.map(([field, text]) => `${field.slice(17, 18)} ${text.split('\n')[0] ?? ''}`)).toEqual([
    "0 apps/v1, Kind=Deployment: ERROR: <input>:1:50: undefined field 'limits'",
    "2 apps/v1, Kind=Deployment: ERROR: <input>:1:29: found no matching overload for '_==_' applied to '(string, int)'",
    "3 apps/v1, Kind=Deployment: ERROR: <input>:1:35: found no matching overload for '_==_' applied to '(timestamp, int)'",
    "5 apps/v1, Kind=Deployment: ERROR: <input>:1:11: unexpected failed resolution of 'kubernetes.authorization.Authorizer'",
  ]);
});

test('custom kinds have the types of their schema, parameters those of their kind', async () => {
  const warnings = await checked('customs', 'example.com', ['widgets'], {
    paramKind: { apiVersion: 'v1', kind: 'ConfigMap' },
    ...validations(
      'object.spec.size == "a"',
      'object.metadata.labels == {"a": "b"} && object.spec.size > 1',
      'object.spec.zip == 1',
      'params.data.x == 1',
    ),
  });
  expect(warnings.map(([field, text]) => `${field.slice(17, 18)} ${text.split('\n')[0] ?? ''}`)).toEqual([
    "0 example.com/v1, Kind=Widget: ERROR: <input>:1:18: found no matching overload for '_==_' applied to '(int, string)'",
    "2 example.com/v1, Kind=Widget: ERROR: <input>:1:12: undefined field 'zip'",
    "3 example.com/v1, Kind=Widget: ERROR: <input>:1:15: found no matching overload for '_==_' applied to '(string, int)'",
  ]);
});

test('a variable that does not fit may be anything, and its struct is not looked into', async () => {
  const warnings = await checked('variables', '', ['pods'], {
    variables: [
      { name: 'bad', expression: 'object.nope' },
      { name: 'name', expression: 'object.metadata.name' },
      { name: 'user', expression: 'request.userInfo' },
    ],
    ...validations('variables.bad == 1 && variables.user.foo == 1', 'variables.name == 1'),
  });
  expect(warnings.map(([field]) => field)).toEqual(['spec.validations[1].expression']);
});

test('wildcards are not checked; a new generation is', async () => {
  expect(await checked('wild', 'apps', ['*'], validations('object.foo == 1'))).toEqual([]);
  expect((await statusOf('wild'))?.typeChecking).toEqual({});
  const spec = specOf('apps', ['Deployment'], validations('object.foo == 1'));
  await call(server, 'PATCH', `${policies}/wild`, { spec }, 'application/merge-patch+json');
  const status = await statusOf('wild');
  expect(status?.observedGeneration).toBe(2);
  expect(status?.typeChecking.expressionWarnings).toHaveLength(1);
});
