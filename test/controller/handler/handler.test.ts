import { describe, expect, test } from 'vitest';
import {
  enqueueRequestForObject,
  enqueueRequestForOwner,
  enqueueRequestsFromMapFunc,
  type EventHandler,
  handlerFuncs,
  withLowPriorityWhenUnchanged,
} from '../../../src/controller/handler/handler.ts';
import type { AddOptions, RequestQueue } from '../../../src/controller/queue/priority-queue.ts';
import type { Kind, KubeObject, ObjectMeta, Request } from '../../../src/controller/types.ts';

const replicaSets: Kind = {
  group: 'apps',
  version: 'v1',
  kind: 'ReplicaSet',
  resource: 'replicasets',
  namespaced: true,
};
const nodes: Kind = { group: '', version: 'v1', kind: 'Node', resource: 'nodes', namespaced: false };

const pod = (name: string, metadata: ObjectMeta = {}): KubeObject => ({
  metadata: { namespace: 'biz', name, ...metadata },
});
const owner = (name: string, more: object = {}) => ({
  apiVersion: 'apps/v1',
  kind: 'ReplicaSet',
  name,
  uid: `u-${name}`,
  ...more,
});

/** A queue that notes what is added, as `namespace/name@priority`. */
function noting(): {
  readonly queue: RequestQueue;
  readonly added: string[];
  readonly options: AddOptions[];
} {
  const added: string[] = [];
  const options: AddOptions[] = [];
  const note = (how: AddOptions, requests: readonly Request[]): void => {
    options.push(how);
    for (const { namespace, name } of requests) added.push(`${namespace}/${name}@${how.priority ?? 0}`);
  };
  return {
    added,
    options,
    queue: {
      add: (request) => {
        note({}, [request]);
      },
      addAfter: (request, after) => {
        note({ after }, [request]);
      },
      addRateLimited: (request) => {
        note({ rateLimited: true }, [request]);
      },
      addWithOpts: (how, ...requests) => {
        note(how, requests);
      },
    },
  };
}

type Name = 'create' | 'update' | 'delete' | 'generic';
async function handle(
  handler: EventHandler,
  name: Name,
  object: KubeObject,
  old = object,
): Promise<string[]> {
  const { queue, added } = noting();
  await (name === 'update'
    ? handler.update({ objectOld: old, objectNew: object }, queue)
    : handler[name]({ object }, queue));
  return added;
}
const all: readonly Name[] = ['create', 'update', 'delete', 'generic'];

describe('handler: enqueueRequestForObject', () => {
  test.each(all)('%# %s asks for the object of the event', async (name) => {
    expect(await handle(enqueueRequestForObject, name, pod('web'))).toEqual(['biz/web@0']);
  });
  test('4 a cluster-scoped object has no namespace', async () => {
    expect(await handle(enqueueRequestForObject, 'create', { metadata: { name: 'n1' } })).toEqual(['/n1@0']);
  });
  test.each(all)('5.%# %s without metadata asks for nothing', async (name) => {
    expect(await handle(enqueueRequestForObject, name, {})).toEqual([]);
  });
  test('6 it serves as a value and called', async () => {
    expect(await handle(enqueueRequestForObject(), 'create', pod('web'))).toEqual(['biz/web@0']);
  });
});

describe('handler: enqueueRequestsFromMapFunc', () => {
  const map = enqueueRequestsFromMapFunc((object) => [
    { namespace: 'foo', name: `${object.metadata?.name}-bar` },
    { namespace: 'biz', name: 'baz' },
  ]);
  test.each(['create', 'delete', 'generic'] as const)(
    '%# %s asks for what the function derives',
    async (name) => {
      expect(await handle(map, name, pod('web'))).toEqual(['foo/web-bar@0', 'biz/baz@0']);
    },
  );
  test('4 an update applies the function to both states, and asks for each request once', async () => {
    expect(await handle(map, 'update', pod('new'), pod('old'))).toEqual([
      'foo/old-bar@0',
      'biz/baz@0',
      'foo/new-bar@0',
    ]);
  });
  test('5 the function may be asynchronous', async () => {
    const later = enqueueRequestsFromMapFunc(async () => [{ namespace: 'a', name: 'b' }]);
    expect(await handle(later, 'update', pod('web'))).toEqual(['a/b@0']);
  });
});

