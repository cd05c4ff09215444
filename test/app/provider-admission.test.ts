import { expect, test } from 'vitest';
import { providerRefusals } from '../../src/app/provider-admission.ts';
import type { Pod } from '../../src/kube/types.ts';

const pod: Pod = {
  metadata: { name: 'p', namespace: 'd' },
  spec: { hostUsers: false, containers: [{ name: 'a', image: 'registry.example/none' }] },
};
const provider = {
  name: 'x',
  syncPod: () => undefined,
  killPod: () => undefined,
  listPods: () => undefined,
  getPodStatus: () => undefined,
  admit: () => ({ admit: false, reason: 'No', message: 'rooms are full' }),
};

test('each provider says what it has against a pod', async () => {
  const load = (): Promise<unknown> => Promise.resolve({ default: provider });
  const of = async (name: string): Promise<readonly string[]> =>
    (await providerRefusals(name, { cwd: '/', load }))(pod, []);
  expect((await of('process'))[0]).toMatch(
    /^provider process: UnsupportedByProcessProvider: spec\.hostUsers=false: .*; container "a" has no command/,
  );
  expect(await of('memory')).toEqual([]);
  expect((await of('eci'))[0]).toMatch(/^provider eci: /);
  expect(await of('./x.mjs')).toEqual(['provider ./x.mjs: No: rooms are full']);
});
