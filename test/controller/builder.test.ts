import { describe, expect, test } from 'vitest';
import {
  controllerManagedBy,
  enqueueRequestForObject,
  funcSource,
  kinds,
  Manager,
  newController,
} from '../../src/controller/index.ts';

const manager = (options: Partial<ConstructorParameters<typeof Manager>[0]> = {}): Manager =>
  new Manager({ connection: { server: 'http://127.0.0.1:1' }, ...options });
const noop = async (): Promise<void> => undefined;

describe('builder', () => {
  test('1 a complete description gives a controller, named after its kind', () => {
    expect(controllerManagedBy(manager()).for(kinds.ReplicaSet).owns(kinds.Pod).complete(noop).name).toBe(
      'replicaset',
    );
  });
  test('2 a reconciler may be an object', () => {
    expect(controllerManagedBy(manager()).for(kinds.Pod).complete({ reconcile: noop }).name).toBe('pod');
  });
  test('3 for is called once', () => {
    expect(() => controllerManagedBy(manager()).for(kinds.Pod).for(kinds.ReplicaSet)).toThrow(
      'should only be called once',
    );
  });
  test('4 without for, a name is required', () => {
    const builder = controllerManagedBy(manager()).watches(kinds.Pod, enqueueRequestForObject);
    expect(() => builder.complete(noop)).toThrow('controller must have a name');
  });
  test('5 owns needs for', () => {
    const builder = controllerManagedBy(manager()).named('x').owns(kinds.Pod);
    expect(() => builder.complete(noop)).toThrow('owns() can only be used together with for()');
  });
  test('6 without a source, a controller would never run', () => {
    expect(() => controllerManagedBy(manager()).named('x').complete(noop)).toThrow(
      'there are no watches configured',
    );
  });
  test('7 watches alone will do', () => {
    const one = controllerManagedBy(manager())
      .named('x')
      .watches(kinds.Pod, enqueueRequestForObject)
      .complete(noop);
    expect(one.name).toBe('x');
    expect(
      controllerManagedBy(manager())
        .named('y')
        .watchesRawSource(funcSource(() => undefined))
        .complete(noop).name,
    ).toBe('y');
  });
  test('8 two controllers of one kind need different names', () => {
    const one = manager();
    controllerManagedBy(one).for(kinds.Pod).complete(noop);
    expect(() => controllerManagedBy(one).for(kinds.Pod).complete(noop)).toThrow(
      'controller with name pod already exists',
    );
    expect(controllerManagedBy(one).for(kinds.Pod).named('other').complete(noop).name).toBe('other');
  });
  test('9 skipNameValidation permits it, from the controller or the manager', () => {
    const one = manager();
    controllerManagedBy(one).for(kinds.Pod).complete(noop);
    controllerManagedBy(one).for(kinds.Pod).withOptions({ skipNameValidation: true }).complete(noop);
    const two = manager({ controller: { skipNameValidation: true } });
    for (let i = 0; i < 2; i++) controllerManagedBy(two).for(kinds.Pod).complete(noop);
  });
  test('10 two managers may have controllers of one name', () => {
    for (const one of [manager(), manager()]) controllerManagedBy(one).for(kinds.Pod).complete(noop);
  });
  test('11 a controller leads unless it says otherwise; the manager has the default', () => {
    const needs = (one: Manager, options = {}) =>
      controllerManagedBy(one).for(kinds.Pod).withOptions(options).complete(noop).needLeaderElection;
    expect(needs(manager())).toBe(true);
    expect(needs(manager(), { needLeaderElection: false })).toBe(false);
    expect(needs(manager({ controller: { needLeaderElection: false } }))).toBe(false);
    expect(needs(manager({ controller: { needLeaderElection: false } }), { needLeaderElection: true })).toBe(
      true,
    );
  });
  test('12 maxConcurrentReconciles: 1, of the manager, of the controller', () => {
    const workers = (one: Manager, options = {}): number | undefined => {
      controllerManagedBy(one).for(kinds.Pod).withOptions(options).complete(noop);
      const family = one.metrics
        .collect()
        .find(({ name }) => name === 'controller_runtime_max_concurrent_reconciles');
      return family?.samples[0]?.value;
    };
    expect(workers(manager())).toBe(1);
    expect(workers(manager({ controller: { maxConcurrentReconciles: 4 } }))).toBe(4);
    expect(
      workers(manager({ controller: { maxConcurrentReconciles: 4 } }), { maxConcurrentReconciles: 2 }),
    ).toBe(2);
  });
  test('13 newController makes one without sources', () => {
    const one = manager();
    expect(newController('x', one, { reconciler: noop }).name).toBe('x');
    expect(() => newController('x', one, { reconciler: noop })).toThrow('already exists');
    expect(() => newController('', one, { reconciler: noop })).toThrow('must specify Name');
    expect(() => newController('y', one, {} as { reconciler: typeof noop })).toThrow(
      'must specify Reconciler',
    );
  });
  test('14 without a reconciler there is no controller', () => {
    expect(() =>
      controllerManagedBy(manager())
        .for(kinds.Pod)
        .complete(undefined as unknown as typeof noop),
    ).toThrow('must provide a non-nil Reconciler');
  });
});
