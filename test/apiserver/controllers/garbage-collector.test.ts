import { afterEach, beforeEach, expect, test } from 'vitest';
import { EmbeddedApiServer } from '../../../src/apiserver/index.ts';
import { type Answer, call } from '../support.ts';

let server: EmbeddedApiServer;
beforeEach(async () => {
  server = await EmbeddedApiServer.start({ controllers: ['garbage-collector-controller'] });
  await call(server, 'POST', '/api/v1/namespaces', { metadata: { name: 'other' } });
});
afterEach(() => server.stop());

interface Owner {
  readonly apiVersion?: string;
  readonly name: string;
  readonly uid: string;
  readonly kind?: string;
  readonly blockOwnerDeletion?: boolean;
}
const maps = (namespace = 'default'): string => `/api/v1/namespaces/${namespace}/configmaps`;

/** Creates a config map. @returns the UID */
async function create(name: string, owners: readonly Owner[] = [], more: object = {}): Promise<string> {
  const ownerReferences = owners.map((owner) => ({ apiVersion: 'v1', kind: 'ConfigMap', ...owner }));
  const body = { metadata: { name, ...(owners.length > 0 && { ownerReferences }), ...more } };
  const { status, body: created } = await call(server, 'POST', maps(), body);
  expect(status).toBe(201);
  return (created.metadata as unknown as { uid: string }).uid;
}
const remove = (name: string, propagationPolicy?: string): Promise<Answer> =>
  call(server, 'DELETE', `${maps()}/${name}`, { ...(propagationPolicy && { propagationPolicy }) });
const stored = (): string[] => {
  server.store.flush();
  server.store.flush();
  return [...server.store.list('configmaps', 'default/')].map(({ key }) => key.replace('default/', ''));
};
const metadata = (name: string): Record<string, unknown> =>
  server.store.get('configmaps', `default/${name}`)?.object['metadata'] as Record<string, unknown>;
/** The commits that follow from a deletion. */
async function settle(): Promise<void> {
  for (let round = 0; round < 10; round++) await call(server, 'GET', '/readyz');
}

test('background: dependents of dependents go with their owner; others stay', async () => {
  const root = await create('root');
  const child = await create('child', [{ name: 'root', uid: root }]);
  await create('grandchild', [{ name: 'child', uid: child }]);
  await create('stranger');
  await remove('root', 'Background');
  await settle();
  expect(stored()).toEqual(['stranger']);
});

test('Jobs and ReplicationControllers orphan their pods unless a policy or a finalizer names another way', async () => {
  const jobs = '/apis/batch/v1/namespaces/default/jobs';
  const template = { spec: { restartPolicy: 'Never', containers: [{ name: 'main', image: 'busybox' }] } };
  const ends = async (name: string, options: object): Promise<unknown> => {
    const { body } = await call(server, 'POST', jobs, { metadata: { name }, spec: { template } });
    const { uid = '' } = body.metadata as { uid?: string };
    await create(`of-${name}`, [{ apiVersion: 'batch/v1', kind: 'Job', name, uid }]);
    await call(server, 'DELETE', `${jobs}/${name}`, options);
    await settle();
    expect(server.store.get('jobs', `default/${name}`)).toBeUndefined();
    return server.store.get('configmaps', `default/of-${name}`)?.object['metadata'];
  };
  expect(await ends('silent', {})).not.toHaveProperty('ownerReferences');
  expect(await ends('background', { propagationPolicy: 'Background' })).toBeUndefined();
  expect(stored()).toEqual(['of-silent']);
  const controllers = '/api/v1/namespaces/default/replicationcontrollers';
  const labels = { app: 'web' };
  const spec = {
    replicas: 0,
    selector: labels,
    template: { metadata: { labels }, spec: { containers: template.spec.containers } },
  };
  await call(server, 'POST', controllers, {
    metadata: { name: 'web', finalizers: ['foregroundDeletion'] },
    spec,
  });
  const { body } = await call(server, 'DELETE', `${controllers}/web?dryRun=All`, {});
  expect(body.metadata).toMatchObject({ finalizers: ['foregroundDeletion'] });
});

test('orphan: dependents lose the reference and stay', async () => {
  const root = await create('root');
  await create('child', [{ name: 'root', uid: root }]);
  await remove('root', 'Orphan');
  await settle();
  expect(stored()).toEqual(['child']);
  expect(metadata('child')['ownerReferences']).toBeUndefined();
});

test('foreground: the owner waits for dependents that block, not for others', async () => {
  const root = await create('root');
  const held = { finalizers: ['example.com/held'] };
  await create('blocking', [{ name: 'root', uid: root, blockOwnerDeletion: true }], held);
  await create('loose', [{ name: 'root', uid: root }], held);
  await remove('root', 'Foreground');
  await settle();
  expect(stored()).toEqual(['blocking', 'loose', 'root']);
  expect(metadata('root')['finalizers']).toEqual(['foregroundDeletion']);
  expect(metadata('loose')['deletionTimestamp']).toBeDefined();
  const free = { metadata: { finalizers: null } };
  await call(server, 'PATCH', `${maps()}/blocking`, free, 'application/merge-patch+json');
  await settle();
  expect(stored()).toEqual(['loose']);
});

test('foreground goes through a circle of owners', async () => {
  const first = await create('first');
  const second = await create('second', [{ name: 'first', uid: first, blockOwnerDeletion: true }]);
  const owner = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    name: 'second',
    uid: second,
    blockOwnerDeletion: true,
  };
  const circle = { metadata: { ownerReferences: [owner] } };
  await call(server, 'PATCH', `${maps()}/first`, circle, 'application/merge-patch+json');
  await remove('first', 'Foreground');
  await settle();
  expect(stored()).toEqual([]);
});

test('an owner that does not exist, or another one of its name, is absent; one of an unknown kind is not', async () => {
  const root = await create('root');
  await create('of-nothing', [{ name: 'never', uid: 'u1' }]);
  await create('of-namesake', [{ name: 'root', uid: 'u2' }]);
  await create('of-both', [
    { name: 'root', uid: root },
    { name: 'never', uid: 'u1' },
  ]);
  await create('of-unknown', [{ kind: 'Unheard', name: 'never', uid: 'u3' }]);
  await settle();
  expect(stored()).toEqual(['of-both', 'of-unknown', 'root']);
  expect(metadata('of-both')['ownerReferences']).toEqual([
    { apiVersion: 'v1', kind: 'ConfigMap', name: 'root', uid: root },
  ]);
});

test('objects that a snapshot brings back are collected with their owner', async () => {
  const snapshot = server.snapshot();
  const root = await create('root');
  await create('child', [{ name: 'root', uid: root }]);
  const full = server.snapshot();
  server.restore(snapshot);
  await settle();
  expect(stored()).toEqual([]);
  server.restore(full);
  await settle();
  expect(stored()).toEqual(['child', 'root']);
  await remove('root');
  await settle();
  expect(stored()).toEqual([]);
});
