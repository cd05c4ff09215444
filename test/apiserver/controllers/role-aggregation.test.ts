import { afterAll, beforeAll, expect, test } from 'vitest';
import { EmbeddedApiServer } from '../../../src/apiserver/index.ts';
import { call } from '../support.ts';

const roles = '/apis/rbac.authorization.k8s.io/v1/clusterroles';
let server: EmbeddedApiServer;
beforeAll(async () => {
  server = await EmbeddedApiServer.start();
});
afterAll(() => server.stop());

interface Role {
  readonly rules: readonly { readonly resources: readonly string[] }[] | null;
}
const rulesOf = async (name: string): Promise<Role['rules']> =>
  ((await call(server, 'GET', `${roles}/${name}`)).body as unknown as Role).rules;

test('view, edit and admin consist of the roles that they select', async () => {
  const [view, edit, admin] = [await rulesOf('view'), await rulesOf('edit'), await rulesOf('admin')];
  expect(view).toHaveLength(12);
  for (const rule of view ?? []) expect(edit).toContainEqual(rule);
  for (const rule of edit ?? []) expect(admin).toContainEqual(rule);
  expect(admin?.some(({ resources }) => resources.includes('rolebindings'))).toBe(true);
  expect(edit?.some(({ resources }) => resources.includes('rolebindings'))).toBe(false);
});

test('a new role with the label becomes a part of each, and vanishes from it with its deletion', async () => {
  const rule = { verbs: ['get'], apiGroups: ['example.com'], resources: ['widgets'] };
  const labels = { 'rbac.authorization.k8s.io/aggregate-to-view': 'true' };
  expect(
    (await call(server, 'POST', roles, { metadata: { name: 'widgets', labels }, rules: [rule] })).status,
  ).toBe(201);
  for (const name of ['view', 'edit', 'admin']) expect(await rulesOf(name)).toContainEqual(rule);
  expect((await call(server, 'DELETE', `${roles}/widgets`)).status).toBe(200);
  for (const name of ['view', 'edit', 'admin']) expect(await rulesOf(name)).not.toContainEqual(rule);
});

test('without the controller they have no rules', async () => {
  const bare = await EmbeddedApiServer.start({ controllers: ['*', '-clusterrole-aggregation-controller'] });
  try {
    const { body } = await call(bare, 'GET', `${roles}/view`);
    expect(body).toMatchObject({ rules: null });
  } finally {
    await bare.stop();
  }
});
