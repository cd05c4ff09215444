import { describe, expect, test } from 'vitest';
import { settle } from '../../../src/base/fake-clock.ts';
import { type Cause, type ReconcileContext, TerminalError } from '../../../src/controller/reconcile.ts';
import { exponentialFailureRateLimiter } from '../../../src/controller/queue/rate-limiter.ts';
import type { Source, SourceQueue } from '../../../src/controller/source/source.ts';
import type { Request } from '../../../src/controller/types.ts';
import { benchController, of } from './bench-controller.ts';

/** A reconciler whose calls a test ends one by one. */
function held() {
  const calls: { request: Request; context: ReconcileContext; end: (reason?: Error) => void }[] = [];
  return {
    calls,
    reconcile: (request: Request, context: ReconcileContext): Promise<void> =>
      new Promise((resolve, reject) => {
        const end = (reason?: Error): void => {
          if (reason) reject(reason);
          else resolve();
        };
        calls.push({ request, context, end });
      }),
  };
}

describe('controller: start', () => {
  test('1 it reconciles what its source asks for, and stops with its signal', async () => {
    const seen: Request[] = [];
    const { controller, stop, queue } = benchController(async (request) => void seen.push(request));
    const running = controller.start(stop.signal);
    await settle();
    queue().add(of('a'));
    await settle();
    stop.abort();
    await running;
    expect(seen).toEqual([of('a')]);
  });

  test('2 it fails when a source cannot start', async () => {
    const { controller, stop } = benchController(async () => undefined);
    void controller.watch({
      start: () => Promise.reject(new Error('no cluster')),
      toString: () => 'bad source',
    });
    await expect(controller.start(stop.signal)).rejects.toThrow(
      'controller web cannot start source bad source: no cluster',
    );
  });

  test('3 it fails when a source does not show its first list in time', async () => {
    const { controller, stop, clock } = benchController(async () => undefined, { cacheSyncTimeout: 10_000 });
    void controller.watch({
      start: () => undefined,
      waitForSync: () => new Promise(() => undefined),
      toString: () => 'slow source',
    });
    const failed = expect(controller.start(stop.signal)).rejects.toThrow(
      'failed to wait for web caches to sync slow source: timed out after 10000 ms',
    );
    await clock.advance(10_000);
    await failed;
  });

  test('4 it fails when the start of a source never returns', async () => {
    const { controller, stop, clock } = benchController(async () => undefined);
    void controller.watch({ start: () => new Promise(() => undefined), toString: () => 'stuck source' });
    const failed = expect(controller.start(stop.signal)).rejects.toThrow(
      'cannot start source stuck source: timed out after 120000 ms',
    );
    await clock.advance(120_000);
    await failed;
  });

  test('5 it does not fail when it is stopped while a source syncs', async () => {
    const { controller, stop } = benchController(async () => undefined);
    void controller.watch({
      start: () => undefined,
      waitForSync: () => new Promise(() => undefined),
      toString: () => 'slow source',
    });
    const running = controller.start(stop.signal);
    await settle();
    stop.abort();
    await running;
  });

  test('6 no reconcile starts before every source has shown its first list', async () => {
    const seen: string[] = [];
    const { controller, stop, queue } = benchController(async ({ name }) => void seen.push(name));
    let shown: () => void = () => undefined;
    const late: Source = {
      start: () => undefined,
      waitForSync: () => new Promise((resolve) => (shown = resolve)),
      toString: () => 'late source',
    };
    void controller.watch(late);
    const running = controller.start(stop.signal);
    await settle();
    queue().add(of('a'));
    await settle();
    expect(seen).toEqual([]);
    shown();
    await settle();
    expect(seen).toEqual(['a']);
    stop.abort();
    await running;
  });

  test('7 a second start is refused', async () => {
    const { controller, stop } = benchController(async () => undefined);
    const running = controller.start(stop.signal);
    await expect(controller.start(stop.signal)).rejects.toThrow('started more than once');
    stop.abort();
    await running;
  });

  test('8 a source that is added while it runs starts at once', async () => {
    const seen: string[] = [];
    const { controller, stop } = benchController(async ({ name }) => void seen.push(name));
    const running = controller.start(stop.signal);
    await settle();
    await controller.watch({
      start: (_, queue: SourceQueue) => {
        queue.add(of('late'));
      },
      toString: () => 'late',
    });
    await settle();
    expect(seen).toEqual(['late']);
    stop.abort();
    await running;
  });

  test('9 without a start, nothing runs and no timer waits', async () => {
    const { clock } = benchController(async () => undefined);
    await settle();
    expect(clock.pending).toBe(0);
  });

  test('10 after a stop, no timer waits', async () => {
    const { controller, stop, clock, queue } = benchController(async () => ({ requeueAfter: 1000 }), {
      reconciliationTimeout: 100,
    });
    const running = controller.start(stop.signal);
    await settle();
    queue().add(of('a'));
    await settle();
    stop.abort();
    await running;
    expect(clock.pending).toBe(0);
  });
});

