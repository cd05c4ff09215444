import { connect } from 'node:http2';
import { afterEach, expect, test } from 'vitest';
import { EmbeddedApiServer } from '../../src/apiserver/index.ts';
import { call } from './support.ts';

let server: EmbeddedApiServer;
afterEach(() => server.stop());

const path = '/api/v1/namespaces/default/configmaps';

/** Returns the samples of a family by their labels. */
async function samplesOf(name: string): Promise<ReadonlyMap<string, number>> {
  const { text } = await call(server, 'GET', '/metrics');
  const lines = text.split('\n').filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `));
  return new Map(
    lines.map((line) => {
      const cut = line.lastIndexOf(' ');
      return [line.slice(name.length, cut), Number(line.slice(cut + 1))] as const;
    }),
  );
}

const labels = (verb: string, more = ''): string =>
  `verb="${verb}",dry_run="",group="",version="v1",resource="configmaps",subresource=""${more}`;
const ofOne = ',scope="resource",component="apiserver"';
const ofAll = ',scope="namespace",component="apiserver"';

test('requests are counted by what they are about and by their status, and their time is measured', async () => {
  server = await EmbeddedApiServer.start();
  await call(server, 'POST', path, { metadata: { name: 'a' } });
  await call(server, 'POST', `${path}?dryRun=All`, { metadata: { name: 'b' } });
  await call(server, 'GET', `${path}/a`);
  await call(server, 'GET', `${path}/none`);
  await call(server, 'GET', path);
  await call(server, 'PATCH', `${path}/a`, {}, 'application/merge-patch+json');
  await call(server, 'DELETE', `${path}/a`);
  const requests = await samplesOf('apiserver_request_total');
  expect(requests.get(`{${labels('POST', ofOne)},code="201"}`)).toBe(1);
  expect(requests.get(`{${labels('POST', ofOne).replace('dry_run=""', 'dry_run="All"')},code="201"}`)).toBe(
    1,
  );
  expect(requests.get(`{${labels('GET', ofOne)},code="200"}`)).toBe(1);
  expect(requests.get(`{${labels('GET', ofOne)},code="404"}`)).toBe(1);
  expect(requests.get(`{${labels('LIST', ofAll)},code="200"}`)).toBe(1);
  expect(requests.get(`{${labels('PATCH', ofOne)},code="200"}`)).toBe(1);
  expect(requests.get(`{${labels('DELETE', ofOne)},code="200"}`)).toBe(1);
  const counts = await samplesOf('apiserver_request_duration_seconds_count');
  expect(counts.get(`{${labels('GET', ofOne)}}`)).toBe(2);
  const inFlight = await samplesOf('apiserver_current_inflight_requests');
  // the request that asks
  expect(inFlight.get('{request_kind="readOnly"}')).toBe(1);
  expect(inFlight.get('{request_kind="mutating"}')).toBe(0);
});

test('watches run, and send events', async () => {
  server = await EmbeddedApiServer.start();
  const session = connect(server.url, { ca: server.ca, ...server.admin });
  const stream = session.request({ ':path': `${path}?watch=1&resourceVersion=0` });
  await new Promise((resolve) => stream.once('response', resolve));
  const place = 'group="",version="v1",resource="configmaps"';
  const running = `{verb="WATCH",${place},subresource="",scope="namespace",component="apiserver"}`;
  expect((await samplesOf('apiserver_longrunning_requests')).get(running)).toBe(1);
  const before = (await samplesOf('apiserver_watch_events_total')).get(`{${place}}`) ?? 0;
  const seen = new Promise((resolve) => stream.once('data', resolve));
  await call(server, 'POST', path, { metadata: { name: 'a' } });
  await seen;
  expect((await samplesOf('apiserver_watch_events_total')).get(`{${place}}`)).toBe(before + 1);
  stream.close();
  session.close();
  await expect
    .poll(async () => (await samplesOf('apiserver_longrunning_requests')).get(running), { timeout: 10_000 })
    .toBe(0);
});

test('stored objects, users, decisions and admission are counted', async () => {
  server = await EmbeddedApiServer.start();
  await call(server, 'POST', path, { metadata: { name: 'a' } });
  await call(server, 'GET', path, undefined, undefined, { 'Impersonate-User': 'jane' });
  expect((await samplesOf('apiserver_storage_objects')).get('{resource="configmaps"}')).toBeGreaterThan(0);
  const objects = await samplesOf('apiserver_resource_objects');
  expect(objects.get('{group="rbac.authorization.k8s.io",resource="clusterroles"}')).toBeGreaterThan(50);
  expect((await samplesOf('authentication_attempts')).get('{result="success"}')).toBeGreaterThan(2);
  expect((await samplesOf('authenticated_user_requests')).get('{username="other"}')).toBeGreaterThan(2);
  const decisions = await samplesOf('authorization_attempts_total');
  expect(decisions.get('{result="allowed"}')).toBeGreaterThan(0);
  const steps = await samplesOf('apiserver_admission_step_admission_duration_seconds_count');
  expect(steps.get('{type="validate",operation="CREATE",rejected="false"}')).toBeGreaterThan(0);
  const plugins = await samplesOf('apiserver_admission_controller_admission_duration_seconds_count');
  const lifecycle = '{name="NamespaceLifecycle",type="admit",operation="CREATE",rejected="true"}';
  expect(plugins.has(lifecycle)).toBe(false);
  await call(server, 'POST', '/api/v1/namespaces/none/configmaps', { metadata: { name: 'a' } });
  const after = await samplesOf('apiserver_admission_controller_admission_duration_seconds_count');
  expect(after.get(lifecycle)).toBe(1);
});

test('checks of policies are counted by what came of them', async () => {
  server = await EmbeddedApiServer.start();
  const group = '/apis/admissionregistration.k8s.io/v1';
  const resourceRules = [
    { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['configmaps'] },
  ];
  await call(server, 'POST', `${group}/validatingadmissionpolicies`, {
    metadata: { name: 'short' },
    spec: {
      matchConstraints: { resourceRules },
      validations: [{ expression: 'size(object.metadata.name) < 3' }],
    },
  });
  await call(server, 'POST', `${group}/validatingadmissionpolicybindings`, {
    metadata: { name: 'all' },
    spec: { policyName: 'short', validationActions: ['Deny'] },
  });
  await call(server, 'POST', path, { metadata: { name: 'a' } });
  await call(server, 'POST', path, { metadata: { name: 'long' } });
  const checks = await samplesOf('apiserver_validating_admission_policy_check_total');
  const of = (action: string): string =>
    `{policy="short",policy_binding="all",error_type="no_error",enforcement_action="${action}"}`;
  expect(checks.get(of('allow'))).toBe(1);
  expect(checks.get(of('deny'))).toBe(1);
});

test('sizes of answers to reads are measured: objects, lists, refusals, watches', async () => {
  server = await EmbeddedApiServer.start();
  await call(server, 'POST', path, { metadata: { name: 'a' } });
  const one = await call(server, 'GET', `${path}/a`);
  const missing = await call(server, 'GET', `${path}/none`);
  const list = await call(server, 'GET', path);
  const watched = await call(server, 'GET', `${path}?watch=1&resourceVersion=0&timeoutSeconds=1`);
  const place = 'group="",version="v1",resource="configmaps",subresource=""';
  const sums = async (): Promise<ReadonlyMap<string, number>> => samplesOf('apiserver_response_sizes_sum');
  const of = (verb: string, scope: string): string =>
    `{verb="${verb}",${place},scope="${scope}",component="apiserver"}`;
  await expect
    .poll(async () => (await sums()).get(of('GET', 'resource')))
    .toBe(one.text.length + missing.text.length);
  expect((await sums()).get(of('LIST', 'namespace'))).toBe(list.text.length);
  await expect
    .poll(async () => (await sums()).get(of('WATCH', 'namespace')), { timeout: 10_000 })
    .toBe(watched.text.length);
  expect(watched.text.length).toBeGreaterThan(0);
  const counts = await samplesOf('apiserver_response_sizes_count');
  expect(counts.get(of('GET', 'resource'))).toBe(2);
  expect(counts.has(of('POST', 'resource'))).toBe(false);
});

test('lists that are sent while they are made count as what was sent', async () => {
  server = await EmbeddedApiServer.start();
  const data = { text: 'x'.repeat(500_000) };
  for (const name of ['a', 'b', 'c', 'd']) await call(server, 'POST', path, { metadata: { name }, data });
  const list = await call(server, 'GET', path);
  expect(list.headers['transfer-encoding']).toBe('chunked');
  const sums = await samplesOf('apiserver_response_sizes_sum');
  const [size] = [...sums].filter(([key]) => key.includes('verb="LIST"')).map(([, value]) => value);
  expect(size).toBe(list.text.length);
});

test('audit events and the levels of requests are counted', async () => {
  const audit = (): void => undefined;
  const rules = [{ level: 'None', resources: [{ group: '', resources: ['secrets'] }] }, { level: 'Request' }];
  const auditPolicy = { apiVersion: 'audit.k8s.io/v1', kind: 'Policy', rules };
  server = await EmbeddedApiServer.start({ audit, auditPolicy });
  await call(server, 'GET', path);
  await call(server, 'GET', '/api/v1/namespaces/default/secrets');
  const levels = await samplesOf('apiserver_audit_level_total');
  expect(levels.get('{level="None"}')).toBe(1);
  // with the request that asks
  expect(levels.get('{level="Request"}')).toBe(2);
  expect((await samplesOf('apiserver_audit_event_total')).get('')).toBeGreaterThan(2);
  expect((await samplesOf('apiserver_audit_requests_rejected_total')).get('')).toBe(0);
});

test('decisions are counted by the mode that took them, and calls of the webhook by how they ended', async () => {
  server = await EmbeddedApiServer.start({
    authorization: ['Webhook', 'RBAC'],
    authorizationWebhook: {
      review: (body) => {
        const { user } = (body as { readonly spec: { readonly user: string } }).spec;
        if (user === 'down') return Promise.reject(new Error('connection refused'));
        return Promise.resolve({ ...body, status: { allowed: user === 'jane', denied: user === 'joe' } });
      },
    },
  });
  for (const user of ['jane', 'joe', 'ann', 'down'])
    await call(server, 'GET', path, undefined, undefined, { 'Impersonate-User': user });
  const decisions = await samplesOf('apiserver_authorization_decisions_total');
  expect(decisions.get('{type="Webhook",name="default",decision="allowed"}')).toBe(1);
  expect(decisions.get('{type="Webhook",name="default",decision="denied"}')).toBe(1);
  expect([...decisions.keys()].some((key) => key.includes('type="RBAC"'))).toBe(false);
  const calls = await samplesOf('apiserver_authorization_webhook_evaluations_total');
  expect(calls.get('{name="default",result="success"}')).toBe(3);
  expect(calls.get('{name="default",result="error"}')).toBe(1);
  const times = await samplesOf('apiserver_authorization_webhook_duration_seconds_count');
  expect(times.get('{name="default",result="success"}')).toBe(3);
  const open = await samplesOf('apiserver_authorization_webhook_evaluations_fail_open_total');
  expect(open.get('{name="default",result="error"}')).toBe(1);
});
