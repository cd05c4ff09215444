import { expect, test } from 'vitest';
import { hugePageLimits } from '../../../../src/containers/kuberuntime/config/huge-pages.ts';
import type { ResourceList } from '../../../../src/kube/resources/resources.ts';

const limitsOf = (pod: ResourceList | undefined, own: ResourceList): readonly number[] => {
  const container = { name: 'c', resources: { limits: own } };
  const spec = { containers: [container], ...(pod && { resources: { limits: pod } }) };
  return hugePageLimits({ spec }, container, ['2MB', '1GB']).map(({ limit }) => limit ?? 0);
};

test.for<[string, ResourceList | undefined, ResourceList, readonly number[]]>([
  ['none', undefined, {}, [0, 0]],
  ['its own', undefined, { 'hugepages-2Mi': '4Mi' }, [4 << 20, 0]],
  ['the pod’s', { 'hugepages-1Gi': '1Gi' }, {}, [0, 1 << 30]],
  ['its own before the pod’s', { 'hugepages-2Mi': '8Mi' }, { 'hugepages-2Mi': '4Mi' }, [4 << 20, 0]],
  [
    'its own of one size and the pod’s of another',
    { 'hugepages-1Gi': '1Gi' },
    { 'hugepages-2Mi': '4Mi' },
    [4 << 20, 1 << 30],
  ],
  [
    'the pod’s beside a size that the host does not have',
    { 'hugepages-2Mi': '8Mi' },
    { 'hugepages-64Ki': '64Ki' },
    [8 << 20, 0],
  ],
])('a container has the huge pages: %s', ([, pod, own, expected]) => {
  expect(limitsOf(pod, own)).toEqual(expected);
});
