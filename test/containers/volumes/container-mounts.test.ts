import { expect, test } from 'vitest';
import type { Container } from '../../../src/kube/types.ts';
import { containerMounts, mountsHostsFile } from '../../../src/containers/volumes/container-mounts.ts';

const bare: Container = { name: 'a' };
const own: Container = { name: 'a', volumeMounts: [{ name: 'v', mountPath: '/etc/hosts' }] };

test.for<[says: string, hostNetwork: boolean, container: Container, podIps: string[], mounted: boolean]>([
  ['has an address', false, bare, ['10.0.0.1'], true],
  ['has no address yet', false, bare, [], false],
  ['is on the host’s network, whose sandboxes tell of no address', true, bare, [], true],
  ['mounts one of its own', false, own, ['10.0.0.1'], false],
  ['mounts one of its own, on the host’s network', true, own, [], false],
])('the managed /etc/hosts of a container whose pod %s', ([, hostNetwork, container, podIps, mounted]) => {
  expect(mountsHostsFile({ spec: { containers: [container], hostNetwork } }, container, podIps)).toBe(
    mounted,
  );
});

test.for([
  ['a//b/', '/vol/a/b', 'rel/../x/', '/x'],
  ['./a', '/vol/a', '../x', '/x'],
  ['', '/vol', '/x/../y/', '/x/../y/'],
] as const)(
  'the part %j is that of the cleaned path %s, and %j is mounted at %s',
  ([subPath, hostPath, mountPath, at]) => {
    const [planned] = containerMounts({
      container: { name: 'a', volumeMounts: [{ name: 'v', mountPath, subPath }] },
      volumes: new Map([['v', { path: '/vol' }]]),
      envs: [],
      supportsRecursiveReadOnly: false,
    });
    expect([planned?.mount.hostPath, planned?.mount.containerPath]).toEqual([hostPath, at]);
  },
);

test('of equal variables the last counts for subPathExpr, and thousands are not searched for each mount', () => {
  let reads = 0;
  const count = 1000;
  const envs = Array.from({ length: count }, (_, i) => ({
    value: `${i}`,
    get name() {
      reads++;
      return `V${i % 500}`;
    },
  }));
  const volumeMounts = Array.from({ length: count }, (_, i) => ({
    name: 'v',
    mountPath: `/m${i}`,
    subPathExpr: '$(V7)',
  }));
  const planned = containerMounts({
    container: { name: 'a', volumeMounts },
    volumes: new Map([['v', { path: '/vol' }]]),
    envs,
    supportsRecursiveReadOnly: false,
  });
  expect(new Set(planned.map(({ subPath }) => subPath))).toEqual(new Set(['507']));
  expect(reads).toBeLessThan(4 * count);
});
