import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { EmbeddedApiServer } from '../../../src/apiserver/index.ts';
import { call, type Answer } from '../support.ts';

const group = 'rbac.authorization.k8s.io';
const base = `/apis/${group}/v1`;
const alice = { kind: 'User', apiGroup: group, name: 'alice' };
const binding = (name: string, role: string): object => ({
  metadata: { name },
  roleRef: { apiGroup: group, kind: 'ClusterRole', name: role },
  subjects: [alice],
});
const role = (name: string, ...rules: readonly object[]): object => ({ metadata: { name }, rules });
const on = (verbs: string, resource: string, apiGroup = '', ...resourceNames: readonly string[]): object => ({
  verbs: verbs.split(','),
  apiGroups: [apiGroup],
  resources: [resource],
  ...(resourceNames.length > 0 && { resourceNames }),
});

let server: EmbeddedApiServer;
const asAdmin = (method: string, path: string, body?: unknown): Promise<Answer> =>
  call(server, method, path, body);
const asAlice = (
  method: string,
  path: string,
  body?: unknown,
  type = 'application/json',
): Promise<[number, string]> =>
  call(server, method, path, body, type, {
    'Impersonate-User': 'alice',
    'Impersonate-Group': 'dev',
  }).then(({ status, body: answer }) => [
    status,
    (answer as { readonly message?: string }).message?.replace(/.* is forbidden: /, '') ?? '',
  ]);
const attempting = (...lines: readonly string[]): string =>
  [
    'user "alice" (groups=["dev" "system:authenticated"]) is attempting to grant RBAC permissions not currently held:',
    ...lines,
  ].join('\n');

beforeAll(async () => {
  server = await EmbeddedApiServer.start();
  const made = [
    await asAdmin(
      'POST',
      `${base}/clusterroles`,
      role(
        'writer',
        on('create,get,update,patch', '*', group),
        on('get,list', 'pods'),
        on('get', 'deployments', 'apps', 'a', 'b'),
        { verbs: ['get'], nonResourceURLs: ['/x/*'] },
      ),
    ),
    await asAdmin('POST', `${base}/clusterrolebindings`, binding('writer', 'writer')),
  ];
  expect(made.map(({ status }) => status)).toEqual([201, 201]);
});
afterAll(() => server.stop());

describe('a user who may write roles', () => {
  test('cannot grant what he does not have', async () => {
    const everything = role('e', on('*', '*', '*'));
    expect(await asAlice('POST', `${base}/clusterroles`, everything)).toEqual([
      403,
      attempting('{APIGroups:["*"], Resources:["*"], Verbs:["*"]}'),
    ]);
    const more = role('m', on('delete,get,watch', 'pods'), on('get', 'deployments', 'apps', 'a', 'c'), {
      verbs: ['get', 'post'],
      nonResourceURLs: ['/x/y'],
    });
    expect(await asAlice('POST', `${base}/namespaces/default/roles`, more)).toEqual([
      403,
      attempting(
        '{APIGroups:[""], Resources:["pods"], Verbs:["delete" "watch"]}',
        '{APIGroups:["apps"], Resources:["deployments"], ResourceNames:["c"], Verbs:["get"]}',
        '{NonResourceURLs:["/x/y"], Verbs:["post"]}',
      ),
    ]);
  });

  test('can grant what he has, and cannot widen it later', async () => {
    const mine = role('mine', on('get', 'pods'), on('get', 'deployments', 'apps', 'a'));
    expect((await asAlice('POST', `${base}/clusterroles`, mine))[0]).toBe(201);
    const wider = role('mine', on('get', 'secrets'));
    expect((await asAlice('PUT', `${base}/clusterroles/mine`, wider))[0]).toBe(403);
    const merge = 'application/merge-patch+json';
    const patch = (body: object): Promise<[number, string]> =>
      asAlice('PATCH', `${base}/clusterroles/cluster-admin`, body, merge);
    expect((await patch({ metadata: { labels: { a: 'b' } } }))[0]).toBe(403);
    // what garbage collection needs is no escalation
    expect((await patch({ metadata: { finalizers: ['x/y'] } }))[0]).toBe(200);
    expect((await patch({ metadata: { finalizers: null } }))[0]).toBe(200);
  });

  test('cannot aggregate roles', async () => {
    const aggregation = { clusterRoleSelectors: [{ matchLabels: { a: 'b' } }] };
    const all = { metadata: { name: 'all' }, aggregationRule: aggregation };
    expect(await asAlice('POST', `${base}/clusterroles`, all)).toEqual([
      403,
      'must have cluster-admin privileges to use the aggregationRule',
    ]);
  });

  test('cannot bind a role with more permissions, nor one that does not exist', async () => {
    const [status, message] = await asAlice('POST', `${base}/clusterrolebindings`, binding('b', 'view'));
    expect(status).toBe(403);
    expect(message).toMatch(/^user "alice" .* not currently held:\n\{APIGroups:\[""\]/);
    const own = await asAlice('POST', `${base}/namespaces/default/rolebindings`, binding('own', 'writer'));
    expect(own[0]).toBe(201);
    expect(await asAlice('POST', `${base}/clusterrolebindings`, binding('none', 'none'))).toEqual([
      404,
      'clusterrole.rbac.authorization.k8s.io "none" not found',
    ]);
  });

  test('can escalate and bind with the verbs for it', async () => {
    const verbs = role(
      'verbs',
      on('escalate', 'clusterroles', group, 'mine'),
      on('bind', 'clusterroles', group, 'view'),
    );
    expect((await asAdmin('POST', `${base}/clusterroles`, verbs)).status).toBe(201);
    expect((await asAdmin('POST', `${base}/clusterrolebindings`, binding('verbs', 'verbs'))).status).toBe(
      201,
    );
    const wider = role('mine', on('get', 'secrets'));
    expect((await asAlice('PUT', `${base}/clusterroles/mine`, wider))[0]).toBe(200);
    expect((await asAlice('POST', `${base}/clusterroles`, role('other', on('get', 'secrets'))))[0]).toBe(403);
    expect((await asAlice('POST', `${base}/clusterrolebindings`, binding('b', 'view')))[0]).toBe(201);
  });
});
