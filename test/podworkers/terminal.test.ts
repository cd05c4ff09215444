import { expect, test } from 'vitest';
import { emptyStatus } from '../../src/pleg/pod-cache.ts';
import { isTerminalPhase } from '../../src/kube/pod-phase.ts';
import { isRuntimeIdle } from '../../src/podworkers/terminal.ts';
import type { RuntimePodStatus } from '../../src/provider/runtime-pod.ts';

const container = (state: 'running' | 'exited') =>
  ({ id: 'c', name: 'c', state }) as RuntimePodStatus['containerStatuses'][number];
const sandbox = (state: 'SANDBOX_READY' | 'SANDBOX_NOTREADY') =>
  ({ id: 's', state }) as RuntimePodStatus['sandboxStatuses'][number];

test.for([
  { says: 'nothing at all', containers: [], sandboxes: [], idle: true },
  {
    says: 'only ended containers',
    containers: [container('exited')],
    sandboxes: [sandbox('SANDBOX_NOTREADY')],
    idle: true,
  },
  {
    says: 'one container that runs among others',
    containers: [container('exited'), container('running')],
    sandboxes: [],
    idle: false,
  },
  {
    says: 'a ready sandbox without containers',
    containers: [],
    sandboxes: [sandbox('SANDBOX_NOTREADY'), sandbox('SANDBOX_READY')],
    idle: false,
  },
])('$says: idle is $idle (R90)', ({ containers, sandboxes, idle }) => {
  expect(
    isRuntimeIdle({ ...emptyStatus('u'), containerStatuses: containers, sandboxStatuses: sandboxes }),
  ).toBe(idle);
});

test.for([
  ['Succeeded', true],
  ['Failed', true],
  ['Running', false],
  ['Pending', false],
  [undefined, false],
] as const)('nothing leaves the phase %s: %s', ([phase, terminal]) => {
  expect(isTerminalPhase(phase)).toBe(terminal);
});
