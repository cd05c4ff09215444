import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { EmbeddedApiServer } from '../../../src/apiserver/index.ts';
import { intercept } from '../../../src/api/interceptor.ts';
import { ApiError } from '../../../src/api/client.ts';
import { createApiClient } from '../../../src/api/rest/http-client.ts';
import { systemClock } from '../../../src/base/clock.ts';
import { type Cause, controllerManagedBy, createOrUpdate, kinds } from '../../../src/controller/index.ts';
import { configMap, connectionTo } from '../support.ts';
import { Spans } from '../../support/spans.ts';
import { endAll, eventually, managerOf, server } from './bench-manager.ts';

afterEach(endAll);

test('an API server that restarts: what changed meanwhile is reconciled, deletions with the last known state', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'podtender-controller-'));
  const first = await EmbeddedApiServer.start({ dataDir, controllers: false });
  const { manager, start, stop } = managerOf(first);
  const seen: Cause[] = [];
  const gone: unknown[] = [];
  controllerManagedBy(manager)
    .named('maps')
    .for(kinds.ConfigMap)
    .watches(kinds.ConfigMap, {
      create: () => undefined,
      update: () => undefined,
      delete: (event) => void gone.push(event),
      generic: () => undefined,
    })
    .complete(async (_, { causes }) => void seen.push(...causes));
  const ended = start();
  await manager.elected;
  await manager.client.create(kinds.ConfigMap, configMap('kept'));
  await manager.client.create(kinds.ConfigMap, configMap('deleted', { data: { key: 'last' } }));
  const has = (type: Cause['type'], name: string) => () =>
    seen.some((cause) => cause.type === type && cause.object?.name === name);
  await eventually(has('create', 'deleted'));
  const { port } = first;
  await first.stop();
  // another client changes things before the manager's watch is open again
  const offline = await EmbeddedApiServer.start({ dataDir, controllers: false });
  const other = managerOf(offline).manager.client;
  await other.delete(kinds.ConfigMap, { namespace: 'default', name: 'deleted' });
  await other.create(kinds.ConfigMap, configMap('new'));
  await offline.stop();
  const second = await EmbeddedApiServer.start({ dataDir, port, controllers: false });
  await eventually(has('create', 'new'));
  await eventually(has('delete', 'deleted'));
  expect(gone).toMatchObject([{ object: { metadata: { name: 'deleted' }, data: { key: 'last' } } }]);
  stop.abort();
  await ended;
  await second.stop();
  rmSync(dataDir, { recursive: true });
});

test('conflicts: createOrUpdate in a reconcile that another writer disturbs converges', async () => {
  const { manager, start } = managerOf(await server());
  const { client } = manager;
  let disturbances = 5;
  let conflicts = 0;
  controllerManagedBy(manager)
    .for(kinds.Secret)
    .owns(kinds.ConfigMap)
    .complete(async ({ namespace, name }) => {
      try {
        await createOrUpdate(client, kinds.ConfigMap, configMap(name), async (map) => {
          if (map.metadata?.uid !== undefined && disturbances-- > 0)
            await manager.client.patch(
              kinds.ConfigMap,
              { metadata: { namespace, name } },
              { type: 'merge', data: () => ({ data: { other: String(disturbances) } }) },
            );
          map.data = { ...map.data, mine: 'yes' };
        });
      } catch (reason) {
        if (reason instanceof ApiError && reason.reason === 'Conflict') conflicts++;
        throw reason;
      }
    });
  await manager.client.create(kinds.ConfigMap, configMap('a'));
  void start();
  await manager.elected;
  await client.create(kinds.Secret, { metadata: { namespace: 'default', name: 'a' } });
  await eventually(
    () => manager.apiReader.get(kinds.ConfigMap, { namespace: 'default', name: 'a' }),
    ({ data }) => data?.['mine'] === 'yes',
  );
  expect(conflicts).toBeGreaterThan(0);
});

test('a watch that is cut again and again loses no object', async () => {
  const api = await server();
  let events = 0;
  const client = intercept(createApiClient(connectionTo(api), { clock: systemClock }), {
    watch: async function* (_, next) {
      for await (const event of next()) {
        if (++events % 3 === 0) throw new Error('connection reset');
        yield event;
      }
    },
  });
  const { manager, start } = managerOf(api, { connection: client });
  const seen = new Set<string>();
  controllerManagedBy(manager)
    .for(kinds.ConfigMap)
    .complete(async ({ name }) => void seen.add(name));
  void start();
  await manager.elected;
  for (let i = 0; i < 6; i++) await manager.client.create(kinds.ConfigMap, configMap(`c${i}`));
  await eventually(() => [...seen].filter((name) => name.startsWith('c')).length === 6);
});

test('spans lead from the event to the reconcile to its calls', async () => {
  const spans = await Spans.record();
  const { manager, start, stop } = managerOf(await server());
  controllerManagedBy(manager)
    .for(kinds.Secret)
    .complete(async ({ namespace, name }) => {
      await manager.client.create(kinds.ConfigMap, configMap(name, { metadata: { namespace } }));
    });
  const ended = start();
  await manager.elected;
  await manager.client.create(kinds.Secret, { metadata: { namespace: 'default', name: 'traced' } });
  await eventually(() =>
    manager.apiReader.get(kinds.ConfigMap, { namespace: 'default', name: 'traced' }).catch(() => undefined),
  );
  stop.abort();
  await ended;
  const event = spans
    .roots()
    .find(({ name, attributes }) => name === 'event create' && attributes['k8s.object.name'] === 'traced');
  expect(event?.attributes).toMatchObject({ 'k8s.object.kind': 'Secret', 'k8s.namespace.name': 'default' });
  const reconcile = event?.children[0];
  expect(reconcile).toMatchObject({
    name: 'reconcile',
    attributes: { 'controller.name': 'secret', 'k8s.object.name': 'traced' },
  });
  expect(reconcile?.children.map(({ name }) => name)).toContain('HTTP POST');
  spans.stop();
});
