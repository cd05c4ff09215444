import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  type PodResourceMap,
  podResourcesOf,
  sameRequirements,
  withPodResources,
} from '../../../src/kube/resources/pod-resources.ts';
import {
  decodeResourceCheckpoint,
  encodeResourceCheckpoint,
} from '../../../src/kube/resources/resource-checkpoint.ts';
import { formatQuantity } from '../../../src/kube/resources/quantity.ts';
import { podRequestOf, podRequests, resourceListOf } from '../../../src/kube/resources/resources.ts';
import type { Pod } from '../../../src/kube/types.ts';

const podWith = (cpu: string, more: object = {}): Pod => ({
  metadata: { uid: 'u' },
  spec: {
    initContainers: [
      { name: 'setup', resources: { requests: { cpu } } },
      { name: 'sidecar', restartPolicy: 'Always', resources: { requests: { cpu } } },
    ],
    containers: [{ name: 'main', resources: { requests: { cpu } } }],
    ...more,
  },
});

test.for([
  [{ requests: { cpu: '1' } }, { requests: { cpu: '1000m' } }, true],
  [{ requests: { cpu: '1' } }, { requests: { cpu: '2' } }, false],
  [{ requests: { cpu: '1' } }, { limits: { cpu: '1' } }, false],
  [{ requests: { cpu: '1' } }, { requests: { cpu: '1', memory: '1' } }, false],
  [{ requests: {} }, undefined, true],
  [{ claims: [{ name: 'a' }] }, { claims: [{ name: 'b' }] }, false],
  [{ claims: [{ name: 'a' }] }, {}, false],
] as const)('%o and %o say the same: %s', ([a, b, wanted]) => {
  expect(sameRequirements(a, b)).toBe(wanted);
});

test('a pod shows what it was given: regular containers, sidecars and the steps of its start', () => {
  const given = podResourcesOf(podWith('1'));
  const desired = podWith('2');
  const shown = withPodResources(desired, given);
  const cpus = [...(shown.spec?.initContainers ?? []), ...(shown.spec?.containers ?? [])];
  expect(cpus.map(({ resources }) => resources?.requests?.['cpu'])).toEqual(['1', '1', '1']);
  expect(desired.spec?.containers[0]?.resources?.requests).toEqual({ cpu: '2' });
});

test('a pod that has what it asks for is the very same', () => {
  const pod = podWith('1');
  expect(withPodResources(pod, podResourcesOf(podWith('1000m')))).toBe(pod);
  expect(withPodResources({}, podResourcesOf(pod))).toEqual({});
});

test('resources of the pod as a whole are given and taken, too', () => {
  const whole = podWith('1', { resources: { requests: { cpu: '4' } } });
  expect(withPodResources(podWith('1'), podResourcesOf(whole)).spec?.resources).toEqual({
    requests: { cpu: '4' },
  });
  expect(withPodResources(whole, podResourcesOf(podWith('1'))).spec).not.toHaveProperty('resources');
});

test.for([
  ['no status: the spec', {}, '1'],
  ['it holds more than it asks for', { resources: { requests: { cpu: '3' } } }, '3'],
  ['it was promised more', { resources: { requests: {} }, allocatedResources: { cpu: '2' } }, '2'],
  ['it asks for more', { resources: { requests: { cpu: '500m' } } }, '1'],
] as const)('what counts of a pod that is resized, %s', ([, status, cpu]) => {
  const containers = [{ name: 'main', resources: { requests: { cpu: '1' } } }];
  const containerStatuses = [
    { name: 'main', ready: true, image: '', imageID: '', restartCount: 0, ...status },
  ];
  const pod: Pod = { spec: { containers }, status: { containerStatuses } };
  expect(resourceListOf(podRequests(pod, { useStatusResources: true }))).toEqual({ cpu });
  expect(resourceListOf(podRequests(pod))).toEqual({ cpu: '1' });
});

test('what a pod asks for does not count while it can never be had', () => {
  const pod: Pod = {
    spec: { containers: [{ name: 'main', resources: { requests: { cpu: '90' } } }] },
    status: {
      conditions: [{ type: 'PodResizePending', status: 'True', reason: 'Infeasible' }],
      containerStatuses: [
        {
          name: 'main',
          ready: true,
          image: '',
          imageID: '',
          restartCount: 0,
          resources: { requests: { cpu: '2' } },
        },
      ],
    },
  };
  expect(resourceListOf(podRequests(pod, { useStatusResources: true }))).toEqual({ cpu: '2' });
});

const kubelets =
  '{"data":"{\\"entries\\":{\\"pod1\\":{\\"ContainerResources\\":{\\"container1\\":{\\"requests\\":{\\"cpu\\":\\"1Ki\\",\\"memory\\":\\"1Ki\\"}}}}}}","checksum":1178570812}';
const known: PodResourceMap = {
  pod1: { containers: { container1: { requests: { cpu: '1Ki', memory: '1Ki' } } } },
};

test("a checkpoint is the kubelet's own, to the checksum", () => {
  expect(encodeResourceCheckpoint(known)).toBe(kubelets);
  expect(decodeResourceCheckpoint(kubelets)).toEqual(known);
});

test.for(['', '{', '{}', 'null', kubelets.replace('1178570812', '1'), kubelets.replace('1Ki', '2Ki')])(
  'a damaged checkpoint is refused: %s',
  (text) => {
    expect(() => decodeResourceCheckpoint(text)).toThrow();
  },
);

test('what is written is read back', () => {
  const list = fc.dictionary(fc.string(), fc.string());
  const requirements = fc.record({ requests: list, limits: list }, { requiredKeys: [] });
  const info = fc.record(
    { containers: fc.dictionary(fc.string(), requirements), pod: requirements },
    { requiredKeys: ['containers'] },
  );
  fc.assert(
    fc.property(fc.dictionary(fc.string(), info), (pods) => {
      expect(decodeResourceCheckpoint(encodeResourceCheckpoint(pods))).toEqual(pods);
    }),
  );
});

test('a pod as a whole asks for what may be asked for as a whole; of the rest it asks for nothing then', () => {
  const requests = { memory: '1Gi', 'ephemeral-storage': '2Gi' };
  const container = { name: 'c', resources: { requests: { 'ephemeral-storage': '1Gi' } } };
  const pod = { spec: { containers: [container], resources: { requests } } };
  const asked = Object.keys(requests).map((name) => formatQuantity(podRequestOf(pod, name)));
  expect(asked).toEqual(['1Gi', '0']);
});
