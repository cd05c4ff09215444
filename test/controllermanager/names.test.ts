import { expect, test } from 'vitest';
import { enabledControllers } from '../../src/apiserver/controllers/controller-names.ts';
import { controllerNames } from '../../src/controllermanager/index.ts';

test('every controller can be named in --controllers', () => {
  const enabled: ReadonlySet<string> = enabledControllers(['*']);
  expect(controllerNames.filter((name) => !enabled.has(name))).toEqual([]);
});
