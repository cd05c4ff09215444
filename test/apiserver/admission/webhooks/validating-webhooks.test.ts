import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { EmbeddedApiServer } from '../../../../src/apiserver/index.ts';
import { type Answer, call } from '../../support.ts';
import { allow, type Review, startWebhook, type TestWebhook } from '../../webhooks/support.ts';
import { configure, rule, unconfigure } from './support.ts';

const audited: { readonly annotations?: Record<string, string>; readonly verb: string }[] = [];
let server: EmbeddedApiServer;
let webhook: TestWebhook;
beforeAll(async () => {
  server = await EmbeddedApiServer.start({ audit: (event) => audited.push(event as never) });
  webhook = await startWebhook(server, allow);
});
afterAll(async () => {
  await webhook.stop();
  await server.stop();
});
afterEach(async () => {
  for (const name of ['one', 'two']) await unconfigure(server, 'validating', name);
  webhook.answer = allow;
  webhook.seen.length = 0;
  audited.length = 0;
});

const path = '/api/v1/namespaces/default/configmaps';
let count = 0;
const newName = (): string => `map-${++count}`;
const create = (name = newName(), query = '', more: object = {}): Promise<Answer> =>
  call(server, 'POST', path + query, { metadata: { name, ...more }, data: { a: 'b' } });
const deny = (review: Review, status?: object): object =>
  allow(review, { allowed: false, ...(status && { status }) });
const configured = (more: object = {}, name = 'one'): Promise<Answer> =>
  configure(server, 'validating', name, webhook, more);

test('the review of a create has the object as it will be stored, its kind, the user and the options', async () => {
  await configured();
  await call(server, 'POST', `${path}?fieldManager=me`, { metadata: { name: 'whole' }, data: { a: 'b' } });
  expect(webhook.seen).toHaveLength(1);
  const { path: called, review } = webhook.seen[0] ?? {};
  expect(called).toBe('/review?timeout=10s');
  expect(review).toMatchObject({
    kind: 'AdmissionReview',
    apiVersion: 'admission.k8s.io/v1',
    request: {
      kind: { group: '', version: 'v1', kind: 'ConfigMap' },
      resource: { group: '', version: 'v1', resource: 'configmaps' },
      requestKind: { group: '', version: 'v1', kind: 'ConfigMap' },
      requestResource: { group: '', version: 'v1', resource: 'configmaps' },
      name: 'whole',
      namespace: 'default',
      operation: 'CREATE',
      userInfo: { username: 'podtender-admin', groups: ['system:masters', 'system:authenticated'] },
      object: {
        kind: 'ConfigMap',
        apiVersion: 'v1',
        metadata: { name: 'whole', namespace: 'default', uid: expect.any(String) as string },
        data: { a: 'b' },
      },
      oldObject: null,
      dryRun: false,
      options: { kind: 'CreateOptions', apiVersion: 'meta.k8s.io/v1', fieldManager: 'me' },
    },
  });
});

test('a deletion of many is one review each, without a name', async () => {
  const label = { labels: { group: 'many' } };
  await create(newName(), '', label);
  await create(newName(), '', label);
  await configured();
  await call(server, 'DELETE', `${path}?labelSelector=group%3Dmany`);
  expect(webhook.seen.map(({ review }) => review.request)).toMatchObject([
    { operation: 'DELETE', object: null, oldObject: { metadata: label } },
    { operation: 'DELETE', object: null, oldObject: { metadata: label } },
  ]);
  for (const { review } of webhook.seen) expect(review.request).not.toHaveProperty('name');
});

test('an update and a deletion show what was there before', async () => {
  await create('shown');
  await configured();
  await call(server, 'PATCH', `${path}/shown`, { data: { a: 'c' } }, 'application/merge-patch+json');
  await call(server, 'DELETE', `${path}/shown`);
  expect(webhook.seen.map(({ review }) => review.request)).toMatchObject([
    {
      operation: 'UPDATE',
      object: { data: { a: 'c' } },
      oldObject: { data: { a: 'b' } },
      options: { kind: 'PatchOptions' },
    },
    {
      operation: 'DELETE',
      name: 'shown',
      object: null,
      oldObject: { data: { a: 'c' } },
      options: { kind: 'DeleteOptions' },
    },
  ]);
});

