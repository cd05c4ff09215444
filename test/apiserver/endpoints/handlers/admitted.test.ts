import { expect, test } from 'vitest';
import { AdmissionChain } from '../../../../src/apiserver/admission/chain.ts';
import type { AdmissionPlugin } from '../../../../src/apiserver/admission/plugin.ts';
import { systemContext } from '../../../../src/apiserver/controllers/controllers.ts';
import { admitted, admittedDelete } from '../../../../src/apiserver/endpoints/handlers/admitted.ts';
import { Registry } from '../../../../src/apiserver/registry/registry.ts';
import { strategies } from '../../../../src/apiserver/registry/strategy-table.ts';
import type { World } from '../../../../src/apiserver/request/write-context.ts';
import { Store } from '../../../../src/apiserver/storage/store.ts';
import { builtIn } from '../../../../src/apimachinery/kinds.ts';
import { FakeClock } from '../../../../src/base/fake-clock.ts';
import { systemRandom } from '../../../../src/base/random.ts';

const kind = builtIn('configmaps');
const writer = { manager: 'm', operation: 'Update', apiVersion: 'v1' } as const;
const at = { namespace: 'default', name: 'a', subresource: '' };

const room = (): { registry: Registry; world: World; store: Store } => {
  const store = new Store();
  const world = { store, clock: new FakeClock(0), random: systemRandom } as unknown as World;
  const registry = new Registry(strategies.get(kind)!, store);
  registry.create('default', { metadata: { name: 'a' }, data: { n: '0' } }, writer, systemContext(world));
  return { registry, world, store };
};

/** A plug-in that waits until it is let go. */
const waiting = (): AdmissionPlugin & { waits: (() => void)[] } => {
  const waits: (() => void)[] = [];
  return {
    name: 'waiting',
    waits,
    handles: () => true,
    admit: () =>
      new Promise((resolve) => {
        waits.push(() => {
          resolve(undefined);
        });
      }),
  };
};

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('a write begins again on what another wrote while admission waited', async () => {
  const { registry, world } = room();
  const plugin = waiting();
  const context = { ...systemContext(world), warnings: ['from the body'] };
  const request = { kind, subresource: '', namespace: 'default', name: 'a', options: {}, context };
  const increment = (old: Record<string, unknown>): Record<string, unknown> => {
    context.warnings.push('once');
    const data = old['data'] as { n: string };
    return { ...old, data: { n: String(Number(data.n) + 1) } };
  };
  const write = admitted(new AdmissionChain([plugin]), request, () =>
    registry.beginUpdate(at, increment, writer, context),
  );
  registry.update(at, (old) => ({ ...old, data: { n: '10' } }), writer, systemContext(world));
  plugin.waits.shift()?.();
  await turn();
  plugin.waits.shift()?.();
  expect((await write).object['data']).toEqual({ n: '11' });
  expect(context.warnings).toEqual(['from the body', 'once']);
});

test('a deletion does not take a newer object than admission saw without asking again', async () => {
  const { registry, world, store } = room();
  const plugin = waiting();
  const context = systemContext(world);
  const request = { kind, subresource: '', namespace: 'default', name: 'a', options: {}, context };
  const gone = admittedDelete(new AdmissionChain([plugin]), request, () =>
    registry.beginDelete('default', 'a', {}, context),
  );
  registry.update(at, (old) => ({ ...old, data: { n: '10' } }), writer, systemContext(world));
  plugin.waits.shift()?.();
  await turn();
  expect(store.get('configmaps', 'default/a')).toBeDefined();
  plugin.waits.shift()?.();
  await gone;
  expect(store.get('configmaps', 'default/a')).toBeUndefined();
});

test('an object that never stands still is a conflict', async () => {
  const { registry, world } = room();
  const context = systemContext(world);
  const request = { kind, subresource: '', namespace: 'default', name: 'a', options: {}, context };
  let n = 1;
  const busy: AdmissionPlugin = {
    name: 'busy',
    handles: () => true,
    admit: () => {
      registry.update(at, (old) => ({ ...old, data: { n: String(n++) } }), writer, systemContext(world));
      return undefined;
    },
  };
  await expect(
    admitted(new AdmissionChain([busy]), request, () =>
      registry.beginUpdate(at, (old) => old, writer, context),
    ),
  ).rejects.toMatchObject({ code: 409 });
});
