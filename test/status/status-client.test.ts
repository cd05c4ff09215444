import { expect, test } from 'vitest';
import { intercept } from '../../src/api/interceptor.ts';
import { knownObjects } from '../../src/api/cache/known-objects.ts';
import { podResource } from '../../src/api/resources.ts';
import { FakeClock } from '../../src/base/fake-clock.ts';
import { systemRandom } from '../../src/base/random.ts';
import type { Pod } from '../../src/kube/types.ts';
import { statusClient } from '../../src/status/status-client.ts';
import { LocalApi } from '../../src/conformance/node/local-api.ts';

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

/** A pod in an API server, what a watch that is moved by hand has shown of it, and the requests that are made. */
function watched() {
  const api = new LocalApi(new FakeClock(Date.UTC(2026, 0, 1)), systemRandom);
  const requests: string[] = [];
  const client = intercept(api.client(), {
    call: ({ verb, subresource = '' }, next) => {
      requests.push(`${verb} ${subresource}`.trim());
      return next();
    },
  });
  const cache = new Map<string, Pod>();
  const known = knownObjects((key: string) => cache.get(key));
  const make = (): Pod =>
    api.create(
      podResource,
      { metadata: { name: 'a' }, spec: { nodeName: 'n', containers: [{ name: 'c', image: 'i' }] } },
      'default',
    );
  const pod = make();
  return {
    api,
    make,
    pod,
    requests,
    statuses: statusClient(client, { knownObjects: known, fromWatch: true }),
    see: (seen: Pod) => cache.set('default/a', seen),
  };
}

const running = (uid = ''): string => JSON.stringify({ metadata: { uid }, status: { phase: 'Running' } });

test('told from the watch, a pod is asked for only until it is seen', async () => {
  const { statuses, requests, pod, see } = watched();
  expect(await statuses.getPod('default', 'a')).toMatchObject({ metadata: { uid: pod.metadata?.uid } });
  see(pod);
  expect(await statuses.getPod('default', 'a')).toBe(pod);
  expect(requests).toEqual(['get']);
});

test('told from the watch, what a patch was answered counts until the watch shows more', async () => {
  const { statuses, requests, pod, see, api } = watched();
  see(pod);
  const told = await statuses.patchStatus('default', 'a', running(pod.metadata?.uid));
  expect(await statuses.getPod('default', 'a')).toBe(told);
  const next = api.patch(
    { resource: podResource, ref: { namespace: 'default', name: 'a' } },
    { type: 'merge', body: { metadata: { labels: { b: 'c' } } } },
  ) as Pod;
  see(next);
  expect(await statuses.getPod('default', 'a')).toBe(next);
  expect(requests).toEqual(['patch status']);
});

test('told from the watch, a pod whose patch was refused is asked for, and one that has another UID never patched', async () => {
  const { statuses, requests, pod, see, api, make } = watched();
  see(pod);
  await statuses.deletePod('default', 'a', pod.metadata?.uid ?? '');
  await expect(statuses.patchStatus('default', 'a', running(pod.metadata?.uid))).rejects.toMatchObject({
    code: 'not_found',
  });
  const other = make();
  await expect(statuses.patchStatus('default', 'a', running(pod.metadata?.uid))).rejects.toMatchObject({
    status: 422,
  });
  expect(api.pods()[0]?.status?.phase).toBe('Pending');
  expect((await statuses.getPod('default', 'a')).metadata?.uid).toBe(other.metadata?.uid);
  expect(requests).toEqual(['delete', 'patch status', 'patch status', 'get']);
});