test.each([
  [undefined, 400, 'admission webhook "one.example.com" denied the request without explanation'],
  [{ message: 'not today' }, 400, 'admission webhook "one.example.com" denied the request: not today'],
  [
    { reason: 'Forbidden', code: 403 },
    403,
    'admission webhook "one.example.com" denied the request: Forbidden',
  ],
  [
    { message: 'x', code: 200, status: 'Success' },
    400,
    'admission webhook "one.example.com" denied the request: x',
  ],
])('a denial with the status %j', async (status, code, message) => {
  webhook.answer = (review) => deny(review, status);
  await configured();
  const { status: got, body } = await create();
  expect(got).toBe(code);
  expect(body).toMatchObject({ kind: 'Status', status: 'Failure', message, code });
});

test('warnings reach the client, also with a denial, and annotations the audit event under the webhook’s name', async () => {
  await configured();
  for (const allowed of [true, false]) {
    const auditAnnotations = { why: 'because', 'not/ok': 'x' };
    webhook.answer = (review) => allow(review, { allowed, warnings: ['old field'], auditAnnotations });
    audited.length = 0;
    const { status, headers } = await create();
    expect(status).toBe(allowed ? 201 : 400);
    expect(headers.warning).toBe('299 - "old field"');
    await vi.waitFor(() => {
      const annotations = audited.map((event) => event.annotations);
      expect(annotations).toContainEqual(expect.objectContaining({ 'one.example.com/why': 'because' }));
    });
    for (const { annotations = {} } of audited)
      expect(Object.keys(annotations)).not.toContain('one.example.com/not/ok');
  }
});

test('a dry run is reviewed by webhooks without side effects, and refused where there is another', async () => {
  await configured({ sideEffects: 'NoneOnDryRun' });
  expect((await create(newName(), '?dryRun=All')).status).toBe(201);
  expect(webhook.seen[0]?.review.request['dryRun']).toBe(true);
  // such webhooks are left over from old versions: the API refuses new ones
  const [entry] = server.store.list('admissionregistration.k8s.io/validatingwebhookconfigurations');
  const [hook] = entry?.object['webhooks'] as readonly object[];
  server.store.put('admissionregistration.k8s.io/validatingwebhookconfigurations', {
    ...entry?.object,
    webhooks: [{ ...hook, sideEffects: 'Some' }],
  });
  const { status, body } = await create(newName(), '?dryRun=All');
  expect(status).toBe(400);
  expect(body).toMatchObject({
    message: 'admission webhook "one.example.com" does not support dry run',
    reason: 'BadRequest',
  });
  expect(webhook.seen).toHaveLength(1);
});

test.each([
  [
    'an error',
    { status: 500, type: 'text/plain', text: 'broken\n' },
    'an error on the server ("broken") has prevented the request from succeeding',
  ],
  [
    'no such path',
    { status: 404, type: 'text/plain', text: 'no' },
    'the server could not find the requested resource',
  ],
  [
    'no JSON',
    { status: 200, type: 'text/plain', text: 'hello' },
    "couldn't get version/kind; json parse error: invalid character 'h' looking for beginning of value",
  ],
])('a webhook that answers %s fails the request', async (_what, answer, why) => {
  webhook.answer = () => answer;
  await configured();
  const { status, body } = await create();
  expect(status).toBe(500);
  expect(body).toMatchObject({
    reason: 'InternalError',
    message: `Internal error occurred: failed calling webhook "one.example.com": failed to call webhook: ${why}`,
  });
});

test.each([
  [(review: Review) => ({ ...allow(review), response: undefined }), 'webhook response was absent'],
  [(review: Review) => allow(review, { uid: 'x' }), /^expected response.uid="[-0-9a-f]+", got "x"$/],
  [
    (review: Review) => ({ ...allow(review), apiVersion: 'admission.k8s.io/v1beta1' }),
    'expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got admission.k8s.io/v1beta1, Kind=AdmissionReview',
  ],
  [
    (review: Review) => allow(review, { patch: 'W10=', patchType: 'JSONPatch' }),
    'validating webhook may not return response.patch',
  ],
])('an answer that does not fit the review fails the request (%#)', async (answer, why) => {
  webhook.answer = answer;
  await configured();
  const { message } = (await create()).body as unknown as { message: string };
  const head =
    'Internal error occurred: failed calling webhook "one.example.com": received invalid webhook response: ';
  expect(message.startsWith(head)).toBe(true);
  if (typeof why === 'string') expect(message.slice(head.length)).toBe(why);
  else expect(message.slice(head.length)).toMatch(why);
});