describe('handler: enqueueRequestForOwner', () => {
  const every = enqueueRequestForOwner(replicaSets);
  const controller = enqueueRequestForOwner(replicaSets, { onlyController: true });
  const owned = (...owners: ReturnType<typeof owner>[]): KubeObject =>
    pod('web', { ownerReferences: owners });

  test.each(all)('%# %s asks for the owner', async (name) => {
    expect(await handle(every, name, owned(owner('rs')))).toEqual(['biz/rs@0']);
  });
  test('5 an update asks for the owners of both states', async () => {
    expect(await handle(every, 'update', owned(owner('new')), owned(owner('old')))).toEqual([
      'biz/old@0',
      'biz/new@0',
    ]);
  });
  test('6 an owner of both states is asked for once', async () => {
    expect(await handle(every, 'update', owned(owner('rs')), owned(owner('rs')))).toEqual(['biz/rs@0']);
  });
  test('7 owners of another group or kind are ignored', async () => {
    const others = [owner('a', { apiVersion: 'extensions/v1' }), owner('b', { kind: 'Deployment' })];
    expect(await handle(every, 'create', owned(...others))).toEqual([]);
  });
  test('8 the version of the owner does not matter', async () => {
    expect(await handle(every, 'create', owned(owner('rs', { apiVersion: 'apps/v1beta2' })))).toEqual([
      'biz/rs@0',
    ]);
  });
  test('9 a cluster-scoped owner has no namespace', async () => {
    const object = owned(owner('n1', { apiVersion: 'v1', kind: 'Node' }));
    expect(await handle(enqueueRequestForOwner(nodes), 'create', object)).toEqual(['/n1@0']);
  });
  test('10 without owners nothing is asked for', async () => {
    expect(await handle(every, 'create', pod('web'))).toEqual([]);
  });
  test('11 with onlyController, only the controller counts', async () => {
    const object = owned(owner('a'), owner('b', { controller: true }), owner('c'));
    expect(await handle(controller, 'create', object)).toEqual(['biz/b@0']);
  });
  test('12 with onlyController, an object without a controller is ignored', async () => {
    expect(await handle(controller, 'create', owned(owner('a')))).toEqual([]);
  });
  test('13 without it, all owners count', async () => {
    expect(await handle(every, 'create', owned(owner('a'), owner('b', { controller: true })))).toEqual([
      'biz/a@0',
      'biz/b@0',
    ]);
  });
  test('14 an apiVersion that is none is ignored', async () => {
    expect(await handle(every, 'create', owned(owner('a', { apiVersion: 'apps/bar/baz' })))).toEqual([]);
  });
});

describe('handler: handlerFuncs', () => {
  test.each(all)('%# %s calls its function, and no other', async (name) => {
    const calls: string[] = [];
    const one = handlerFuncs({ [name]: () => void calls.push(name) });
    for (const other of all) await handle(one, other, pod('web'));
    expect(calls).toEqual([name]);
  });
});

describe('handler: low priority of what is not news', () => {
  const cases: readonly [string, EventHandler][] = [
    ['enqueueRequestForObject', enqueueRequestForObject],
    ['enqueueRequestForOwner', enqueueRequestForOwner(replicaSets)],
    ['enqueueRequestsFromMapFunc', enqueueRequestsFromMapFunc(() => [{ namespace: 'biz', name: 'rs' }])],
    [
      'handlerFuncs with add',
      handlerFuncs({
        create: (_, queue) => {
          queue.add({ namespace: 'biz', name: 'rs' });
        },
        update: (_, queue) => {
          queue.add({ namespace: 'biz', name: 'rs' });
        },
      }),
    ],
    [
      'addAfter',
      withLowPriorityWhenUnchanged({
        ...handlerFuncs({}),
        create: (_, queue) => {
          queue.addAfter({ namespace: 'biz', name: 'rs' }, 5);
        },
        update: (_, queue) => {
          queue.addAfter({ namespace: 'biz', name: 'rs' }, 5);
        },
      }),
    ],
    [
      'addRateLimited',
      withLowPriorityWhenUnchanged({
        ...handlerFuncs({}),
        create: (_, queue) => {
          queue.addRateLimited({ namespace: 'biz', name: 'rs' });
        },
        update: (_, queue) => {
          queue.addRateLimited({ namespace: 'biz', name: 'rs' });
        },
      }),
    ],
  ];
  const object = pod('rs', { ownerReferences: [owner('rs')], resourceVersion: '7' });

  test.each(cases)('1 %s: an object of the first list has a low priority', async (_, handler) => {
    const { queue, added } = noting();
    await handler.create({ object, isInInitialList: true }, queue);
    expect(added).toEqual(['biz/rs@-100']);
  });
  test.each(cases)('2 %s: a new object has not', async (_, handler) => {
    const { queue, added } = noting();
    await handler.create({ object, isInInitialList: false }, queue);
    expect(added).toEqual(['biz/rs@0']);
  });
  test.each(cases)('3 %s: an update without a new version has a low priority', async (_, handler) => {
    expect(await handle(handler, 'update', object, structuredClone(object))).toEqual(['biz/rs@-100']);
  });
  test.each(cases)('4 %s: an update with a new version has not', async (_, handler) => {
    const newer = pod('rs', { ...object.metadata, resourceVersion: '8' });
    expect(await handle(handler, 'update', newer, object)).toEqual(['biz/rs@0']);
  });
  test('5 a priority that the handler states is retained', async () => {
    const { queue, added } = noting();
    const own = handlerFuncs({
      create: (_, one) => {
        one.addWithOpts({ priority: 3 }, { namespace: 'biz', name: 'rs' });
      },
    });
    await own.create({ object, isInInitialList: true }, queue);
    expect(added).toEqual(['biz/rs@3']);
  });
});
