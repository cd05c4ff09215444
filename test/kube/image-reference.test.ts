import { expect, test } from 'vitest';
import { defaultPullPolicy, imageFault } from '../../src/kube/image-reference.ts';

const [most, more] = ['a'.repeat(255), 'a'.repeat(256)];

test.for([
  ['nginx', 'Always'],
  ['nginx:latest', 'Always'],
  ['nginx:1', 'IfNotPresent'],
  [`nginx@sha256:${'0'.repeat(64)}`, 'IfNotPresent'],
  ['', 'IfNotPresent'],
  ['Bad Image', 'IfNotPresent'],
  [`r.example/${more}`, 'IfNotPresent'],
] as const)('an image %s without a policy is pulled %s', ([image, policy]) => {
  expect(defaultPullPolicy(image)).toBe(policy);
});

test('the length of an image counts without its registry, and with the library of Docker Hub', () => {
  const tooLong = 'repository name must not be more than 255 characters';
  const images = [`r.example/${most}`, `r.example/${more}`, most, most.slice(8), `x/${most.slice(2)}`];
  expect(images.map(imageFault)).toEqual([undefined, tooLong, tooLong, undefined, undefined]);
});
