import { request } from 'node:https';
import { afterEach, expect, test } from 'vitest';
import {
  type AuditEvent,
  EmbeddedApiServer,
  type EmbeddedApiServerOptions,
} from '../../../src/apiserver/index.ts';
import type { JsonObject } from '../../../src/apimachinery/json.ts';

let server: EmbeddedApiServer | undefined;
afterEach(async () => {
  await server?.stop();
  server = undefined;
});

const events: AuditEvent[] = [];
async function start(options: EmbeddedApiServerOptions): Promise<EmbeddedApiServer> {
  events.length = 0;
  server = await EmbeddedApiServer.start({
    tokens: [{ token: 'jane', user: { name: 'jane', groups: ['dev'] } }],
    audit: (event) => events.push(event as unknown as AuditEvent),
    ...options,
  });
  return server;
}

/** One request of the user jane. */
function asJane({ port, ca }: EmbeddedApiServer, method: string, path: string, body?: object) {
  return new Promise<{ readonly status: number; readonly text: string; readonly body: JsonObject }>(
    (resolve, reject) => {
      const headers = { Authorization: 'Bearer jane', 'Content-Type': 'application/json' };
      const outgoing = request({ port, ca, method, path, headers, agent: false }, (answer) => {
        let text = '';
        answer.on('error', reject).on('data', (chunk: Buffer) => (text += chunk.toString()));
        answer.on('end', () => {
          const parsed = (text.startsWith('{') ? JSON.parse(text) : {}) as JsonObject;
          resolve({ status: answer.statusCode ?? 0, text, body: parsed });
        });
      });
      outgoing.on('error', reject).end(body && JSON.stringify(body));
    },
  );
}

const configMaps = '/api/v1/namespaces/default/configmaps';
const mayList = { namespace: 'default', verb: 'list', resource: 'configmaps' };
const review = { spec: { resourceAttributes: mayList } };
const reviews = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';

test('the modes of a list are asked in their order: the reasons of those that do not allow come together', async () => {
  const abacPolicies = { text: '{"user":"jane","resource":"configmaps","readonly":true}', file: 'f' };
  const running = await start({ authorization: ['AlwaysDeny', 'ABAC'], abacPolicies });
  expect((await asJane(running, 'GET', configMaps)).status).toBe(200);
  const refused = await asJane(running, 'POST', configMaps, { metadata: { name: 'a' } });
  expect(refused.body).toMatchObject({
    code: 403,
    message:
      'configmaps is forbidden: User "jane" cannot create resource "configmaps" in API group "" in the namespace "default": Everything is forbidden.\nNo policy matched.',
  });
});

test('AlwaysAllow allows everything, and says so in rules reviews', async () => {
  const running = await start({ authorization: 'AlwaysAllow' });
  const path = '/apis/authorization.k8s.io/v1/selfsubjectrulesreviews';
  const { body } = await asJane(running, 'POST', path, { spec: { namespace: 'default' } });
  expect(body['status']).toEqual({
    resourceRules: [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'] }],
    nonResourceRules: [{ verbs: ['*'], nonResourceURLs: ['*'] }],
    incomplete: false,
  });
});

test('the mode Webhook: allowed, denied, and a failed call', async () => {
  let status: JsonObject | Error = { allowed: true, reason: 'on the list' };
  const running = await start({
    authorization: ['Webhook'],
    authorizationWebhook: {
      review: (body) =>
        status instanceof Error ? Promise.reject(status) : Promise.resolve({ ...body, status }),
      authorizedTtlMs: 0,
      unauthorizedTtlMs: 0,
    },
  });
  expect((await asJane(running, 'GET', configMaps)).status).toBe(200);
  expect(events.at(-1)?.annotations).toMatchObject({ 'authorization.k8s.io/reason': 'on the list' });
  expect((await asJane(running, 'POST', reviews, review)).body['status']).toEqual({
    allowed: true,
    reason: 'on the list',
  });
  status = { denied: true, reason: 'not today' };
  expect((await asJane(running, 'GET', configMaps)).body).toMatchObject({
    code: 403,
    message:
      'configmaps is forbidden: User "jane" cannot list resource "configmaps" in API group "" in the namespace "default": not today',
  });
  status = new Error('connection refused');
  const failed = await asJane(running, 'GET', configMaps);
  expect(failed).toMatchObject({
    status: 500,
    text: `Internal Server Error: "${configMaps}": connection refused\n`,
  });
  expect(events.at(-1)?.annotations).toEqual({ 'authorization.k8s.io/reason': 'internal error' });
});

test('a mode without what it needs does not start', async () => {
  await expect(start({ authorization: ['ABAC'] })).rejects.toThrow('authorization policy file not passed');
  await expect(start({ authorization: ['Webhook'] })).rejects.toThrow('authorization config file not passed');
});
