import { expect, test } from 'vitest';
import { EmbeddedApiServer } from '../../../src/apiserver/index.ts';
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
