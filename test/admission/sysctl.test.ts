import { expect, test } from 'vitest';
import { SysctlAllowlist } from '../../src/admission/sysctl.ts';

test.for(['kernel.shm*', 'kernel.msg*', 'kernel.shmmax', 'net.*', 'net.core.somaxconn', 'fs.mqueue.*'])(
  'the kernel keeps %s apart by namespace',
  (pattern) => {
    expect(() => new SysctlAllowlist([pattern])).not.toThrow();
  },
);

test.for(['kernel.shm_other', 'kernel.msgother', 'kernel.shmm*', 'kernel.sem*x', 'net*', 'vm.swappiness'])(
  'what the kernel is not known to keep apart, as %s, cannot be allowed',
  (pattern) => {
    expect(() => new SysctlAllowlist([pattern])).toThrow(/not known to be namespaced|must have at most/);
  },
);
