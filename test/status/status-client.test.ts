import { expect, test } from 'vitest';
import { podResource } from '../../src/api/resources.ts';
import { FakeClock } from '../../src/base/fake-clock.ts';
import { systemRandom } from '../../src/base/random.ts';
import type { Pod } from '../../src/kube/types.ts';
import { statusClient } from '../../src/status/status-client.ts';
import { LocalApi } from '../support/local-api.ts';

test('a status is patched, and the pod is deleted at once, but never another pod of its name', async () => {
  const api = new LocalApi(new FakeClock(Date.UTC(2026, 0, 1)), systemRandom);
  const made = api.create(
    podResource,
    { metadata: { name: 'a' }, spec: { nodeName: 'n', containers: [{ name: 'c', image: 'i' }] } },
    'default',
  ) as Pod;
  const client = statusClient(api.client());
  const told = await client.patchStatus('default', 'a', JSON.stringify({ status: { phase: 'Running' } }));
  expect(told.status?.phase).toBe('Running');
  expect((await client.getPod('default', 'a')).status?.phase).toBe('Running');
  await expect(client.deletePod('default', 'a', 'another-uid')).rejects.toMatchObject({ status: 409 });
  expect(api.pods()).toHaveLength(1);
  await client.deletePod('default', 'a', made.metadata?.uid ?? '');
  expect(api.pods()).toEqual([]);
  await expect(client.getPod('default', 'a')).rejects.toMatchObject({ code: 'not_found' });
});
