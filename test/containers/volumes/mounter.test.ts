import { expect, test } from 'vitest';
import { isShared, mountFault, tmpfsOptions } from '../../../src/containers/volumes/mounter.ts';

const mountInfo = `22 1 254:0 / / rw,relatime - ext4 /dev/root rw
30 22 0:25 / /var rw,relatime shared:7 - ext4 /dev/b rw
31 30 0:26 / /var/lib/private rw,relatime master:7 - ext4 /dev/c rw
32 22 0:27 / /srv rw,relatime shared:8 - ext4 /dev/d rw
33 32 0:28 / /srv rw,relatime - tmpfs over rw
34 22 0:29 / /with\\040space rw,relatime shared:9 master:2 - tmpfs x rw
`;

test.for([
  ['/etc', false],
  ['/var', true],
  ['/var/lib/kubelet', true],
  ['/variable', false],
  ['/var/lib/private/x', false],
  ['/srv/x', false],
  ['/with space/x', true],
] as const)('%s: what is mounted there is passed on: %s', ([path, shared]) => {
  expect(isShared(mountInfo, path)).toBe(shared);
});

const everyId = '         0          0 4294967295\n';
test.for([
  ['6.4.0-1-generic', everyId, ['size=8', 'noswap']],
  ['7.0.1', everyId, ['size=8', 'noswap']],
  ['6.3.9', everyId, ['size=8']],
  ['5.15.0', everyId, ['size=8']],
  ['6.18.0', '         0       1000          1\n', ['size=8']],
] as const)('on Linux %s with the ids %j memory is mounted with %j', ([kernel, uidMap, options]) => {
  expect(tmpfsOptions(8, kernel, uidMap)).toEqual(options);
});

test('memory without a bound has none, or the kernel’s own', () => {
  expect(tmpfsOptions(undefined, '6.1.0', everyId)).toEqual([]);
});

test.for([
  [
    'mount',
    { exitCode: 32, stdout: '', stderr: 'no route\n' },
    'mount failed: exit status 32\nMounting command: mount\nMounting arguments: a b\nOutput: no route\n',
  ],
  [
    'mount',
    { signal: 'SIGKILL', stdout: '', stderr: '' },
    'mount failed: it was ended after 30 s (SIGKILL)\nMounting command: mount\nMounting arguments: a b\nOutput: ',
  ],
  [
    'mount',
    'spawn mount ENOENT',
    'mount failed: spawn mount ENOENT\nMounting command: mount\nMounting arguments: a b\nOutput: ',
  ],
  [
    'umount',
    { exitCode: 32, stdout: 'b: ', stderr: 'busy\n' },
    'unmount failed: exit status 32\nUnmounting arguments: b\nOutput: b: busy\n',
  ],
] as const)('%s that fails with %j is told in the kubelet’s words', ([command, reason, message]) => {
  expect(mountFault(command, ['a', 'b'], reason)).toBe(message);
});
