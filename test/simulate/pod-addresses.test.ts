import { expect, test } from 'vitest';
import { podAddresses } from '../../src/simulate/pod-addresses.ts';

test('the nodes have addresses of their own', () => {
  const nodes = [0, 1, 2].map((index) => podAddresses(index, 3, () => new Set()));
  const addresses = nodes.flatMap((next) => [next(), next(), next()]);
  expect(new Set(addresses).size).toBe(9);
  expect(addresses[0]).toBe('10.0.0.1');
});

test('an address that a pod has from an earlier process is not given again', () => {
  const next = podAddresses(0, 1, () => new Set(['10.0.0.1', '10.0.0.3']));
  expect([next(), next(), next()]).toEqual(['10.0.0.2', '10.0.0.4', '10.0.0.5']);
});

test('a share that is used up starts again', () => {
  const next = podAddresses(0, 0x7fffff, () => new Set(['10.0.0.1']));
  expect([next(), next()]).toEqual(['10.0.0.1', '10.0.0.1']);
});
