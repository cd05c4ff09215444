import { afterAll, beforeAll, expect, test } from 'vitest';
import { FakeClock } from '../../../src/base/fake-clock.ts';
import { EmbeddedApiServer } from '../../../src/apiserver/index.ts';
import { call } from '../support.ts';

const clock = new FakeClock(Date.UTC(2026, 0, 1));
let server: EmbeddedApiServer;
beforeAll(async () => {
  server = await EmbeddedApiServer.start({ clock });
});
afterAll(() => server.stop());

interface Namespace {
  readonly status: {
    readonly phase: string;
    readonly conditions: readonly {
      readonly type: string;
      readonly status: string;
      readonly reason: string;
      readonly message: string;
    }[];
  };
}
const at = (name: string): string => `/api/v1/namespaces/${name}`;
const conditionsOf = async (name: string) => {
  const { body } = await call(server, 'GET', at(name));
  return (body as unknown as Namespace).status.conditions;
};
const create = async (path: string, object: object): Promise<void> => {
  expect((await call(server, 'POST', path, object)).status).toBe(201);
};
const patch = (path: string, body: object) =>
  call(server, 'PATCH', path, body, 'application/merge-patch+json');

test('the conditions of a terminating namespace say what is left and which finalizers it waits for', async () => {
  await create('/api/v1/namespaces', { metadata: { name: 'held' } });
  for (const name of ['one', 'two'])
    await create(`${at('held')}/configmaps`, { metadata: { name, finalizers: ['example.com/hold'] } });
  await create(`${at('held')}/secrets`, { metadata: { name: 'free' } });
  await call(server, 'DELETE', at('held'));
  const conditions = await conditionsOf('held');
  expect(conditions.map(({ type, status, reason, message }) => [type, status, reason, message])).toEqual([
    [
      'NamespaceDeletionDiscoveryFailure',
      'False',
      'ResourcesDiscovered',
      'All resources successfully discovered',
    ],
    [
      'NamespaceDeletionGroupVersionParsingFailure',
      'False',
      'ParsedGroupVersions',
      'All legacy kube types successfully parsed',
    ],
    [
      'NamespaceDeletionContentFailure',
      'False',
      'ContentDeleted',
      'All content successfully deleted, may be waiting on finalization',
    ],
    [
      'NamespaceContentRemaining',
      'True',
      'SomeResourcesRemain',
      'Some resources are remaining: configmaps. has 2 resource instances',
    ],
    [
      'NamespaceFinalizersRemaining',
      'True',
      'SomeFinalizersRemain',
      'Some content in the namespace has finalizers remaining: example.com/hold in 2 resource instances',
    ],
  ]);
  await patch(`${at('held')}/configmaps/one`, { metadata: { finalizers: null } });
  expect((await conditionsOf('held'))[3]?.message).toContain('has 1 resource instances');
  await patch(`${at('held')}/configmaps/two`, { metadata: { finalizers: null } });
  expect((await call(server, 'GET', at('held'))).status).toBe(404);
});

test('the content stays until the pods are gone, and pods that outlast their grace period are reported', async () => {
  await create('/api/v1/namespaces', { metadata: { name: 'busy' } });
  const pod = {
    metadata: { name: 'web' },
    spec: {
      nodeName: 'n1',
      terminationGracePeriodSeconds: 30,
      containers: [{ name: 'main', image: 'image:1' }],
    },
  };
  await create(`${at('busy')}/pods`, pod);
  await create(`${at('busy')}/configmaps`, { metadata: { name: 'used' } });
  await call(server, 'DELETE', at('busy'));
  expect((await conditionsOf('busy')).map(({ status }) => status)).toEqual(Array(5).fill('False'));
  expect((await call(server, 'GET', `${at('busy')}/configmaps/used`)).status).toBe(200);
  await clock.advance(31_000);
  expect((await conditionsOf('busy'))[2]).toMatchObject({
    status: 'True',
    reason: 'ContentDeletionFailed',
    message:
      'Failed to delete all resource types, 1 remaining: unexpected items still remain in namespace: busy for gvr: /v1, Resource=pods',
  });
  await call(server, 'DELETE', `${at('busy')}/pods/web`, { gracePeriodSeconds: 0 });
  expect((await call(server, 'GET', at('busy'))).status).toBe(404);
});