describe('controller: keys', () => {
  test('1 a key is never reconciled twice at once; one that is asked for meanwhile runs again after it', async () => {
    const { calls, reconcile } = held();
    const { controller, stop, queue } = benchController(reconcile, { maxConcurrentReconciles: 4 });
    void controller.start(stop.signal);
    await settle();
    queue().add(of('a'));
    await settle();
    queue().add(of('a'));
    queue().add(of('a'));
    await settle();
    expect(calls).toHaveLength(1);
    calls[0]?.end();
    await settle();
    expect(calls).toHaveLength(2);
    calls[1]?.end();
    await settle();
    expect(calls).toHaveLength(2);
    stop.abort();
  });

  test('2 different keys are reconciled at once, up to maxConcurrentReconciles', async () => {
    const { calls, reconcile } = held();
    const { controller, stop, queue, metric } = benchController(reconcile, { maxConcurrentReconciles: 2 });
    void controller.start(stop.signal);
    await settle();
    queue().addWithOpts({}, of('a'), of('b'), of('c'));
    await settle();
    expect(calls.map(({ request }) => request.name)).toEqual(['a', 'b']);
    expect(metric('controller_runtime_active_workers')).toEqual(['{controller="web"} 2']);
    expect(metric('controller_runtime_max_concurrent_reconciles')).toEqual(['{controller="web"} 2']);
    calls[0]?.end();
    await settle();
    expect(calls).toHaveLength(3);
    stop.abort();
  });

  test('3 a stop waits for what runs, aborts its signal and starts nothing more', async () => {
    const { calls, reconcile } = held();
    const { controller, stop, queue } = benchController(reconcile);
    let stopped = false;
    const running = controller.start(stop.signal).then(() => (stopped = true));
    await settle();
    queue().addWithOpts({}, of('a'), of('b'));
    await settle();
    stop.abort();
    await settle();
    expect([stopped, calls.length, calls[0]?.context.signal.aborted]).toEqual([false, 1, true]);
    calls[0]?.end();
    await running;
    expect(calls).toHaveLength(1);
  });

  test('4 objects of a first list are reconciled after live events', async () => {
    const { calls, reconcile } = held();
    const { controller, stop, queue } = benchController(reconcile);
    void controller.start(stop.signal);
    await settle();
    queue().addWithOpts({ priority: -100 }, of('old-1'), of('old-2'), of('old-3'));
    await settle();
    queue().add(of('new'));
    for (let i = 0; i < 4; i++) {
      calls[i]?.end();
      await settle();
    }
    expect(calls.map(({ request }) => request.name)).toEqual(['old-1', 'new', 'old-2', 'old-3']);
    stop.abort();
  });
});

