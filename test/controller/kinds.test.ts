import { describe, expect, test } from 'vitest';
import { storedKinds } from '../../src/apimachinery/kinds.ts';
import { defineKind, kindFromCRD, kinds } from '../../src/controller/kinds.ts';

const definition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: { name: caches.example.com }
spec:
  group: example.com
  scope: Cluster
  names: { kind: Cache, plural: caches }
  versions:
    - { name: v1alpha1, served: true, storage: false }
    - { name: v1, served: true, storage: true }
    - { name: v0, served: false, storage: false }
`;

describe('kinds', () => {
  test('has every built-in kind with its path', () => {
    expect(Object.keys(kinds)).toHaveLength(storedKinds.length);
    expect(kinds.Pod).toEqual({ group: '', version: 'v1', kind: 'Pod', resource: 'pods', namespaced: true });
    expect(kinds.ClusterRole).toMatchObject({ group: 'rbac.authorization.k8s.io', namespaced: false });
    expect(kinds.NetworkPolicy.resource).toBe('networkpolicies');
    expect(kinds.HorizontalPodAutoscaler.version).toBe('v2');
    expect(kinds.V1HorizontalPodAutoscaler.version).toBe('v1');
    expect(kinds.Event.group).toBe('');
    expect(kinds.EventsV1Event).toMatchObject({ group: 'events.k8s.io', kind: 'Event' });
    expect(kinds.ClusterTrustBundle.version).toBe('v1beta1');
  });

  test('are frozen: one user cannot change them for another', () => {
    expect(() => Object.assign(kinds.Pod, { resource: 'x' })).toThrow(TypeError);
  });
});

describe('defineKind', () => {
  test.each([
    ['Memcached', 'memcacheds'],
    ['Policy', 'policies'],
    ['Gateway', 'gateways'],
    ['Ingress', 'ingresses'],
    ['VirtualMachine', 'virtualmachines'],
    ['Index', 'indices'],
    ['SearchIndex', 'searchindices'],
    ['ServiceMesh', 'servicemeshes'],
    ['Box', 'boxes'],
    ['Status', 'statuses'],
    ['Endpoints', 'endpoints'],
    ['Redis', 'redis'],
    ['Database', 'databases'],
    ['Shelf', 'shelves'],
    ['Analysis', 'analyses'],
    ['Person', 'people'],
    ['Alias', 'aliases'],
    ['Medium', 'media'],
    ['MetaData', 'metadata'],
    ['Key', 'keys'],
    ['CronJob', 'cronjobs'],
    ['ImageCache', 'imagecaches'],
    ['Radio', 'radios'],
  ])('guesses the plural of %s as kubebuilder does: %s', (kind, resource) => {
    expect(defineKind({ group: 'example.com', version: 'v1', kind }).resource).toBe(resource);
  });

  test('every built-in kind is guessed right', () => {
    for (const { group, version, kind, resource } of Object.values(kinds))
      expect(defineKind({ group, version, kind }).resource).toBe(resource);
  });

  test('is namespaced by default, and takes a plural', () => {
    const kind = defineKind({ group: 'g.io', version: 'v1beta2', kind: 'Thing', resource: 'thingies' });
    expect(kind).toEqual({
      group: 'g.io',
      version: 'v1beta2',
      kind: 'Thing',
      resource: 'thingies',
      namespaced: true,
    });
    expect(defineKind({ group: '', version: 'v1', kind: 'X', namespaced: false }).namespaced).toBe(false);
  });

  test.each([
    [{ group: 'Example', version: 'v1', kind: 'X' }, 'defineKind: group "Example" is not a DNS name'],
    [{ group: 'a.b', version: '', kind: 'X' }, 'defineKind: version "" is not a version'],
    [{ group: 'a.b', version: 'v1', kind: 'my kind' }, 'defineKind: kind "my kind" is not a kind'],
    [{ group: 'a.b', version: 'v1', kind: 'X', resource: 'Xs' }, 'defineKind: resource "Xs" is not a plural'],
  ])('rejects %o', (kind, message) => {
    expect(() => defineKind(kind)).toThrow(message);
  });
});

describe('kindFromCRD', () => {
  test('is the storage version', () => {
    expect(kindFromCRD(definition)).toEqual({
      group: 'example.com',
      version: 'v1',
      kind: 'Cache',
      resource: 'caches',
      namespaced: false,
    });
  });

  test('is another version that is served', () => {
    expect(kindFromCRD(definition, 'v1alpha1').version).toBe('v1alpha1');
    expect(() => kindFromCRD(definition, 'v0')).toThrow(
      'it does not serve version v0; it serves v1alpha1, v1',
    );
  });

  test('rejects what is no definition', () => {
    expect(() => kindFromCRD('kind: Pod')).toThrow('it is not a CustomResourceDefinition');
    expect(() => kindFromCRD('a: [')).toThrow('kindFromCRD: ');
  });
});
