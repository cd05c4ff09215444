import { expect, test } from 'vitest';
import { controllerNames, enabledControllers } from '../../../src/apiserver/controllers/controller-names.ts';

test('the list of controllers is read as kube-controller-manager reads it', () => {
  expect([...enabledControllers(['*'])].sort()).toEqual([...controllerNames].sort());
  expect([...enabledControllers([])]).toEqual([]);
  expect([...enabledControllers(['namespace', 'csrsigning'])]).toEqual([
    'namespace-controller',
    'certificatesigningrequest-signing-controller',
  ]);
  const rest = enabledControllers(['-namespace-controller', '*']);
  expect(rest.has('namespace-controller')).toBe(false);
  expect(rest.has('scheduler')).toBe(true);
  expect([...enabledControllers(['none'])]).toEqual([]);
  expect([...enabledControllers(['none', '-scheduler'])]).toEqual([]);
  expect(() => enabledControllers(['none', 'scheduler'])).toThrow(
    'controllers: "none" and "scheduler" exclude each other',
  );
  expect(() => enabledControllers(['*', '-nodes'])).toThrow(
    /"nodes": no such controller: there are .*scheduler/,
  );
});
