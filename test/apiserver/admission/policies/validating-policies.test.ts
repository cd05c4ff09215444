import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { EmbeddedApiServer } from '../../../../src/apiserver/index.ts';
import { type JsonObject, objectAt } from '../../../../src/apimachinery/json.ts';
import { type Answer, call } from '../../support.ts';

let server: EmbeddedApiServer;
const events: JsonObject[] = [];
beforeAll(async () => {
  server = await EmbeddedApiServer.start({ controllers: false, audit: (event) => void events.push(event) });
});
afterAll(() => server.stop());

const registration = '/apis/admissionregistration.k8s.io/v1';
const policies = `${registration}/validatingadmissionpolicies`;
const bindings = `${registration}/validatingadmissionpolicybindings`;
const configMaps = '/api/v1/namespaces/default/configmaps';

const rule = (
  resources: readonly string[],
  operations: readonly string[] = ['CREATE', 'UPDATE'],
): object => ({
  apiGroups: ['', 'apps', 'example.com'],
  apiVersions: ['v1'],
  operations,
  resources,
});

async function policy(spec: object, binding: object = {}): Promise<void> {
  const made = await call(server, 'POST', policies, {
    metadata: { name: 'p' },
    spec: { failurePolicy: 'Fail', matchConstraints: { resourceRules: [rule(['configmaps'])] }, ...spec },
  });
  expect(made.status).toBe(201);
  const bound = await call(server, 'POST', bindings, {
    metadata: { name: 'b' },
    spec: { policyName: 'p', validationActions: ['Deny'], ...binding },
  });
  expect(bound.status).toBe(201);
}

beforeEach(async () => {
  await call(server, 'DELETE', policies);
  await call(server, 'DELETE', bindings);
  await call(server, 'DELETE', configMaps);
  events.length = 0;
});

const make = (data: object, more: object = {}): Promise<Answer> =>
  call(server, 'POST', configMaps, { metadata: { name: 'c', ...more }, data });
const messageOf = ({ body }: Answer): unknown => (body as { message?: unknown }).message;

test('a validation that is false refuses the request', async () => {
  await policy({
    validations: [{ expression: "object.data.size == 'small'", message: 'too big', reason: 'Forbidden' }],
  });
  const refused = await make({ size: 'big' });
  expect(refused.status).toBe(403);
  expect(refused.body).toMatchObject({
    reason: 'Forbidden',
    message: `configmaps "c" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: too big`,
    details: {
      causes: [{ message: "ValidatingAdmissionPolicy 'p' with binding 'b' denied request: too big" }],
    },
  });
  expect((await make({ size: 'small' })).status).toBe(201);
});

test('without a message the expression is shown; the reason is Invalid', async () => {
  await policy({ validations: [{ expression: "  object.data.size == 'small'" }] });
  const refused = await make({ size: 'big' });
  expect(refused.status).toBe(422);
  expect(messageOf(refused)).toContain("denied request: failed expression: object.data.size == 'small'");
});

test('variables are evaluated when they are used, and messages are made of them', async () => {
  await policy({
    variables: [
      { name: 'size', expression: "object.data.?size.orValue('none')" },
      { name: 'shown', expression: "'size is ' + variables.size" },
      { name: 'broken', expression: 'object.data.missing' },
    ],
    validations: [
      { expression: "variables.size == 'small'", messageExpression: 'variables.shown', message: 'fallback' },
    ],
  });
  expect(messageOf(await make({ size: 'big' }))).toContain('denied request: size is big');
  expect(messageOf(await make({ a: 'b' }))).toContain('denied request: size is none');
  expect((await make({ size: 'small' })).status).toBe(201);
});

