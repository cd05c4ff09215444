import { expect, test } from 'vitest';
import { silentLogger } from '../../src/base/logger.ts';
import { checkRegistry, imageFrom, type RegistryOptions, withRegistry } from '../../src/pods/registry.ts';
import type { PodProvider, SyncPodRequest } from '../../src/provider/provider.ts';
import { emptyPodStatus } from '../../src/provider/runtime-pod.ts';

test.for([
  ['busybox', 'r.io/team/busybox'],
  ['busybox:1.36', 'r.io/team/busybox:1.36'],
  ['library/busybox', 'r.io/team/busybox'],
  ['docker.io/library/busybox', 'docker.io/library/busybox'],
])('%s comes from the default repository as %s', ([image, from]) => {
  expect(imageFrom('r.io/team/', image ?? '')).toBe(from);
});

test('without a default repository an image stays as it is', () => {
  expect(imageFrom(undefined, 'busybox')).toBe('busybox');
});

async function requested(registry: RegistryOptions, secrets: Readonly<Record<string, unknown>> = {}) {
  const requests: SyncPodRequest[] = [];
  const provider = {
    name: 'rooms',
    syncPod: (request: SyncPodRequest) => {
      requests.push(request);
      return Promise.resolve({ results: [], changed: false });
    },
  } as Partial<PodProvider> as PodProvider;
  const kubeClient = {
    get: (_resource: unknown, { name }: { name: string }) =>
      name in secrets ? Promise.resolve(secrets[name]) : Promise.reject(new Error('not found')),
  } as never;
  const ref = { uid: 'u', name: 'p', namespace: 'd' };
  const pod = {
    metadata: ref,
    spec: { containers: [{ name: 'c', image: 'app' }], initContainers: [{ name: 'i', image: 'x.io/a/b' }] },
  };
  await withRegistry(provider, registry, { kubeClient, logger: silentLogger }).syncPod(
    {
      pod,
      observed: emptyPodStatus(ref),
      pullSecrets: [{ metadata: { name: 'own' } }],
      restartAllContainers: false,
    },
    new AbortController().signal,
  );
  return requests[0];
}

const authsOf = (data: string | undefined): unknown =>
  JSON.parse(Buffer.from(data ?? '', 'base64').toString());

test('the provider gets the images of the default repository, and the credentials after the pod’s own secrets', async () => {
  const request = await requested(
    {
      default: { repository: 'r.io/team', secretName: 'team-pulls' },
      allows: [{ repository: 'm.io', username: 'node', password: 'p' }, { repository: 'open.io' }],
    },
    { 'team-pulls': { metadata: { name: 'team-pulls' } } },
  );
  expect(request?.pod.spec?.containers[0]?.image).toBe('r.io/team/app');
  expect(request?.pod.spec?.initContainers?.[0]?.image).toBe('x.io/a/b');
  const names = request?.pullSecrets.map(({ metadata }) => metadata?.name);
  expect(names).toEqual(['own', 'team-pulls', 'registry-1']);
  expect(authsOf(request?.pullSecrets[2]?.data?.['.dockerconfigjson'])).toEqual({
    auths: { 'm.io': { username: 'node', password: 'p' } },
  });
});

test('a secret that cannot be read is left out', async () => {
  const request = await requested({ allows: [{ secretName: 'missing' }] });
  expect(request?.pullSecrets).toHaveLength(1);
});

test('what is no repository is refused by name', () => {
  expect(() => {
    checkRegistry({ allows: [{ repository: 'm.io' }, { repository: 'https://m.io/x' }] });
  }).toThrow(
    'registry.allows[1].repository: "https://m.io/x" is not a repository; write it like registry.example.com/team',
  );
});
