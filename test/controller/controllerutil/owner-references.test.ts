import { describe, expect, test } from 'vitest';
import {
  AlreadyOwnedError,
  hasControllerReference,
  hasOwnerReference,
  removeControllerReference,
  removeOwnerReference,
  setControllerReference,
  setOwnerReference,
} from '../../../src/controller/controllerutil/owner-references.ts';
import type { Kind, KubeObject, ObjectMeta } from '../../../src/controller/types.ts';

const deployments: Kind = {
  group: 'apps',
  version: 'v1',
  kind: 'Deployment',
  resource: 'deployments',
  namespaced: true,
};
const old: Kind = { ...deployments, group: 'extensions', version: 'v1beta1' };
const object = (metadata: ObjectMeta = {}): KubeObject => ({
  metadata: { namespace: 'ns', name: 'pod', ...metadata },
});
const owner = (name = 'foo', metadata: ObjectMeta = {}): KubeObject =>
  object({ name, uid: `${name}-uid`, ...metadata });
const reference = (more: object = {}) => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  name: 'foo',
  uid: 'foo-uid',
  ...more,
});
const owners = ({ metadata }: KubeObject) => metadata?.ownerReferences;

describe('controllerutil: setOwnerReference', () => {
  test('1 it adds the owner to none', () => {
    const one = object();
    setOwnerReference(owner(), one, deployments);
    expect(owners(one)).toEqual([reference()]);
  });
  test('2 it sets blockOwnerDeletion if asked for', () => {
    const one = object();
    setOwnerReference(owner(), one, deployments, { blockOwnerDeletion: true });
    expect(owners(one)).toEqual([reference({ blockOwnerDeletion: true })]);
  });
  test('3 it adds an owner once, beside others', () => {
    const other = { apiVersion: 'v1', kind: 'ConfigMap', name: 'foo', uid: 'c' };
    const one = object({ ownerReferences: [other, reference()] });
    setOwnerReference(owner(), one, deployments);
    expect(owners(one)).toEqual([other, reference()]);
  });
  test('4 it replaces a reference in another version', () => {
    const one = object({ ownerReferences: [reference({ apiVersion: 'apps/v1alpha1' })] });
    setOwnerReference(owner(), one, deployments);
    expect(owners(one)).toEqual([reference()]);
  });
  test('5 an object without metadata gets some', () => {
    const one: KubeObject = {};
    setOwnerReference({ metadata: { name: 'foo', uid: 'foo-uid' } }, one, deployments);
    expect(owners(one)).toEqual([reference()]);
  });
  test('6 an owner in another namespace is refused', () => {
    expect(() => {
      setOwnerReference(owner('foo', { namespace: 'a' }), object(), deployments);
    }).toThrow("cross-namespace owner references are disallowed, owner's namespace a, obj's namespace ns");
  });
  test('7 a namespaced owner of a cluster-scoped object is refused', () => {
    expect(() => {
      setOwnerReference(owner(), { metadata: { name: 'n1' } }, deployments);
    }).toThrow('cluster-scoped resource must not have a namespace-scoped owner');
  });
  test('8 an owner without a name is refused', () => {
    expect(() => {
      setOwnerReference({ metadata: {} }, object(), deployments);
    }).toThrow('metadata.name');
  });
});

