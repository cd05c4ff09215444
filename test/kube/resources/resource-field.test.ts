import { expect, test } from 'vitest';
import { resourceFieldValue } from '../../../src/kube/resources/resource-field.ts';

const nodeHas = { cpu: '4', memory: '8Gi' };

/** What a container is told of its limits, in whole CPUs and bytes. */
function told(container: object, pod: object): readonly string[] {
  return ['limits.cpu', 'limits.memory'].map((resource) =>
    resourceFieldValue(
      { spec: { containers: [], resources: pod } },
      { name: 'c', resources: container },
      { resource },
      nodeHas,
    ),
  );
}

test('a limit that a container does not set is its pod’s, or all that the node can give', () => {
  const pod = { limits: { cpu: '2', memory: '64Mi' } };
  expect(told({ limits: { cpu: '500m', memory: '1Mi' } }, pod)).toEqual(['1', '1048576']);
  expect(told({ limits: { cpu: '500m' } }, pod)).toEqual(['1', '67108864']);
  expect(told({}, pod)).toEqual(['2', '67108864']);
  expect(told({}, { limits: { cpu: '2' } })).toEqual(['2', '8589934592']);
  expect(told({}, { limits: { cpu: '0' } })).toEqual(['4', '8589934592']);
  expect(told({}, {})).toEqual(['4', '8589934592']);
});

test('a request that a container does not set is 0, whatever its pod asks for', () => {
  const pod = { spec: { containers: [], resources: { requests: { cpu: '1' }, limits: { cpu: '2' } } } };
  expect(resourceFieldValue(pod, { name: 'c' }, { resource: 'requests.cpu' }, nodeHas)).toBe('0');
});

test('amounts beyond what a number of JavaScript writes out are written in full', () => {
  expect(told({ limits: { cpu: '1', memory: '2Ei' } }, {})).toEqual(['1', '2305843009213693952']);
});