test('failurePolicy Ignore admits when the webhook cannot be reached, and says so in the audit event', async () => {
  const gone = await startWebhook(server, allow);
  await gone.stop();
  await configure(server, 'validating', 'one', gone, { failurePolicy: 'Ignore' });
  expect((await create()).status).toBe(201);
  await unconfigure(server, 'validating', 'one');
  await configure(server, 'validating', 'one', gone);
  const { status, body } = await create();
  expect(status).toBe(500);
  expect(body).toMatchObject({
    message: `Internal error occurred: failed calling webhook "one.example.com": failed to call webhook: Post "${gone.url}?timeout=10s": dial tcp 127.0.0.1:${gone.port}: connect: connection refused`,
  });
  await vi.waitFor(() => {
    expect(audited.map((event) => event.annotations)).toContainEqual(
      expect.objectContaining({
        'failed-open.validating.webhook.admission.k8s.io/round_0_index_0': 'one.example.com',
      }),
    );
  });
});

test('a webhook that does not answer in time fails the request', async () => {
  webhook.answer = () => undefined;
  await configured({ timeoutSeconds: 1 });
  const { body } = await create();
  expect(body).toMatchObject({
    message: `Internal error occurred: failed calling webhook "one.example.com": failed to call webhook: Post "${webhook.url}?timeout=1s": context deadline exceeded`,
  });
});

test('a webhook whose certificate another authority signed is not called', async () => {
  const other = await EmbeddedApiServer.start();
  const stranger = await startWebhook(other, allow);
  await configure(server, 'validating', 'one', stranger);
  const { body } = await create();
  expect(body).toMatchObject({
    message: `Internal error occurred: failed calling webhook "one.example.com": failed to call webhook: Post "${stranger.url}?timeout=10s": tls: failed to verify certificate: x509: certificate signed by unknown authority`,
  });
  expect(stranger.seen).toEqual([]);
  await stranger.stop();
  await other.stop();
});

test('a v1beta1 webhook gets a review of that version, and its answer is checked less', async () => {
  webhook.answer = () => ({
    response: { allowed: true },
    kind: 'AdmissionReview',
    apiVersion: 'admission.k8s.io/v1beta1',
  });
  await configured({ admissionReviewVersions: ['v2', 'v1beta1', 'v1'] });
  expect((await create()).status).toBe(201);
  expect(webhook.seen[0]?.review.apiVersion).toBe('admission.k8s.io/v1beta1');
});

test('rules choose by operation, group, version, resource and scope; selectors by labels of object and namespace', async () => {
  const seenBy = async (more: object, act: () => Promise<Answer>): Promise<number> => {
    await unconfigure(server, 'validating', 'one');
    await configured(more);
    webhook.seen.length = 0;
    await act();
    return webhook.seen.length;
  };
  const one = (): Promise<Answer> => create();
  expect(await seenBy({ rules: [rule('configmaps', { operations: ['UPDATE', 'DELETE'] })] }, one)).toBe(0);
  expect(await seenBy({ rules: [rule('configmaps', { apiGroups: ['apps'] })] }, one)).toBe(0);
  expect(
    await seenBy({ rules: [rule('configmaps', { apiVersions: ['v1'], operations: ['CREATE'] })] }, one),
  ).toBe(1);
  expect(await seenBy({ rules: [rule('*/*')] }, one)).toBe(1);
  expect(await seenBy({ rules: [rule('*')] }, one)).toBe(1);
  expect(await seenBy({ rules: [rule('*/status')] }, one)).toBe(0);
  expect(await seenBy({ rules: [rule('*', { scope: 'Cluster' })] }, one)).toBe(0);
  expect(await seenBy({ rules: [rule('*', { scope: 'Namespaced' })] }, one)).toBe(1);
  expect(await seenBy({ objectSelector: { matchLabels: { a: 'b' } } }, one)).toBe(0);
  expect(
    await seenBy({ objectSelector: { matchLabels: { a: 'b' } } }, () =>
      create(newName(), '', { labels: { a: 'b' } }),
    ),
  ).toBe(1);
  const named = { matchLabels: { 'kubernetes.io/metadata.name': 'default' } };
  expect(await seenBy({ namespaceSelector: named }, one)).toBe(1);
  const others = {
    matchExpressions: [{ key: 'kubernetes.io/metadata.name', operator: 'NotIn', values: ['default'] }],
  };
  expect(await seenBy({ namespaceSelector: others }, one)).toBe(0);
});

test('a namespace is selected by its own labels, and its name is the namespace of its review', async () => {
  await configured({ rules: [rule('namespaces')], namespaceSelector: { matchLabels: { team: 'a' } } });
  const make = (name: string, team: string): Promise<Answer> =>
    call(server, 'POST', '/api/v1/namespaces', { metadata: { name, labels: { team } } });
  await make('team-b', 'b');
  await make('team-a', 'a');
  expect(webhook.seen.map(({ review }) => review.request)).toMatchObject([
    { name: 'team-a', namespace: 'team-a' },
  ]);
});