describe('controllerutil: setControllerReference', () => {
  test('1 it makes the owner the controller, which blocks its deletion', () => {
    const one = object();
    setControllerReference(owner(), one, deployments);
    expect(owners(one)).toEqual([reference({ controller: true, blockOwnerDeletion: true })]);
  });
  test('2 it takes blockOwnerDeletion', () => {
    const one = object();
    setControllerReference(owner(), one, deployments, { blockOwnerDeletion: false });
    expect(owners(one)).toEqual([reference({ controller: true, blockOwnerDeletion: false })]);
  });
  test('3 another controller is an AlreadyOwnedError that names it', () => {
    const current = reference({ name: 'bar', controller: true });
    const one = object({ ownerReferences: [current] });
    let error: unknown;
    try {
      setControllerReference(owner(), one, deployments);
    } catch (reason) {
      error = reason;
    }
    expect(error).toBeInstanceOf(AlreadyOwnedError);
    expect((error as AlreadyOwnedError).owner).toEqual(current);
    expect((error as Error).message).toBe(
      'Object ns/pod is already owned by another Deployment controller bar',
    );
    expect(owners(one)).toEqual([current]);
  });
  test('4 it does not double a reference', () => {
    const one = object();
    setControllerReference(owner(), one, deployments);
    setControllerReference(owner(), one, deployments);
    expect(owners(one)).toHaveLength(1);
  });
  test('5 an owner that is there becomes the controller', () => {
    const one = object({ ownerReferences: [reference()] });
    setControllerReference(owner(), one, deployments);
    expect(owners(one)).toEqual([reference({ controller: true, blockOwnerDeletion: true })]);
  });
  test('6 a controller in another version of the kind is the same', () => {
    const one = object({ ownerReferences: [reference({ apiVersion: 'apps/v1beta1', controller: true })] });
    setControllerReference(owner(), one, deployments);
    expect(owners(one)?.[0]?.apiVersion).toBe('apps/v1');
  });
  test('7 a controller of another group is another one', () => {
    const one = object({ ownerReferences: [reference({ controller: true })] });
    expect(() => {
      setControllerReference(owner(), one, old);
    }).toThrow(AlreadyOwnedError);
  });
  test('8 a cluster-scoped owner may own a namespaced object', () => {
    const one = object();
    setControllerReference({ metadata: { name: 'foo', uid: 'foo-uid' } }, one, {
      ...deployments,
      namespaced: false,
    });
    expect(hasControllerReference(one)).toBe(true);
  });
  test('9 a cross-namespace owner is refused', () => {
    expect(() => {
      setControllerReference(owner('foo', { namespace: 'a' }), object(), deployments);
    }).toThrow('cross-namespace');
  });
});

describe('controllerutil: remove and has', () => {
  test('1 removeOwnerReference removes what either function set', () => {
    for (const set of [setOwnerReference, setControllerReference]) {
      const one = object();
      set(owner(), one, deployments);
      removeOwnerReference(owner(), one, deployments);
      expect(owners(one)).toEqual([]);
    }
  });
  test('2 removing from an object without owners is refused', () => {
    expect(() => {
      removeOwnerReference(owner(), object(), deployments);
    }).toThrow('does not have any owner references');
  });
  test('3 removing an owner that is none is refused', () => {
    const one = object({ ownerReferences: [reference()] });
    expect(() => {
      removeOwnerReference(owner('bar'), one, deployments);
    }).toThrow('does not have an owner reference for Deployment bar');
    expect(() => {
      removeOwnerReference(owner(), one, old);
    }).toThrow('does not have an owner reference');
  });
  test('4 hasControllerReference', () => {
    const one = object();
    setOwnerReference(owner(), one, deployments);
    expect(hasControllerReference(one)).toBe(false);
    setControllerReference(owner(), one, deployments);
    expect(hasControllerReference(one)).toBe(true);
  });
  test('5 hasOwnerReference, of an object or of its references, in any version', () => {
    const one = object({ ownerReferences: [reference()] });
    expect(hasOwnerReference(one, owner(), deployments)).toBe(true);
    expect(hasOwnerReference(owners(one), owner(), { ...deployments, version: 'v2' })).toBe(true);
    expect(hasOwnerReference(one, owner('bar'), deployments)).toBe(false);
    expect(hasOwnerReference(undefined, owner(), deployments)).toBe(false);
  });
  test('6 removeControllerReference removes the controller', () => {
    const one = object();
    setControllerReference(owner(), one, deployments);
    removeControllerReference(owner(), one, deployments);
    expect(owners(one)).toEqual([]);
  });
  test('7 removeControllerReference refuses an object without a controller, and an owner that is not it', () => {
    const one = object({ ownerReferences: [reference()] });
    expect(() => {
      removeControllerReference(owner(), one, deployments);
    }).toThrow('does not have a controller reference');
    setControllerReference(owner('bar'), one, deployments);
    expect(() => {
      removeControllerReference(owner(), one, deployments);
    }).toThrow('Deployment foo is not the controller of ns/pod');
  });
});
