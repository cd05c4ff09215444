import { expect, test } from 'vitest';
import { providerVerdicts } from '../../src/app/provider-admission.ts';
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
    (await providerVerdicts(name, { cwd: '/', load })).refusals(pod, []);
  expect((await of('process'))[0]).toMatch(
    /^provider process: UnsupportedByProcessProvider: spec\.hostUsers=false: .*; container "a" has no command/,
  );
  expect(await of('memory')).toEqual([]);
  expect((await of('eci'))[0]).toMatch(/^provider eci: /);
  expect(await of('./x.mjs')).toEqual(['provider ./x.mjs: No: rooms are full']);
});

test('what a provider takes and will not keep are warnings, and no refusals', async () => {
  const admit = () => ({ admit: true, warnings: ['limits are not kept'] });
  const load = (): Promise<unknown> => Promise.resolve({ default: { ...provider, admit } });
  const { refusals, warnings } = await providerVerdicts('./x.mjs', { cwd: '/', load });
  expect([refusals(pod, []), warnings(pod, [])]).toEqual([[], ['provider ./x.mjs: limits are not kept']]);
  const own = await providerVerdicts('process', { cwd: '/', load });
  const resources = { limits: { 'nvidia.com/gpu': '1', cpu: '1' } };
  const containers = [{ name: 'a', image: 'i', command: ['true'], resources }];
  const said = own.warnings({ metadata: { name: 'p', namespace: 'd' }, spec: { containers } }, []);
  expect(said.join('; ')).toMatch(/provider process: .*limit/);
});
