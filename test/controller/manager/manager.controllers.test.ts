import { afterEach, describe, expect, test } from 'vitest';
import {
  type Cause,
  controllerManagedBy,
  type KubeObject,
  kinds,
  setControllerReference,
} from '../../../src/controller/index.ts';
import { configMap, deployment } from '../support.ts';
import { endAll, eventually, managerOf, server } from './bench-manager.ts';

afterEach(endAll);

describe('manager: controllers', () => {
  test('1 a controller reconciles its kind, and for events of what that owns', async () => {
    const { manager, start, stop } = managerOf(await server());
    const { client } = manager;
    const causes: Cause[] = [];
    controllerManagedBy(manager)
      .for(kinds.Deployment)
      .owns(kinds.ConfigMap)
      .complete(async ({ namespace, name }, context) => {
        causes.push(...context.causes);
        const owner = await client.get(kinds.Deployment, { namespace, name });
        const children = await client.list(kinds.ConfigMap, { namespace, labels: { app: name } });
        if (children.length > 0) return;
        const child = configMap(`${name}-1`, { metadata: { labels: { app: name } } });
        setControllerReference(owner, child, kinds.Deployment);
        await client.create(kinds.ConfigMap, child);
      });
    const ended = start();
    await manager.elected;
    await client.create(kinds.Deployment, deployment('web'));
    const has = (type: string, kind: string) => () =>
      causes.some((cause) => cause.type === type && cause.object?.kind === kind);
    await eventually(has('create', 'Deployment'));
    await eventually(has('create', 'ConfigMap'));
    await client.delete(kinds.ConfigMap, { namespace: 'default', name: 'web-1' });
    await eventually(has('delete', 'ConfigMap'));
    await eventually(
      () => manager.apiReader.list(kinds.ConfigMap, { labels: { app: 'web' } }),
      (maps) => maps.length === 1,
    );
    const created = causes.find(({ object }) => object?.kind === 'ConfigMap');
    expect(created).toMatchObject({
      source: 'kind source: v1, Kind=ConfigMap',
      object: { namespace: 'default', name: 'web-1' },
    });
    expect(created?.object?.resourceVersion).toMatch(/^\d+$/);
    stop.abort();
    await ended;
  });

  test('2 objects of the first list are reconciled, once each, after their cache is filled', async () => {
    const api = await server();
    const writer = managerOf(api).manager.client;
    for (let i = 0; i < 20; i++) await writer.create(kinds.ConfigMap, configMap(`c${i}`));
    const { manager, start } = managerOf(api);
    const seen: string[] = [];
    const sizes = new Set<number>();
    controllerManagedBy(manager)
      .for(kinds.ConfigMap)
      .complete(async ({ name }) => {
        seen.push(name);
        sizes.add((await manager.client.list(kinds.ConfigMap)).length);
      });
    void start();
    await eventually(() => seen.length >= 20);
    expect(new Set(seen).size).toBe(seen.length);
    expect(sizes.size).toBe(1);
  });

  test('3 predicates count for their kind only; an event filter for all kinds', async () => {
    const { manager, start } = managerOf(await server());
    const seen: string[] = [];
    controllerManagedBy(manager)
      .named('filtered')
      .for(kinds.ConfigMap, {
        predicates: [{ ...pass, create: ({ object }) => object.metadata?.name !== 'no-map' }],
      })
      .watches(kinds.Secret, {
        ...ignore,
        create: ({ object }, queue) => {
          queue.add({ namespace: '', name: `secret ${object.metadata?.name ?? ''}` });
        },
      })
      .withEventFilter({ ...pass, create: ({ object }) => object.metadata?.name !== 'hidden' })
      .complete(async ({ name }) => void seen.push(name));
    void start();
    await manager.elected;
    const { client } = manager;
    for (const name of ['no-map', 'hidden', 'yes']) {
      await client.create(kinds.ConfigMap, configMap(name));
      await client.create(kinds.Secret, { metadata: { namespace: 'default', name } });
    }
    await eventually(() => seen.includes('secret yes') && seen.includes('yes'));
    // the server has config maps of its own
    const ours = /^(secret )?(no-map|hidden|yes)$/;
    expect(seen.filter((name) => ours.test(name)).sort()).toEqual(['secret no-map', 'secret yes', 'yes']);
  });

  test('4 with metadataOnly an object has metadata only', async () => {
    const { manager, start } = managerOf(await server());
    const seen: KubeObject[] = [];
    controllerManagedBy(manager)
      .named('meta')
      .watches(
        kinds.ConfigMap,
        { ...ignore, create: ({ object }) => void seen.push(object) },
        { metadataOnly: true },
      )
      .complete(async () => undefined);
    void start();
    await manager.elected;
    await manager.client.create(kinds.ConfigMap, configMap('a', { data: { key: 'value' } }));
    const object = await eventually(() => seen.find(({ metadata }) => metadata?.name === 'a'));
    expect(Object.keys(object ?? {}).sort()).toEqual(['apiVersion', 'kind', 'metadata']);
  });

  test('5 matchEveryOwner reconciles each owner, by default only the controller is', async () => {
    const { manager, start } = managerOf(await server());
    const seen: Record<string, string[]> = { one: [], every: [] };
    const builder = (name: string, matchEveryOwner: boolean) =>
      controllerManagedBy(manager)
        .for(kinds.Deployment)
        .owns(kinds.ConfigMap, { matchEveryOwner })
        .named(name)
        .complete(async (request) => void seen[name]?.push(request.name));
    builder('one', false);
    builder('every', true);
    void start();
    await manager.elected;
    const owners = ['a', 'b'].map((name) => ({
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      name,
      uid: name,
      controller: name === 'b',
    }));
    await manager.client.create(
      kinds.ConfigMap,
      configMap('owned', { metadata: { ownerReferences: owners } }),
    );
    await eventually(() => seen['every']?.length === 2 && seen['one']?.length === 1);
    expect(seen).toEqual({ one: ['b'], every: ['a', 'b'] });
  });

  test('6 a delete event has the last state of the object', async () => {
    const { manager, start } = managerOf(await server());
    const gone: KubeObject[] = [];
    controllerManagedBy(manager)
      .named('deletes')
      .watches(kinds.ConfigMap, { ...ignore, delete: ({ object }) => void gone.push(object) })
      .complete(async () => undefined);
    void start();
    await manager.elected;
    await manager.client.create(kinds.ConfigMap, configMap('a', { data: { key: 'last' } }));
    await manager.client.delete(kinds.ConfigMap, { namespace: 'default', name: 'a' });
    await eventually(() => gone.length === 1);
    expect(gone[0]).toMatchObject({ metadata: { name: 'a' }, data: { key: 'last' } });
  });
});

const pass = { create: () => true, update: () => true, delete: () => true, generic: () => true };
const ignore = {
  create: () => undefined,
  update: () => undefined,
  delete: () => undefined,
  generic: () => undefined,
};
