import { expect, test } from 'vitest';
import type { ConfigMap, Pod, Secret, Service } from '../../src/kube/types.ts';
import { isInvalidInput, isNotFound, type Lister, ResourceManager } from '../../src/vkubelet/index.ts';

type Named = { readonly metadata?: { readonly namespace?: string; readonly name?: string } };

const listerOf = <T extends Named>(...objects: readonly T[]): Lister<T> => ({
  get: (namespace, name) =>
    objects.find(({ metadata }) => metadata?.namespace === namespace && metadata.name === name),
  list: (namespace) => objects.filter((one) => !namespace || one.metadata?.namespace === namespace),
});

const named = (namespace: string, name: string) => ({ metadata: { namespace, name } });
const listers = {
  pods: listerOf<Pod>(named('a', 'web'), named('b', 'web')),
  configMaps: listerOf<ConfigMap>({ ...named('a', 'settings'), data: { colour: 'red' } }),
  secrets: listerOf<Secret>({ ...named('a', 'keys'), data: { key: 'c2VjcmV0' } }),
  services: listerOf<Service>(named('a', 'front'), named('b', 'back')),
};

test('objects are found by name and namespace', () => {
  const manager = new ResourceManager(listers);
  expect(manager.getConfigMap('settings', 'a').data).toEqual({ colour: 'red' });
  expect(manager.getSecret('keys', 'a').data).toEqual({ key: 'c2VjcmV0' });
  expect(manager.getPods()).toHaveLength(2);
  expect(manager.listServices().map(({ metadata }) => metadata?.name)).toEqual(['front', 'back']);
  expect([...manager.podsByName().keys()]).toEqual(['a-web', 'b-web']);
});

test('an object that does not exist in the namespace is of the kind not found', () => {
  const manager = new ResourceManager(listers);
  for (const [look, message] of [
    [() => manager.getConfigMap('settings', 'b'), 'configmap "settings" not found'],
    [() => manager.getSecret('keys', 'b'), 'secret "keys" not found'],
  ] as const) {
    expect(look).toThrow(message);
    expect(look).toThrow(expect.toSatisfy(isNotFound) as Error);
  }
});

test.each(['pods', 'configMaps', 'secrets', 'services'])('without the lister of %s it is refused', (name) => {
  const make = () => new ResourceManager({ ...listers, [name]: undefined });
  expect(make).toThrow(`missing lister of ${name}`);
  expect(make).toThrow(expect.toSatisfy(isInvalidInput) as Error);
});