describe('controller: results', () => {
  async function started(...[reconcile, options]: Parameters<typeof benchController>) {
    const bench = benchController(reconcile, options);
    void bench.controller.start(bench.stop.signal);
    await settle();
    return bench;
  }

  test('1 an error is retried after 5 ms × 2ⁿ, and other items go on', async () => {
    const at: number[] = [];
    let now = 0;
    const bench = await started(async ({ name }) => {
      if (name === 'ok') return;
      at.push(bench.clock.now() - now);
      now = bench.clock.now();
      throw new Error('boom');
    });
    now = bench.clock.now();
    bench.queue().addWithOpts({}, of('bad'), of('ok'));
    await settle();
    await bench.clock.advance(5 + 10 + 20 + 40);
    expect(at).toEqual([0, 5, 10, 20, 40]);
    expect(bench.metric('controller_runtime_reconcile_total')).toEqual([
      '{controller="web",result="error"} 5',
      '{controller="web",result="requeue_after"} 0',
      '{controller="web",result="requeue"} 0',
      '{controller="web",result="success"} 1',
    ]);
    expect(bench.metric('controller_runtime_reconcile_errors_total')).toEqual(['{controller="web"} 5']);
    expect(bench.metric('workqueue_retries_total')).toEqual(['{name="web",controller="web"} 5']);
    bench.stop.abort();
  });

  test('2 a terminal error is logged and counted, and not retried', async () => {
    let runs = 0;
    const bench = await started(async () => {
      runs++;
      throw new TerminalError(new Error('bad spec'));
    });
    bench.queue().add(of('a'));
    await bench.clock.advance(10_000_000);
    expect(runs).toBe(1);
    expect(bench.metric('controller_runtime_terminal_reconcile_errors_total')).toEqual([
      '{controller="web"} 1',
    ]);
    expect(bench.metric('controller_runtime_reconcile_errors_total')).toEqual(['{controller="web"} 1']);
    expect(bench.lines.find(({ level }) => level === 'error')?.['err']).toBe('terminal error: bad spec');
    bench.stop.abort();
  });

  test('3 the back-off is forgotten with the first result that is no error', async () => {
    const outcomes: (Error | undefined)[] = [new Error('1'), new Error('2'), undefined, new Error('3')];
    const bench = await started(async () => {
      const outcome = outcomes.shift();
      if (outcome) throw outcome;
    });
    bench.queue().add(of('a'));
    await bench.clock.advance(5);
    expect(bench.controller.queue.numRequeues(of('a'))).toBe(2);
    await bench.clock.advance(10);
    expect(bench.controller.queue.numRequeues(of('a'))).toBe(0);
    bench.queue().add(of('a'));
    await settle();
    expect(bench.controller.queue.numRequeues(of('a'))).toBe(1);
    bench.stop.abort();
  });

  test('4 requeue runs again after the back-off', async () => {
    let runs = 0;
    const bench = await started(async () => ({ requeue: ++runs < 3 }));
    bench.queue().add(of('a'));
    await settle();
    await bench.clock.advance(4);
    expect(runs).toBe(1);
    await bench.clock.advance(1);
    expect([runs, bench.controller.queue.numRequeues(of('a'))]).toEqual([2, 2]);
    await bench.clock.advance(10);
    expect([runs, bench.controller.queue.numRequeues(of('a'))]).toEqual([3, 0]);
    expect(bench.metric('controller_runtime_reconcile_total')[2]).toBe(
      '{controller="web",result="requeue"} 2',
    );
    bench.stop.abort();
  });

  test('5 requeueAfter runs again after that time and forgets the back-off, also beside requeue', async () => {
    const results = [undefined, { requeueAfter: 60_000, requeue: true }, {}];
    let runs = 0;
    const bench = await started(async () => {
      const result = results[runs++];
      if (!result) throw new Error('first');
      return result;
    });
    bench.queue().add(of('a'));
    await bench.clock.advance(5);
    expect([runs, bench.controller.queue.numRequeues(of('a'))]).toEqual([2, 0]);
    await bench.clock.advance(59_999);
    expect(runs).toBe(2);
    await bench.clock.advance(1);
    expect(runs).toBe(3);
    expect(bench.metric('controller_runtime_reconcile_total')[1]).toBe(
      '{controller="web",result="requeue_after"} 1',
    );
    bench.stop.abort();
  });

  test('6 a request keeps its priority when it is queued again', async () => {
    for (const result of [{ requeue: true }, { requeueAfter: 5 }, new Error('x')]) {
      const bench = await started(async () => {
        if (result instanceof Error) throw result;
        return result;
      });
      bench.queue().addWithOpts({ priority: 7 }, of('a'));
      await settle();
      bench.stop.abort();
      expect(bench.metric('workqueue_depth').filter((line) => line.includes('"7"'))).toHaveLength(1);
    }
  });

  test('7 the priority of the result applies to what is queued again', async () => {
    const causes: (readonly Cause[])[] = [];
    let runs = 0;
    const bench = await started(async (_, context) => {
      causes.push(context.causes);
      return runs++ === 0 ? { requeueAfter: 5, priority: 9 } : undefined;
    });
    bench.queue().add(of('a'));
    await bench.clock.advance(5);
    expect(bench.metric('workqueue_depth')).toContain('{name="web",controller="web",priority="9"} 0');
    expect(causes[1]?.map(({ type, source }) => [type, source])).toEqual([['requeue', 'web']]);
    bench.stop.abort();
  });

  test('8 a TypeError of the program is a panic: counted, logged with its stack and retried', async () => {
    let runs = 0;
    const bench = await started(async () => {
      if (runs++ === 0) (undefined as unknown as { x: () => void }).x();
    });
    bench.queue().add(of('a'));
    await bench.clock.advance(5);
    expect(runs).toBe(2);
    expect(bench.metric('controller_runtime_reconcile_panics_total')).toEqual(['{controller="web"} 1']);
    const line = bench.lines.find(({ level }) => level === 'error');
    expect(line?.['err']).toMatch(/^panic: Cannot read .* \[recovered\]$/);
    expect(line?.['stack']).toContain('controller.test.ts');
    bench.stop.abort();
  });

  test('9 with recoverPanic false a panic ends the controller, once the other reconciles have ended', async () => {
    const { calls, reconcile } = held();
    const bench = benchController(
      async (request, context) => {
        if (request.name === 'bad') throw new RangeError('out of range');
        await reconcile(request, context);
      },
      { recoverPanic: false, maxConcurrentReconciles: 2 },
    );
    const running = bench.controller.start(bench.stop.signal);
    const failed = expect(running).rejects.toThrow('out of range');
    await settle();
    bench.queue().addWithOpts({}, of('good'), of('bad'));
    await settle();
    expect(calls[0]?.context.signal.aborted).toBe(true);
    calls[0]?.end();
    await failed;
    expect(bench.metric('controller_runtime_reconcile_panics_total')).toEqual(['{controller="web"} 1']);
  });

  test('10 a thrown value that is no error is a panic, an error of a call is none', async () => {
    const thrown: unknown[] = [
      'text',
      new TypeError('fetch failed', { cause: new Error('ECONNREFUSED') }),
      new Error('x'),
    ];
    const bench = await started(async () => {
      if (thrown.length > 0) throw thrown.shift();
    });
    bench.queue().add(of('a'));
    await bench.clock.advance(1000);
    expect(bench.metric('controller_runtime_reconcile_panics_total')).toEqual(['{controller="web"} 1']);
    bench.stop.abort();
  });

  test('11 the reconciliation time-out aborts the signal, is counted, and the key stays exclusive until the end', async () => {
    const { calls, reconcile } = held();
    const bench = benchController(reconcile, { reconciliationTimeout: 1000 });
    void bench.controller.start(bench.stop.signal);
    await settle();
    bench.queue().add(of('a'));
    await bench.clock.advance(999);
    expect(calls[0]?.context.signal.aborted).toBe(false);
    await bench.clock.advance(1);
    expect(calls[0]?.context.signal.aborted).toBe(true);
    expect(String(calls[0]?.context.signal.reason)).toContain('longer than 1000 ms');
    bench.queue().add(of('a'));
    await settle();
    expect(calls).toHaveLength(1);
    calls[0]?.end(new Error('cut'));
    await settle();
    expect(calls).toHaveLength(2);
    expect(bench.metric('controller_runtime_reconcile_timeouts_total')).toEqual(['{controller="web"} 1']);
    bench.stop.abort();
  });

  test('12 a reconcile that ends in time, and a stop, count no time-out', async () => {
    const bench = await started(async () => undefined, { reconciliationTimeout: 1000 });
    bench.queue().add(of('a'));
    await bench.clock.advance(5000);
    bench.stop.abort();
    expect(bench.metric('controller_runtime_reconcile_timeouts_total')).toEqual(['{controller="web"} 0']);
    expect(bench.clock.pending).toBe(0);
  });

  test('13 the time of a reconcile and of the work is observed', async () => {
    const bench = await started(async () => bench.clock.sleep(300));
    bench.queue().add(of('a'));
    await bench.clock.advance(300);
    expect(bench.metric('controller_runtime_reconcile_time_seconds_sum')).toEqual(['{controller="web"} 0.3']);
    expect(bench.metric('controller_runtime_reconcile_time_seconds_bucket')[8]).toBe(
      '{controller="web",le="0.3"} 1',
    );
    expect(bench.metric('workqueue_work_duration_seconds_count')).toEqual([
      '{name="web",controller="web"} 1',
    ]);
    expect(bench.metric('workqueue_queue_duration_seconds_count')).toEqual([
      '{name="web",controller="web"} 1',
    ]);
    bench.stop.abort();
  });

  test('14 work that is stuck is seen', async () => {
    const bench = await started(() => new Promise(() => undefined), { maxConcurrentReconciles: 2 });
    bench.queue().add(of('a'));
    await bench.clock.advance(4000);
    bench.queue().add(of('b'));
    await bench.clock.advance(1000);
    expect(bench.metric('workqueue_unfinished_work_seconds')).toEqual(['{name="web",controller="web"} 6']);
    expect(bench.metric('workqueue_longest_running_processor_seconds')).toEqual([
      '{name="web",controller="web"} 5',
    ]);
  });

  test('15 all series are there before the first reconcile', async () => {
    const { metric } = benchController(async () => undefined);
    for (const name of ['errors_total', 'panics_total', 'timeouts_total'])
      expect(metric(`controller_runtime_reconcile_${name}`)).toEqual(['{controller="web"} 0']);
    expect(metric('controller_runtime_reconcile_total')).toHaveLength(4);
    expect(metric('workqueue_depth')).toEqual(['{name="web",controller="web",priority="0"} 0']);
    expect(metric('workqueue_adds_total')).toEqual(['{name="web",controller="web"} 0']);
  });

  test('16 of more than 25 priorities the rest share one series', async () => {
    const bench = await started(async () => undefined);
    for (let priority = 1; priority <= 40; priority++)
      bench.queue().addWithOpts({ priority }, of(`a${priority}`));
    await settle();
    expect(bench.metric('workqueue_depth')).toHaveLength(26);
    expect(bench.metric('workqueue_depth')).toContain(
      '{name="web",controller="web",priority="exceeded_cardinality_limit"} 0',
    );
    bench.stop.abort();
  });

  test('17 own limits of retries replace the default', async () => {
    let runs = 0;
    const bench = await started(
      async () => {
        runs++;
        throw new Error('x');
      },
      { rateLimiter: exponentialFailureRateLimiter({ baseMs: 1000 }) },
    );
    bench.queue().add(of('a'));
    await bench.clock.advance(999);
    expect(runs).toBe(1);
    await bench.clock.advance(1);
    expect(runs).toBe(2);
    bench.stop.abort();
  });
});