test('an expression that cannot be evaluated is left to the failure policy', async () => {
  await policy({ validations: [{ expression: 'object.data.missing == 1' }] });
  expect(messageOf(await make({}))).toContain(
    "denied request: expression 'object.data.missing == 1' resulted in error: no such key: ",
  );
  await call(
    server,
    'PATCH',
    `${policies}/p`,
    { spec: { failurePolicy: 'Ignore' } },
    'application/merge-patch+json',
  );
  expect((await make({})).status).toBe(201);
});

test('match conditions, rules by name and excluded rules leave requests out', async () => {
  await policy({
    matchConstraints: {
      resourceRules: [rule(['configmaps'])],
      excludeResourceRules: [{ ...rule(['configmaps']), resourceNames: ['free'] }],
    },
    matchConditions: [{ name: 'not-bots', expression: "!request.userInfo.username.startsWith('system:')" }],
    validations: [{ expression: 'false', message: 'never' }],
  });
  expect((await make({}, { name: 'free' })).status).toBe(201);
  expect(messageOf(await make({}, { name: 'bound' }))).toContain('never');
});

test('warnings and audit annotations, and what is published of a policy', async () => {
  await policy(
    {
      validations: [{ expression: 'false', message: 'not so good' }],
      auditAnnotations: [{ key: 'size', valueExpression: "'size ' + object.data.size" }],
    },
    { validationActions: ['Warn', 'Audit'] },
  );
  const made = await make({ size: 'big' });
  expect(made.status).toBe(201);
  expect(String(made.headers.warning)).toContain(
    "Validation failed for ValidatingAdmissionPolicy 'p' with binding 'b': not so good",
  );
  const annotations = await vi.waitFor(() => {
    const found = events.find((event) => objectAt(event, 'annotations')['p/size'] !== undefined);
    return objectAt(found ?? expect.fail('no event with the annotation'), 'annotations');
  });
  expect(annotations).toMatchObject({ 'p/size': 'size big' });
  expect(JSON.parse(String(annotations['validation.policy.admission.k8s.io/validation_failure']))).toEqual([
    {
      message: 'not so good',
      policy: 'p',
      binding: 'b',
      expressionIndex: 0,
      validationActions: ['Warn', 'Audit'],
    },
  ]);
});

test('parameters by name and by labels; what is done without them', async () => {
  const parameter = (name: string, most: string): Promise<Answer> =>
    call(server, 'POST', '/api/v1/namespaces/default/secrets', {
      metadata: { name, labels: { limits: 'yes' } },
      stringData: { most },
    });
  const plain = {
    paramKind: { apiVersion: 'v1', kind: 'Secret' },
    validations: [
      {
        expression: 'params.metadata.name != object.data.v',
        messageExpression: "'not ' + params.metadata.name",
      },
    ],
  };
  await policy(plain, { paramRef: { name: 'limit', parameterNotFoundAction: 'Deny' } });
  expect(messageOf(await make({ v: 'x' }))).toContain(
    'denied request: failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction',
  );
  await parameter('limit', '3');
  await parameter('other', '3');
  expect((await make({ v: 'x' })).status).toBe(201);
  expect(messageOf(await make({ v: 'limit' }, { name: 'd' }))).toContain('not limit');
  const paramRef = {
    name: null,
    selector: { matchLabels: { limits: 'yes' } },
    parameterNotFoundAction: 'Allow',
  };
  await call(server, 'PATCH', `${bindings}/b`, { spec: { paramRef } }, 'application/merge-patch+json');
  expect(messageOf(await make({ v: 'other' }, { name: 'd' }))).toContain('not other');
});

test('the namespace and the authorizer are there', async () => {
  await policy({
    validations: [
      { expression: "namespaceObject.metadata.name == 'default'", message: 'namespace' },
      {
        expression: "authorizer.group('').resource('secrets').namespace('default').check('get').allowed()",
        message: 'may not',
      },
      {
        expression:
          "request.resource.resource == 'configmaps' && request.operation == 'CREATE' && oldObject == null",
      },
    ],
  });
  expect((await make({})).status).toBe(201);
});
