import { expect, test } from 'vitest';
import { safeSysctlsOf, SysctlAllowlist } from '../../src/admission/sysctl.ts';

test.for(['kernel.shm*', 'kernel.msg*', 'kernel.shmmax', 'net.*', 'net.core.somaxconn', 'fs.mqueue.*'])(
  'the kernel keeps %s apart by namespace',
  (pattern) => {
    expect(() => new SysctlAllowlist([pattern])).not.toThrow();
  },
);

test.for([
  'kernel.shm_other',
  'kernel.msgother',
  'kernel.shmm*',
  'kernel.sem*x',
  'net*',
  'vm.swappiness',
  'constructor',
])('what the kernel is not known to keep apart, as %s, cannot be allowed', (pattern) => {
  expect(() => new SysctlAllowlist([pattern])).toThrow(/not known to be namespaced|must have at most/);
});

test.for([
  ['6.1.0-18-amd64', 12],
  ['v4.5', 9],
  ['4.5.9', 9],
  ['3.15.10', 5],
  ['5', 5],
  ['05.4', 5],
  ['', 5],
] as const)('on kernel "%s" %d sysctls are safe', ([kernel, many]) => {
  expect(safeSysctlsOf(kernel)).toHaveLength(many);
});
