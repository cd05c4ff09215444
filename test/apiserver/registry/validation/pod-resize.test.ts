import { expect, test } from 'vitest';
import { resizeFaults } from '../../../../src/apiserver/registry/validation/pod-resize-validation.ts';

const resources = { limits: { cpu: '2', 'ephemeral-storage': '1Gi' }, requests: { cpu: '1' } };
const container = (name: string, more: object = {}): object => ({
  name,
  image: 'x',
  imagePullPolicy: 'Always',
  terminationMessagePath: '/t',
  terminationMessagePolicy: 'File',
  resources,
  ...more,
});
const pod = (spec: object = {}, metadata: object = {}, status: object = {}): Record<string, unknown> => ({
  metadata: { name: 'p', namespace: 'default', ...metadata },
  spec: {
    restartPolicy: 'Always',
    dnsPolicy: 'ClusterFirst',
    terminationGracePeriodSeconds: 30,
    securityContext: {},
    containers: [container('a'), container('b')],
    initContainers: [container('i')],
    ...spec,
  },
  status: { qosClass: 'Burstable', ...status },
});
const amounts = (limits: object, requests: object = { cpu: '1' }): object => ({
  resources: { limits, requests },
});
const both = (first: object): object => ({ containers: [container('a', first), container('b')] });
const init = (more: object): object => ({ initContainers: [container('i', more)] });
const more = { cpu: '3', 'ephemeral-storage': '1Gi' };
const restarts = { resizePolicy: [{ resourceName: 'cpu', restartPolicy: 'RestartContainer' }] };

test.for([
  ['more of what may change', pod(both(amounts(more))), pod(), []],
  ['memory that was not there', pod(both(amounts({ ...more, memory: '1Gi' }))), pod(), []],
  ['an init container', pod(init(amounts(more))), pod(), []],
  [
    'containers in another order',
    pod({ containers: [container('b'), container('a')] }),
    pod(),
    [
      'spec.containers[0].name: Forbidden: containers may not be renamed or reordered on resize',
      'spec.containers[1].name: Forbidden: containers may not be renamed or reordered on resize',
    ],
  ],
  [
    'an init container less',
    pod({ initContainers: [] }),
    pod(),
    ['spec.initContainers: Forbidden: initContainers may not be added or removed on resize'],
  ],
  [
    'storage that goes away',
    pod(both(amounts({ cpu: '2' }))),
    pod(),
    [
      'spec.containers[0].resources.limits: Forbidden: resource limits cannot be removed',
      'spec: Forbidden: only cpu and memory resources are mutable',
    ],
  ],
  [
    'storage of an init container',
    pod(init(amounts({ cpu: '2', 'ephemeral-storage': '2Gi' }))),
    pod(),
    [
      'spec.initContainers[0]: Forbidden: only cpu and memory resources for init or sidecar containers are mutable',
    ],
  ],
  [
    'an init container that would begin anew',
    pod(init({ ...amounts(more), ...restarts })),
    pod(init(restarts)),
    [
      'spec.initContainers[0]: Forbidden: non-sidecar init containers with a resize policy of RestartContainer cannot be resized',
    ],
  ],
  [
    'a mirror',
    pod(both(amounts(more))),
    pod({}, { annotations: { 'kubernetes.io/config.mirror': 'x' } }),
    ['[]: Forbidden: static pods cannot be resized'],
  ],
  [
    'a node that cannot',
    pod(both(amounts(more))),
    pod({}, {}, { containerStatuses: [{ name: 'a', state: { running: {} } }] }),
    ['spec: Forbidden: Pod running on node without support for resize'],
  ],
  [
    'amounts of the pod that go away',
    pod(),
    pod({ resources: { requests: { cpu: '2' } } }),
    ['spec.resources: Forbidden: pod-level resources cannot be removed'],
  ],
] as const)('a resize: %s', ([, now, old, faults]) => {
  const told = resizeFaults(now, old).map(({ field, message }) => `${field}: ${message}`);
  expect(told).toEqual(faults);
});
