import { expect, test } from 'vitest';
import { type AdmissionDeps, admitPod } from '../../src/admission/admission-chain.ts';
import { SysctlAllowlist } from '../../src/admission/sysctl.ts';
import type { Node, Pod } from '../../src/kube/types.ts';
import type { PodProvider } from '../../src/provider/provider.ts';

const node: Node = {
  metadata: { name: 'n' },
  status: { allocatable: { cpu: '4', memory: '8Gi', pods: '110' } },
};
const pod: Pod = {
  metadata: { name: 'web', namespace: 'default', uid: 'u-1' },
  spec: { nodeName: 'n', containers: [{ name: 'main', image: 'any' }] },
};

const depsOf = (admit: PodProvider['admit']): AdmissionDeps => ({
  getNode: () => node,
  pressure: () => [],
  sysctls: new SysctlAllowlist([]),
  appArmorFault: () => undefined,
  isShuttingDown: () => false,
  preempt: () => Promise.resolve(),
  ledger: { size: 0, used: () => 0, has: () => false, complete: true },
  provider: { name: 'test', ...(admit && { admit }) },
  recorder: { event: () => undefined },
  allocatedPod: (one) => one,
  isSettled: () => true,
});

test('the other pods are listed only for a provider that looks at them', async () => {
  let lists = 0;
  const otherPods = (): readonly Pod[] => {
    lists += 1;
    return [{ ...pod, metadata: { ...pod.metadata, uid: 'u-2' } }];
  };
  const admission = { operation: 'add', otherPods } as const;
  const blind: PodProvider['admit'] = (_pod, _others) => ({ admit: true });
  expect(await admitPod(depsOf(blind), pod, admission)).toMatchObject({ admit: true });
  expect(lists).toBe(0);
  const crowded: PodProvider['admit'] = (_pod, others) =>
    others.some(({ metadata }) => metadata?.uid === 'u-2')
      ? { admit: false, reason: 'Crowded', message: `${others.length} others` }
      : { admit: true };
  expect(await admitPod(depsOf(crowded), pod, admission)).toMatchObject({
    admit: false,
    reason: 'Crowded',
    message: '1 others',
  });
  expect(lists).toBe(1);
});
