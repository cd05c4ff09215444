import { expect, test } from 'vitest';
import { useOf } from '../../../src/apiserver/metrics-server/resource-usage.ts';
import { UsageReader } from '../../../src/apiserver/metrics-server/usage-reader.ts';
import { FakeClock } from '../../../src/base/fake-clock.ts';
import { silentLogger } from '../../../src/base/logger.ts';

const neverStops = new AbortController().signal;

const labels = (name: string): string => `{container="c",namespace="ns",pod="p-${name}"}`;

/** A reader of nodes that use half a core each, as long as they answer. */
function bed(names: readonly string[], stop: AbortSignal = neverStops) {
  const clock = new FakeClock(1_000_000);
  const asked: string[] = [];
  const silent = new Set<string>();
  const warned: unknown[] = [];
  const kubelets = {
    text: (name: string, path: string, signal: AbortSignal): Promise<string> => {
      asked.push(`${name}${path}`);
      if (silent.has(name))
        return new Promise((_, reject) => {
          signal.addEventListener('abort', () => {
            reject(new Error('too late'));
          });
        });
      const cpu = clock.now() / 2000;
      return Promise.resolve(
        `node_cpu_usage_seconds_total ${cpu}\nnode_memory_working_set_bytes 10\n` +
          `container_cpu_usage_seconds_total${labels(name)} ${cpu}\ncontainer_memory_working_set_bytes${labels(name)} 5\n`,
      );
    },
  };
  const store = {
    *list() {
      for (const key of names) yield { key, version: 1, object: {}, json: '' };
    },
  };
  const logger = { ...silentLogger, warn: (_: string, fields: unknown) => void warned.push(fields) };
  const reader = new UsageReader({ store, clock, logger, kubelets, stopping: stop });
  const use = async (name: string): Promise<unknown> => {
    const pair = (await reader.usage()).nodes.get(name);
    return pair && useOf(pair);
  };
  return { clock, asked, silent, warned, reader, use };
}

const half = { cpuNanoCores: 500_000_000, memoryBytes: 10 };

test('the first request waits a second for a rate; concurrent requests wait for the same one', async () => {
  const { clock, asked, reader, use } = bed(['a', 'b']);
  expect([asked, clock.pending], 'nothing goes on while nobody asks').toEqual([[], 0]);
  const both = Promise.all([use('a'), use('b')]);
  await clock.advance(999);
  expect(asked).toEqual(['a/metrics/resource', 'b/metrics/resource']);
  await clock.advance(1);
  expect(await both).toEqual(Array(2).fill({ ...half, at: 1_001_000, windowMs: 1000 }));
  const container = (await reader.usage()).pods.get('ns/p-b')?.get('c');
  expect(container && useOf(container)).toMatchObject({ cpuNanoCores: 500_000_000, memoryBytes: 5 });
  expect([asked.length, clock.pending]).toEqual([4, 0]);
});

test('an answer is good for 15 seconds, and the next needs one reading only', async () => {
  const { clock, asked, use } = bed(['a']);
  const first = use('a');
  await clock.advance(1000);
  await first;
  await clock.advance(14_999);
  expect(await use('a')).toMatchObject({ windowMs: 1000 });
  expect(asked).toHaveLength(2);
  await clock.advance(1);
  expect(await use('a')).toEqual({ ...half, at: 1_016_000, windowMs: 15_000 });
  expect(asked).toHaveLength(3);
});

test('after a long silence the rate is one of now again', async () => {
  const { clock, use } = bed(['a']);
  const first = use('a');
  await clock.advance(1000);
  await first;
  await clock.advance(3_600_000);
  const next = use('a');
  await clock.advance(1000);
  expect(await next).toMatchObject({ windowMs: 1000 });
});

test('a kubelet that does not answer is left out after five seconds, and comes back', async () => {
  const { clock, silent, warned, use, reader } = bed(['a', 'b']);
  silent.add('b');
  const first = reader.usage();
  await clock.advance(5000 + 1000 + 5000);
  expect([...(await first).nodes.keys()]).toEqual(['a']);
  expect(warned[0]).toEqual({ node: 'b', err: 'too late' });
  silent.clear();
  await clock.advance(15_000);
  const next = use('b');
  await clock.advance(1000);
  expect(await next).toMatchObject(half);
});

test('a server that stops does not wait for the second reading', async () => {
  const stop = new AbortController();
  const { clock, reader } = bed(['a'], stop.signal);
  const ended = reader.usage().catch((reason: unknown) => reason);
  await clock.advance(10);
  stop.abort(new Error('stopping'));
  expect(await ended).toEqual(new Error('stopping'));
  expect(clock.pending).toBe(0);
});