test('status, scale, eviction and exec are reviewed as their own kinds', async () => {
  await call(server, 'POST', '/api/v1/namespaces/default/pods', {
    metadata: { name: 'subject' },
    spec: { containers: [{ name: 'c', image: 'x' }] },
  });
  await configured({ rules: [rule('pods/*')] });
  const pod = '/api/v1/namespaces/default/pods/subject';
  await call(
    server,
    'PATCH',
    `${pod}/status`,
    { status: { phase: 'Running' } },
    'application/merge-patch+json',
  );
  await call(server, 'POST', `${pod}/exec?command=sh&command=-c&container=c&stdin=true`);
  webhook.answer = (review) => deny(review, { message: 'stay' });
  const evicted = await call(server, 'POST', `${pod}/eviction`, {
    apiVersion: 'policy/v1',
    kind: 'Eviction',
    metadata: { name: 'subject' },
  });
  expect(evicted.body).toMatchObject({
    message: 'admission webhook "one.example.com" denied the request: stay',
  });
  expect(webhook.seen.map(({ review }) => review.request)).toMatchObject([
    { subResource: 'status', operation: 'UPDATE', kind: { group: '', version: 'v1', kind: 'Pod' } },
    {
      subResource: 'exec',
      operation: 'CONNECT',
      kind: { group: '', version: 'v1', kind: 'PodExecOptions' },
      object: {
        kind: 'PodExecOptions',
        apiVersion: 'v1',
        command: ['sh', '-c'],
        container: 'c',
        stdin: true,
      },
      options: null,
    },
    {
      subResource: 'eviction',
      operation: 'CREATE',
      kind: { group: 'policy', version: 'v1', kind: 'Eviction' },
    },
  ]);
});

test('webhooks are called at once, in no order, and configurations themselves are reviewed by none', async () => {
  await configured({ rules: [rule('*/*')] });
  const other = await configured({ rules: [rule('*/*')] }, 'two');
  expect(other.status).toBe(201);
  expect(webhook.seen).toEqual([]);
  await create();
  expect(webhook.seen).toHaveLength(2);
});

test('a service is called by its name, at a ready endpoint', async () => {
  const named = await startWebhook(server, allow, ['hook.default.svc']);
  const service = { namespace: 'default', name: 'hook', path: '/check', port: 8443 };
  await configure(server, 'validating', 'one', named, {
    clientConfig: { service, caBundle: Buffer.from(server.ca).toString('base64') },
  });
  const messageOf = async (): Promise<unknown> =>
    ((await create()).body as Record<string, unknown>)['message'];
  const head =
    'Internal error occurred: failed calling webhook "one.example.com": failed to call webhook: Post "https://hook.default.svc:8443/check?timeout=10s": ';
  expect(await messageOf()).toBe(`${head}service "hook" not found`);
  await call(server, 'POST', '/api/v1/namespaces/default/services', {
    metadata: { name: 'hook' },
    spec: { ports: [{ port: 8443, name: 'https' }] },
  });
  expect(await messageOf()).toBe(`${head}no endpoints available for service "hook"`);
  // the API refuses loopback addresses
  server.store.put('discovery.k8s.io/endpointslices', {
    metadata: {
      name: 'hook-1',
      namespace: 'default',
      labels: { 'kubernetes.io/service-name': 'hook' },
    },
    addressType: 'IPv4',
    endpoints: [{ addresses: ['10.0.0.9'], conditions: { ready: false } }, { addresses: ['127.0.0.1'] }],
    ports: [{ name: 'https', port: named.port }],
  });
  expect((await create()).status).toBe(201);
  expect(named.seen).toMatchObject([{ path: '/check?timeout=10s' }]);
  await named.stop();
});

test('calls are counted under kube-apiserver’s names', async () => {
  await configured({}, 'counted');
  await create();
  webhook.answer = (review) => deny(review);
  await create();
  await unconfigure(server, 'validating', 'counted');
  const { text } = await call(server, 'GET', '/metrics');
  const of = 'name="counted.example.com",type="validating",operation="CREATE"';
  expect(text).toContain(`apiserver_admission_webhook_request_total{${of},rejected="false",code="200"} 1`);
  expect(text).toContain(`apiserver_admission_webhook_request_total{${of},rejected="true",code="400"} 1`);
  expect(text).toContain(
    `apiserver_admission_webhook_rejection_count{${of},error_type="no_error",rejection_code="400"} 1`,
  );
  expect(text).toContain(
    `apiserver_admission_webhook_admission_duration_seconds_count{${of},rejected="false"} 1`,
  );
});
