import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { EmbeddedApiServer } from '../../../src/apiserver/index.ts';
import { ApiError } from '../../../src/api/client.ts';
import { intercept } from '../../../src/api/interceptor.ts';
import { createApiClient } from '../../../src/api/rest/http-client.ts';
import { systemClock } from '../../../src/base/clock.ts';
import {
  type Client,
  createOrPatch,
  createOrUpdate,
  defineKind,
  newClient,
} from '../../../src/controller/index.ts';
import {
  type Deployment,
  connectionTo,
  deployment,
  startServer,
  Widget,
  widgetDefinition,
} from '../support.ts';
import { kinds } from '../../../src/controller/kinds.ts';

let api: EmbeddedApiServer;
let failReads = false;
let client: Client;
let connection: ReturnType<typeof createApiClient>;
const writes: string[] = [];
let at = 0;
let name = '';

/** Forgets the writes so far. */
const noting = (one: Client): Client => {
  writes.length = 0;
  return one;
};

beforeAll(async () => {
  api = await startServer();
  connection = createApiClient(connectionTo(api), { clock: systemClock });
  client = newClient(
    intercept(connection, {
      call: async ({ verb }, next) => {
        if (failReads) throw new ApiError(500, { message: 'expected error' });
        if (verb !== 'get') writes.push(verb);
        return await next();
      },
    }),
  );
  const definitions = defineKind({
    group: 'apiextensions.k8s.io',
    version: 'v1',
    kind: 'CustomResourceDefinition',
    namespaced: false,
  });
  await client.create(definitions, widgetDefinition);
});
afterAll(async () => {
  await connection.close();
  await api.stop();
});
beforeEach(() => {
  name = `d${++at}`;
  writes.length = 0;
});
const replicas = (count: number) => (object: Deployment) => {
  object.spec = { ...deployment(name).spec!, replicas: count };
};

describe.each([
  ['createOrUpdate', createOrUpdate, 'update'],
  ['createOrPatch', createOrPatch, 'patch'],
] as const)('controllerutil: %s', (_, act, write) => {
  const one = (): Deployment => ({ metadata: { namespace: 'default', name } });

  test('1 it creates an object that is not there, as mutate makes it', async () => {
    const { result, object } = await act(noting(client), kinds.Deployment, one(), replicas(5));
    expect([result, object.spec?.replicas, writes]).toEqual(['created', 5, ['create']]);
    expect(object.metadata?.uid).toBeDefined();
  });
  test('2 it changes an object that is there', async () => {
    await client.create(kinds.Deployment, deployment(name));
    const { result } = await act(noting(client), kinds.Deployment, one(), (object) => {
      object.spec!.replicas = 7;
    });
    expect([result, writes]).toEqual(['updated', [write]]);
    expect((await client.get(kinds.Deployment, { namespace: 'default', name })).spec?.replicas).toBe(7);
  });
  test('3 it writes nothing when nothing changes', async () => {
    const created = await client.create(kinds.Deployment, deployment(name));
    const { result, object } = await act(noting(client), kinds.Deployment, one(), (same) => {
      same.metadata!.labels ??= {};
      same.metadata!.finalizers ??= [];
    });
    expect([result, writes, object.metadata?.resourceVersion]).toEqual([
      'unchanged',
      [],
      created.metadata?.resourceVersion,
    ]);
  });
  test('4 mutate may not change name or namespace, of a new object or of one that is there', async () => {
    const rename = (object: Deployment): void => {
      object.metadata!.name = 'other';
    };
    const move = (object: Deployment): void => {
      object.metadata!.namespace = 'other';
    };
    const refused = 'must not change the name or the namespace';
    await expect(act(client, kinds.Deployment, one(), rename)).rejects.toThrow(refused);
    await client.create(kinds.Deployment, deployment(name));
    await expect(act(client, kinds.Deployment, one(), rename)).rejects.toThrow(refused);
    await expect(act(client, kinds.Deployment, one(), move)).rejects.toThrow(refused);
  });
  test('5 a failed read, and an error of mutate, write nothing', async () => {
    failReads = true;
    await expect(act(noting(client), kinds.Deployment, one(), replicas(1))).rejects.toThrow('expected error');
    failReads = false;
    const failing = () => Promise.reject(new Error('no spec'));
    await expect(act(noting(client), kinds.Deployment, one(), failing)).rejects.toThrow('no spec');
    expect(writes).toEqual([]);
  });
  test('6 an object without a name is refused', async () => {
    await expect(act(client, kinds.Deployment, { metadata: {} }, replicas(1))).rejects.toThrow(
      'Deployment: metadata.name is required',
    );
  });
  test('7 an update of an old state is a conflict', async () => {
    await client.create(kinds.Deployment, deployment(name));
    const racing = act(client, kinds.Deployment, one(), async (object) => {
      await client.patch(kinds.Deployment, one(), {
        type: 'merge',
        data: () => ({ metadata: { labels: { a: 'b' } } }),
      });
      object.spec!.replicas = 9;
    });
    if (write === 'update') await expect(racing).rejects.toMatchObject({ status: 409 });
    else expect((await racing).object.metadata?.labels).toEqual({ a: 'b' });
  });
});

describe('controllerutil: createOrPatch and the status', () => {
  const widget = (): Widget => ({ metadata: { namespace: 'default', name } });

  test('1 the status alone', async () => {
    await client.create(Widget, { ...widget(), spec: { size: 1 } });
    const { result, object } = await createOrPatch(noting(client), Widget, widget(), (one) => {
      one.status = { ready: true };
    });
    expect([result, object.status, writes]).toEqual(['updatedStatusOnly', { ready: true }, ['patch']]);
  });
  test('2 the object and its status', async () => {
    await client.create(Widget, { ...widget(), spec: { size: 1 } });
    const { result } = await createOrPatch(noting(client), Widget, widget(), (one) => {
      one.spec = { size: 2 };
      one.status = { size: 2 };
    });
    expect([result, writes]).toEqual(['updatedStatus', ['patch', 'patch']]);
    expect(await client.get(Widget, { namespace: 'default', name })).toMatchObject({
      spec: { size: 2 },
      status: { size: 2 },
    });
  });
});
