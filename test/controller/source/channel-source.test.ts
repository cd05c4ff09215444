import { PassThrough } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { settle } from '../../../src/base/fake-clock.ts';
import {
  enqueueRequestForObject,
  enqueueRequestsFromMapFunc,
} from '../../../src/controller/handler/handler.ts';
import { predicateFuncs } from '../../../src/controller/predicate/predicate.ts';
import { channelSource, funcSource } from '../../../src/controller/source/channel-source.ts';
import type { KubeObject } from '../../../src/controller/types.ts';
import { benchController } from '../controller/bench-controller.ts';

const object = (name: string): { object: KubeObject } => ({
  object: { kind: 'Web', metadata: { namespace: 'default', name } },
});

async function started(source: ReturnType<typeof channelSource>) {
  const seen: string[] = [];
  const causes: string[] = [];
  const bench = benchController(async ({ name }, context) => {
    seen.push(name);
    causes.push(
      ...context.causes.map(
        ({ type, source: from, object: of }) => `${type} of ${from}: ${of?.kind ?? ''} ${of?.name ?? ''}`,
      ),
    );
  });
  void bench.controller.watch(source);
  void bench.controller.start(bench.stop.signal);
  await settle();
  return { ...bench, seen, causes };
}

describe('channelSource', () => {
  test('1 each event reconciles its object, with the cause', async () => {
    const events = new PassThrough({ objectMode: true });
    const { seen, causes, stop } = await started(channelSource(events, enqueueRequestForObject));
    events.write(object('a'));
    await settle();
    expect([seen, causes]).toEqual([['a'], ['generic of channel source: Web a']]);
    stop.abort();
  });

  test('2 events from before the start are delivered', async () => {
    const events = new PassThrough({ objectMode: true });
    events.write(object('a'));
    events.write(object('b'));
    const { seen, stop } = await started(channelSource(events, enqueueRequestForObject));
    await settle();
    expect(seen).toEqual(['a', 'b']);
    stop.abort();
  });

  test('3 predicates hold events back', async () => {
    const events = new PassThrough({ objectMode: true });
    const predicates = [predicateFuncs(({ metadata }: KubeObject) => metadata?.name !== 'hidden')];
    const { seen, stop } = await started(channelSource(events, enqueueRequestForObject, { predicates }));
    for (const name of ['hidden', 'b']) events.write(object(name));
    await settle();
    expect(seen).toEqual(['b']);
    stop.abort();
  });

  test('4 it ends with the events; the controller goes on', async () => {
    async function* few() {
      yield object('a');
    }
    const { seen, stop, lines, queue } = await started(channelSource(few(), enqueueRequestForObject));
    queue().add({ namespace: 'default', name: 'later' });
    await settle();
    expect([seen, lines.filter(({ level }) => level === 'error')]).toEqual([['a', 'later'], []]);
    stop.abort();
  });

  test('5 a failure of the events is logged; the controller goes on', async () => {
    async function* broken(): AsyncGenerator<{ object: KubeObject }> {
      yield object('a');
      throw new Error('queue is gone');
    }
    const { seen, stop, lines } = await started(channelSource(broken(), enqueueRequestForObject));
    expect(seen).toEqual(['a']);
    expect(lines.find(({ level }) => level === 'error')?.['err']).toBe('channel source ended: queue is gone');
    stop.abort();
  });

  test('6 a handler that throws loses its event, not the source', async () => {
    const events = new PassThrough({ objectMode: true });
    const fragile = enqueueRequestsFromMapFunc(({ metadata }) => {
      if (metadata?.name === 'bad') throw new Error('no map');
      return [{ namespace: '', name: metadata?.name ?? '' }];
    });
    const { seen, stop, lines } = await started(channelSource(events, fragile));
    for (const name of ['bad', 'good']) events.write(object(name));
    await settle();
    expect(seen).toEqual(['good']);
    expect(lines.find(({ level }) => level === 'error')?.['err']).toBe(
      'event handler of channel source: no map',
    );
    stop.abort();
  });

  test('7 with a slow handler it reads no more ahead than bufferSize', async () => {
    let produced = 0;
    async function* endless() {
      for (;;) {
        produced++;
        yield object(`a${produced}`);
      }
    }
    const never = enqueueRequestsFromMapFunc(() => new Promise<never>(() => undefined));
    const { stop } = await started(channelSource(endless(), never, { bufferSize: 3 }));
    await settle();
    expect(produced).toBe(3);
    stop.abort();
  });

  test('8 without events there is no source', () => {
    expect(() =>
      channelSource(undefined as unknown as AsyncIterable<{ object: KubeObject }>, enqueueRequestForObject),
    ).toThrow('an async iterable of events is required');
  });
});

test('funcSource: the function is called with the queue and a signal that ends with the controller', async () => {
  let ended = false;
  const { seen, stop } = await started(
    funcSource((signal, queue) => {
      signal.addEventListener('abort', () => (ended = true));
      queue.add({ namespace: 'x', name: 'y' });
    }),
  );
  expect([seen, ended]).toEqual([['y'], false]);
  stop.abort();
  expect(ended).toBe(true);
});
