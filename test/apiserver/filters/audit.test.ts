import { connect } from 'node:http2';
import { get } from 'node:https';
import { expect, test } from 'vitest';
import { type AuditEvent, AuditPolicyError, EmbeddedApiServer } from '../../../src/apiserver/index.ts';
import { call } from '../support.ts';

const path = '/api/v1/namespaces/default/configmaps';

test('each answered request is an audit event: who, what, whom it was taken for, and with which result', async () => {
  const events: Record<string, unknown>[] = [];
  const server = await EmbeddedApiServer.start({ audit: (event) => events.push(event) });
  const made = await call(server, 'POST', path, { metadata: { name: 'a' } });
  await call(server, 'GET', `${path}/none`);
  await call(server, 'GET', `${path}/a`, undefined, undefined, { 'Impersonate-User': 'jane' });
  await server.stop();
  expect(events).toHaveLength(3);
  expect(events[0]).toMatchObject({
    kind: 'Event',
    apiVersion: 'audit.k8s.io/v1',
    level: 'Metadata',
    auditID: made.headers['audit-id'],
    stage: 'ResponseComplete',
    requestURI: path,
    verb: 'create',
    user: { username: 'podtender-admin', groups: ['system:masters', 'system:authenticated'] },
    objectRef: { resource: 'configmaps', namespace: 'default', name: 'a', apiVersion: 'v1' },
    responseStatus: { code: 201 },
    annotations: { 'authorization.k8s.io/decision': 'allow' },
  });
  expect(events[1]).toMatchObject({ verb: 'get', responseStatus: { code: 404, status: 'Failure' } });
  expect(events[2]).toMatchObject({
    impersonatedUser: { username: 'jane', groups: ['system:authenticated'] },
    responseStatus: { code: 403 },
    annotations: { 'authorization.k8s.io/decision': 'forbid' },
  });
});

test('without a sink nothing is audited', async () => {
  const server = await EmbeddedApiServer.start();
  const { headers } = await call(server, 'GET', path);
  await server.stop();
  expect(headers['audit-id']).toBeUndefined();
});

const audited = async (
  policy: object,
  act: (server: EmbeddedApiServer) => Promise<unknown>,
): Promise<readonly AuditEvent[]> => {
  const events: AuditEvent[] = [];
  const server = await EmbeddedApiServer.start({
    audit: (event) => events.push(event as unknown as AuditEvent),
    auditPolicy: { apiVersion: 'audit.k8s.io/v1', kind: 'Policy', ...policy },
  });
  await act(server);
  await server.stop();
  return events;
};

const clock = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/;

test('the level Request has the sent object, RequestResponse the answer too; stages as the policy wants them', async () => {
  const events = await audited(
    {
      omitStages: ['RequestReceived'],
      omitManagedFields: true,
      rules: [
        { level: 'None', verbs: ['watch'] },
        { level: 'RequestResponse', verbs: ['create', 'list', 'get', 'delete'] },
        { level: 'Request', verbs: ['patch'], omitStages: [] },
      ],
    },
    async (server) => {
      await call(server, 'POST', path, { metadata: { name: 'a', uid: 'mine' }, data: { k: 'v' } });
      await call(server, 'PATCH', `${path}/a`, { data: { k: 'w' } }, 'application/merge-patch+json');
      await call(server, 'GET', `${path}/a`);
      await call(server, 'GET', `${path}?labelSelector=x`);
      await call(server, 'DELETE', `${path}/a`, {
        kind: 'DeleteOptions',
        apiVersion: 'v1',
        gracePeriodSeconds: 0,
      });
      await call(server, 'PUT', `${path}/a`, {});
    },
  );
  expect(events.map(({ verb, stage, level }) => [verb, stage, level])).toEqual([
    ['create', 'ResponseComplete', 'RequestResponse'],
    ['patch', 'ResponseComplete', 'Request'],
    ['get', 'ResponseComplete', 'RequestResponse'],
    ['list', 'ResponseComplete', 'RequestResponse'],
    ['delete', 'ResponseComplete', 'RequestResponse'],
  ]);
  const [created, patched, got, listed, deleted] = events;
  expect(created?.objectRef).toEqual({
    ...{ resource: 'configmaps', namespace: 'default', name: 'a', uid: 'mine', apiVersion: 'v1' },
  });
  expect(created?.requestObject).toMatchObject({ kind: 'ConfigMap', apiVersion: 'v1', data: { k: 'v' } });
  expect(created?.responseObject).toMatchObject({ kind: 'ConfigMap', metadata: { name: 'a' } });
  expect(created?.responseObject?.['metadata']).not.toHaveProperty('managedFields');
  expect(created?.requestReceivedTimestamp).toMatch(clock);
  expect(created?.stageTimestamp).toMatch(clock);
  expect(patched?.requestObject).toEqual({ data: { k: 'w' } });
  expect(patched).not.toHaveProperty('responseObject');
  expect(got?.responseObject).toMatchObject({ data: { k: 'w' } });
  expect(listed?.responseObject).toMatchObject({ kind: 'ConfigMapList', items: [] });
  expect(deleted?.requestObject).toMatchObject({ kind: 'DeleteOptions', gracePeriodSeconds: 0 });
  expect(deleted?.responseStatus).toMatchObject({ metadata: {}, status: 'Success', code: 200 });
  expect(deleted?.responseObject).toMatchObject({ kind: 'Status', status: 'Success' });
});

