import { expect, test } from 'vitest';
import { admitVolumes } from '../../src/admission/admit-result.ts';
import { buildRuntimeClasses } from '../../src/agent/runtime-class.ts';
import { ApiError } from '../../src/api/client.ts';
import type { Pod } from '../../src/kube/types.ts';
import { RuntimeClasses } from '../../src/containers/objects/runtime-class-manager.ts';

const podWith = (spec: object): Pod => ({ metadata: { name: 'p' }, spec: { containers: [], ...spec } });
const classes = (get: (...args: never[]) => Promise<unknown>) => new RuntimeClasses({ get } as never);
const failing = (error: Error) => classes(() => Promise.reject(error));

test('a pod without a runtime class has the default handler, and nobody is asked', async () => {
  expect(await failing(new Error('asked')).handlerOf(podWith({}))).toBe('');
});

test('the class says the handler', async () => {
  const get = async (_: object, { name }: { name: string }) => ({ metadata: { name }, handler: `h-${name}` });
  const known = classes(get);
  const pod = podWith({ runtimeClassName: 'fast' });
  expect(known.knownHandlerOf(pod)).toBeUndefined();
  expect(await known.handlerOf(pod)).toBe('h-fast');
  expect(known.knownHandlerOf(pod)).toBe('h-fast');
});

test('a class that is not there, or cannot be read, is told in the kubelet’s words', async () => {
  const pod = podWith({ runtimeClassName: 'fast' });
  await expect(
    failing(new ApiError(404, { reason: 'NotFound', message: 'x' })).handlerOf(pod),
  ).rejects.toThrow('runtimeclass.node.k8s.io "fast" not found');
  await expect(failing(new Error('away')).handlerOf(pod)).rejects.toThrow(
    'failed to lookup RuntimeClass fast: away',
  );
});

test('what a pod’s handler can do is known once the handler is', async () => {
  const features = { userNamespaces: false };
  const handlers = () => [
    { name: '', recursiveReadOnlyMounts: true, ...features },
    { name: 'h', recursiveReadOnlyMounts: false, ...features },
  ];
  const client = { get: async () => ({ handler: 'h' }) } as never;
  const { helper, pods } = buildRuntimeClasses({ client, node: { handlers } });
  expect(pods.supportsRecursiveReadOnly(podWith({}))).toBe(true);
  const pod = podWith({ runtimeClassName: 'fast' });
  expect(pods.supportsRecursiveReadOnly(pod)).toBe(false);
  expect(helper.supportsRecursiveReadOnly((await helper.runtimeHandler?.(pod)) ?? '')).toBe(false);
});

test('CSI volumes are refused by name, others are not', () => {
  const csi = (name: string) => ({ name, csi: { driver: `${name}.example` } });
  const mounting = (...names: readonly string[]) => [
    { name: 'c', volumeMounts: names.map((name) => ({ name, mountPath: `/${name}` })) },
  ];
  const admit = (volumes: readonly object[], ...mounted: readonly string[]) =>
    admitVolumes(podWith({ containers: mounting(...mounted), volumes }));
  expect(admit([{ name: 'v', emptyDir: {} }], 'v').admit).toBe(true);
  expect(admit([csi('a')]).admit).toBe(true); // no container mounts it
  expect(admit([csi('a'), csi('b')], 'a', 'b')).toMatchObject({
    admit: false,
    reason: 'UnsupportedVolume',
    message:
      'volume "a" needs the CSI driver "a.example", volume "b" needs the CSI driver "b.example"; CSI volumes are not supported on this node.',
  });
});
