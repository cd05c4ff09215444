import { expect, test } from 'vitest';
import { isShared } from '../../src/volumes/mounter.ts';

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