describe('controller: context', () => {
  test('1 the logger carries controller, kind, namespace, name and a reconcileID that differs each time', async () => {
    const ids: string[] = [];
    const bench = benchController(async (_, { logger, reconcileID }) => {
      ids.push(reconcileID);
      logger.info('hello', { extra: 1 });
    });
    void bench.controller.start(bench.stop.signal);
    await settle();
    bench.queue().add(of('a', 'ns'));
    await settle();
    bench.queue().add(of('a', 'ns'));
    await settle();
    const [first, second] = bench.lines.filter(({ message }) => message === 'hello');
    expect(first).toEqual({
      level: 'info',
      message: 'hello',
      extra: 1,
      controller: 'web',
      kind: 'Web',
      namespace: 'ns',
      name: 'a',
      reconcileID: ids[0],
    });
    expect(second?.['reconcileID']).toBe(ids[1]);
    expect(ids[0]).not.toBe(ids[1]);
    bench.stop.abort();
  });

  test('2 the causes are what asked for it since the last one, oldest first', async () => {
    const seen: (readonly Cause[])[] = [];
    let fail = true;
    const bench = benchController(async (_, { causes }) => {
      seen.push(causes);
      if (fail) throw new Error('x');
    });
    void bench.controller.start(bench.stop.signal);
    await settle();
    bench
      .queue()
      .addWithOpts(
        { cause: { type: 'create', source: 's', object: { kind: 'Web', namespace: 'default', name: 'a' } } },
        of('a'),
      );
    bench.queue().addWithOpts({ cause: { type: 'update', source: 's' } }, of('a'));
    await settle();
    fail = false;
    bench.queue().addWithOpts({ cause: { type: 'delete', source: 's' } }, of('a'));
    await settle();
    expect(seen.map((causes) => causes.map(({ type }) => type))).toEqual([
      ['create', 'update'],
      ['retry', 'delete'],
    ]);
    expect(seen[0]?.[0]).toEqual({
      type: 'create',
      source: 's',
      object: { kind: 'Web', namespace: 'default', name: 'a' },
      at: 1_000_000,
    });
    bench.stop.abort();
  });

  test('3 reconcile() runs one request outside of the queue', async () => {
    const bench = benchController(async ({ name }) => {
      if (name === 'bad') throw new Error('no');
      return { requeueAfter: 5 };
    });
    expect(await bench.controller.reconcile(of('a'), bench.stop.signal)).toEqual({ requeueAfter: 5 });
    await expect(bench.controller.reconcile(of('bad'), bench.stop.signal)).rejects.toThrow('no');
  });
});

