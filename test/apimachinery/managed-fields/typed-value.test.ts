import { expect, test } from 'vitest';
import { typedFaults } from '../../../src/apimachinery/managed-fields/typed-value.ts';

const pod = (container: object, more: object = {}): object => ({
  metadata: { name: 'p' },
  spec: { containers: [{ name: 'c', image: 'x', ...container }], ...more },
});

test.for([
  [
    { metadata: { labels: { a: true } } },
    '.metadata.labels.a: expected string, got &value.valueUnstructured{Value:true}',
  ],
  [pod({ foo: 1 }), '.spec.containers[name="c"].foo: field not declared in schema'],
  [
    pod({ ports: [{ containerPort: 'x' }] }),
    '.spec.containers[name="c"].ports[containerPort="x",protocol="TCP"].containerPort: expected numeric (int or float), got string',
  ],
  [pod({ stdin: 'x' }), '.spec.containers[name="c"].stdin: expected boolean, got &{x}'],
  [pod({ args: { a: 1 } }), '.spec.containers[name="c"].args: expected list, got &{map[a:1]}'],
  [{ spec: [] }, '.spec: expected map, got &{[]}'],
  [
    pod({ args: ['a', 1] }),
    '.spec.containers[name="c"].args[1]: expected string, got &value.valueUnstructured{Value:1}',
  ],
  [
    pod({ env: [{ name: 'A' }, { name: 'A' }] }),
    '.spec.containers[name="c"].env: duplicate entries for key [name="A"]',
  ],
  [pod({}, { foo: 1, bar: 2 }), '.spec.foo: field not declared in schema'],
  [
    pod({ resources: { limits: { cpu: { a: 1 } } } }),
    '.spec.containers[name="c"].resources.limits.cpu: expected any scalar, got &{map[a:1]}',
  ],
  [
    { metadata: { finalizers: ['a', null] } },
    ".metadata.finalizers: element 1: associative list without keys has an element that's an explicit null",
  ],
  [
    pod({ stdin: 1, args: 1, foo: 1 }, { hostIPC: 1 }),
    `errors:
  .spec.containers[name="c"].stdin: expected boolean, got &{1}
  .spec.containers[name="c"].args: expected list, got &{1}
  .spec.containers[name="c"].foo: field not declared in schema
  .spec.hostIPC: expected boolean, got &{1}`,
  ],
  [{ metadata: { creationTimestamp: -1 } }, undefined],
  [pod({ resources: { limits: { cpu: 1 } }, livenessProbe: { httpGet: { port: 'a' } } }), undefined],
] as const)('%j is judged as a pod to apply', ([value, why]) => {
  expect(typedFaults(value, 'Pod')).toBe(why);
});
