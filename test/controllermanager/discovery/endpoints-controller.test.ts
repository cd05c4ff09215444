import { afterEach, expect, test } from 'vitest';
import { kinds } from '../../../src/controller/kinds.ts';
import type { Client } from '../../../src/controller/types.ts';
import { cluster, deployment, endAll, eventually, podsOf } from '../support.ts';

afterEach(endAll);

const service = (name: string, spec: object = {}) => ({
  metadata: { namespace: 'default', name },
  spec: { ports: [{ port: 80 }], ...spec },
});
const slicesOf = (client: Client, name: string) =>
  client.list(kinds.EndpointSlice, { namespace: 'default', labels: { 'kubernetes.io/service-name': name } });

test('the pods of a service are in a slice and in Endpoints, and leave them', async () => {
  const { client } = await cluster();
  await client.create(kinds.Deployment, deployment('web', { replicas: 2 }));
  await client.create(kinds.Service, service('web', { selector: { app: 'web' } }));
  const [slice] = await eventually(
    () => slicesOf(client, 'web'),
    (all) => all[0]?.endpoints?.filter(({ conditions }) => conditions?.ready).length === 2,
  );
  expect(slice?.endpoints?.[0]).toMatchObject({ nodeName: 'n1', addresses: ['10.0.0.1'] });
  const endpoints = () => client.get(kinds.Endpoints, { namespace: 'default', name: 'web' });
  await eventually(endpoints, ({ subsets }) => subsets?.[0]?.addresses?.length === 2);
  const [pod] = await podsOf(client, 'web');
  await client.patch(kinds.Pod, pod ?? {}, {
    type: 'merge',
    data: () => ({ metadata: { labels: { app: 'other' } } }),
  });
  await eventually(endpoints, ({ subsets }) =>
    Boolean(subsets?.[0]?.addresses?.every(({ targetRef }) => targetRef?.name !== pod?.metadata?.name)),
  );
  await client.delete(kinds.Service, { namespace: 'default', name: 'web' });
  await eventually(
    () => client.list(kinds.Endpoints, { namespace: 'default' }),
    (all) => !all.some(({ metadata }) => metadata?.name === 'web'),
  );
  // their owner is gone: the garbage collector deletes them
  await eventually(
    () => slicesOf(client, 'web'),
    (all) => all.length === 0,
  );
});

test('Endpoints of a service without a selector are mirrored', async () => {
  const { client } = await cluster();
  await client.create(kinds.Service, service('db'));
  const endpoints = {
    metadata: { namespace: 'default', name: 'db' },
    subsets: [{ addresses: [{ ip: '10.1.2.3' }], ports: [{ port: 5432 }] }],
  };
  await client.create(kinds.Endpoints, endpoints);
  const [slice] = await eventually(
    () => slicesOf(client, 'db'),
    (all) => all.length === 1,
  );
  expect(slice).toMatchObject({ addressType: 'IPv4', endpoints: [{ addresses: ['10.1.2.3'] }] });
  await client.delete(kinds.Endpoints, endpoints.metadata);
  await eventually(
    () => slicesOf(client, 'db'),
    (all) => all.length === 0,
  );
});