describe('controller: warm-up', () => {
  test('1 it starts the sources, and reconciles only after the start', async () => {
    const seen: string[] = [];
    const bench = benchController(async ({ name }) => void seen.push(name), { enableWarmup: true });
    await bench.controller.warmup(bench.stop.signal);
    bench.queue().add(of('a'));
    await settle();
    expect(seen).toEqual([]);
    void bench.controller.start(bench.stop.signal);
    await settle();
    expect(seen).toEqual(['a']);
    bench.stop.abort();
  });

  test('2 without enableWarmup it does nothing', async () => {
    const bench = benchController(async () => undefined);
    await bench.controller.warmup(bench.stop.signal);
    expect(() => bench.queue()).toThrow('has not started');
  });

  test('3 the sources start once, and the start waits for a warm-up that runs', async () => {
    let starts = 0;
    let shown: () => void = () => undefined;
    const bench = benchController(async () => undefined, { enableWarmup: true });
    void bench.controller.watch({
      start: () => {
        starts++;
      },
      waitForSync: () => new Promise((resolve) => (shown = resolve)),
      toString: () => 's',
    });
    const warm = bench.controller.warmup(bench.stop.signal);
    void bench.controller.start(bench.stop.signal);
    await settle();
    expect(bench.lines.some(({ message }) => message === 'starting workers')).toBe(false);
    shown();
    await warm;
    await settle();
    expect(bench.lines.some(({ message }) => message === 'starting workers')).toBe(true);
    expect(starts).toBe(1);
    bench.stop.abort();
  });

  test('4 a source that fails fails the warm-up and the start', async () => {
    const bench = benchController(async () => undefined, { enableWarmup: true });
    void bench.controller.watch({ start: () => Promise.reject(new Error('no')), toString: () => 's' });
    await expect(bench.controller.warmup(bench.stop.signal)).rejects.toThrow('no');
    await expect(bench.controller.start(bench.stop.signal)).rejects.toThrow('no');
  });
});
