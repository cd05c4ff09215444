import { describe, expect, test } from 'vitest';
import { settle } from '../../../src/base/fake-clock.ts';
import {
  enqueueRequestForObject,
  enqueueRequestsFromMapFunc,
  type EventHandler,
} from '../../../src/controller/handler/handler.ts';
import { predicateFuncs } from '../../../src/controller/predicate/predicate.ts';
import { informerSource } from '../../../src/controller/source/kind-source.ts';
import type { Informer, InformerEventHandler, KubeObject } from '../../../src/controller/types.ts';
import { benchController } from '../controller/bench-controller.ts';

const object = (name: string, resourceVersion = '1'): KubeObject => ({
  metadata: { namespace: 'default', name, resourceVersion },
});

/** An informer that a test drives. */
function drivenInformer() {
  const handlers = new Set<InformerEventHandler<KubeObject>>();
  let synced = false;
  const shown = Promise.withResolvers<undefined>();
  const informer: Informer = {
    addEventHandler: (handler) => {
      handlers.add(handler);
      return {
        hasSynced: () => synced,
        waitSynced: async () => {
          await shown.promise;
        },
        remove: () => void handlers.delete(handler),
      };
    },
    hasSynced: () => synced,
    isStopped: false,
  };
  return {
    informer,
    handlers,
    sync: () => {
      synced = true;
      shown.resolve(undefined);
    },
    emit: (send: (handler: InformerEventHandler<KubeObject>) => void) => {
      handlers.forEach(send);
    },
  };
}

async function started(handler: EventHandler, predicates = [predicateFuncs({})]) {
  const driven = drivenInformer();
  const seen: string[] = [];
  const bench = benchController(
    async ({ name }, { causes }) => void seen.push(`${name}: ${causes.map(({ type }) => type).join(' ')}`),
  );
  void bench.controller.watch(informerSource(driven.informer, handler, { predicates }));
  void bench.controller.start(bench.stop.signal);
  await settle();
  return { ...bench, ...driven, seen };
}

describe('informerSource', () => {
  test('1 no reconcile starts before the first list is shown', async () => {
    const { emit, sync, clock, seen, stop } = await started(enqueueRequestForObject);
    emit((handler) => {
      handler.added(object('a'), true);
    });
    await clock.advance(100);
    expect(seen).toEqual([]);
    sync();
    await clock.advance(10);
    expect(seen).toEqual(['a: create']);
    stop.abort();
  });

  test('2 events become causes: create, update, resync, delete', async () => {
    const { emit, sync, clock, seen, stop } = await started(enqueueRequestForObject);
    sync();
    await clock.advance(10);
    emit((handler) => {
      handler.added(object('a'), false);
    });
    await settle();
    emit((handler) => {
      handler.updated(object('a', '1'), object('a', '2'));
    });
    await settle();
    emit((handler) => {
      handler.updated(object('a', '2'), object('a', '2'));
    });
    await settle();
    emit((handler) => {
      handler.deleted(object('a', '3'), false);
    });
    await settle();
    expect(seen).toEqual(['a: create', 'a: update', 'a: resync', 'a: delete']);
    stop.abort();
  });

  test('3 a deletion that was missed says so to the handler', async () => {
    const events: unknown[] = [];
    const { emit, stop } = await started({
      create: () => undefined,
      update: () => undefined,
      delete: (event) => void events.push(event),
      generic: () => undefined,
    });
    emit((handler) => {
      handler.deleted(object('a'), true);
    });
    expect(events).toEqual([{ object: object('a'), deleteStateUnknown: true }]);
    stop.abort();
  });

  test('4 all predicates must let an event pass; one that throws holds it back and is logged', async () => {
    const { emit, sync, clock, seen, lines, stop } = await started(enqueueRequestForObject, [
      predicateFuncs(({ metadata }: KubeObject) => metadata?.name !== 'a'),
      predicateFuncs(({ metadata }: KubeObject) => {
        if (metadata?.name === 'b') throw new Error('bad predicate');
        return true;
      }),
    ]);
    sync();
    for (const name of ['a', 'b', 'c'])
      emit((handler) => {
        handler.added(object(name), false);
      });
    await clock.advance(10);
    expect(seen).toEqual(['c: create']);
    expect(lines.find(({ level }) => level === 'error')?.['err']).toBe(
      'event handler of informer source: bad predicate',
    );
    stop.abort();
  });

  test('5 the first list counts as shown when an asynchronous handler has finished with it', async () => {
    const waiting: (() => void)[] = [];
    const slow = enqueueRequestsFromMapFunc<KubeObject>(
      ({ metadata }) =>
        new Promise((resolve) =>
          waiting.push(() => {
            resolve([{ namespace: '', name: metadata?.name ?? '' }]);
          }),
        ),
    );
    const { emit, sync, clock, seen, queue, stop } = await started(slow);
    emit((handler) => {
      handler.added(object('a'), true);
    });
    queue().add({ namespace: '', name: 'other' });
    sync();
    await clock.advance(100);
    expect(seen).toEqual([]);
    waiting.forEach((end) => {
      end();
    });
    await settle();
    // the priority of what is not news
    expect(seen).toEqual(['other: ', 'a: create']);
    stop.abort();
  });

  test('6 after the stop its handler is removed', async () => {
    const { handlers, stop } = await started(enqueueRequestForObject);
    expect(handlers.size).toBe(1);
    stop.abort();
    expect(handlers.size).toBe(0);
  });

  test('7 it starts once, and needs a handler', async () => {
    const { informer } = drivenInformer();
    expect(() => informerSource(informer, undefined as unknown as EventHandler)).toThrow(
      'a handler is required',
    );
    const source = informerSource(informer, enqueueRequestForObject);
    const { controller, stop } = benchController(async () => undefined);
    void controller.watch(source);
    void controller.watch(source);
    await expect(controller.start(stop.signal)).rejects.toThrow('informer source was started before');
  });
});