test('each request is received and complete; a watch also starts, invalid credentials only start', async () => {
  const events = await audited({ rules: [{ level: 'Metadata' }] }, async (server) => {
    await call(server, 'GET', `${path}?watch=1&timeoutSeconds=1`);
    await call(server, 'GET', `${path}/none`, undefined, undefined, { 'Audit-ID': 'mine' });
    await new Promise<void>((resolve, reject) => {
      const { port, ca } = server;
      get({ port, ca, path, headers: { Authorization: 'Bearer wrong' } }, (answer) => {
        answer.on('error', reject).on('end', resolve).resume();
      }).on('error', reject);
    });
  });
  expect(events.map(({ verb, stage, responseStatus }) => [verb, stage, responseStatus?.code])).toEqual([
    ['watch', 'RequestReceived', undefined],
    ['watch', 'ResponseStarted', 200],
    ['watch', 'ResponseComplete', 200],
    ['get', 'RequestReceived', undefined],
    ['get', 'ResponseComplete', 404],
    ['list', 'ResponseStarted', 401],
  ]);
  expect(events[4]).toMatchObject({
    auditID: 'mine',
    responseStatus: { status: 'Failure', reason: 'NotFound', message: 'configmaps "none" not found' },
  });
  expect(events[5]).toMatchObject({
    user: {},
    responseStatus: { status: 'Failure', reason: 'Unauthorized', message: 'Unauthorized', code: 401 },
  });
});

test('a watch over HTTP/2 is received, starts and is complete', async () => {
  const events = await audited({ rules: [{ level: 'Metadata' }] }, async ({ url, ca, admin }) => {
    const session = connect(url, { ca, ...admin });
    const stream = session.request({ ':path': `${path}?watch=1&timeoutSeconds=1` });
    await new Promise<void>((resolve, reject) => {
      stream.on('error', reject).on('close', resolve).resume();
    });
    session.close();
  });
  expect(events.map(({ stage, responseStatus }) => [stage, responseStatus?.code])).toEqual([
    ['RequestReceived', undefined],
    ['ResponseStarted', 200],
    ['ResponseComplete', 200],
  ]);
});

test('a policy that cannot be used is refused', async () => {
  const starting = EmbeddedApiServer.start({ audit: () => undefined, auditPolicy: { kind: 'Policy' } });
  await expect(starting).rejects.toThrow(AuditPolicyError);
});

test.each([
  ['blocking', 200, 0],
  ['blocking-strict', 500, 1],
] as const)(
  '%s: a request whose event cannot be recorded is answered with %i',
  async (auditMode, status, rejected) => {
    const box = { isFull: false };
    const server = await EmbeddedApiServer.start({
      audit: () => {
        if (box.isFull) throw new Error('no space left on device');
      },
      auditPolicy: { apiVersion: 'audit.k8s.io/v1', kind: 'Policy', rules: [{ level: 'Metadata' }] },
      auditMode,
    });
    box.isFull = true;
    const answer = await call(server, 'GET', path);
    box.isFull = false;
    const { text } = await call(server, 'GET', '/metrics');
    await server.stop();
    expect(answer.status).toBe(status);
    if (rejected > 0)
      expect(answer.text).toBe(`Internal Server Error: "${path}": failed to store audit event\n`);
    expect(text).toContain(`apiserver_audit_requests_rejected_total ${rejected}\n`);
    expect(text).toMatch(/^apiserver_audit_error_total\{plugin="log"\} [12]$/m);
  },
);
