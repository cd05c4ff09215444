import { expect, test } from 'vitest';
import type { SimulateOptions } from '../../src/app/simulate-options.ts';
import type { RunningSimulation } from '../../src/app/simulate.ts';
import { FakeClock, settle } from '../../src/base/fake-clock.ts';
import { AgentError } from '../../src/base/errors.ts';
import { simulate } from '../../src/cli/simulate.ts';

const options: SimulateOptions = {
  ...{ nodes: 2, podsPerNode: 3, stages: [], seed: '0', output: 'json', port: 0, kubeletPort: 0 },
  ...{ nodePrefix: 'node', namespace: 'default', logLevel: 'error', forMs: 2500, shardLeaseMs: 15_000 },
};

function surroundings(isTTY = false) {
  const clock = new FakeClock();
  const failure = Promise.withResolvers<Error>();
  const written: string[] = [];
  let closed = 0;
  let signal: (() => void) | undefined;
  const running: RunningSimulation = {
    serverUrl: 'https://s',
    kubeconfigPath: '/k',
    counts: () => ({ nodes: 2, nodesReady: 1, pods: 6, podsReady: 5 }),
    usage: () => ({ cpuSeconds: 1.2345, rssMiB: 100.06 }),
    failed: failure.promise,
    close: async () => {
      closed += 1;
    },
  };
  const deps = {
    clock,
    start: () => Promise.resolve(running),
    stdout: { isTTY, write: (text: string) => written.push(text) },
    onSignal: (listener: () => void) => {
      signal = listener;
      return () => (signal = undefined);
    },
  };
  return { clock, deps, written, failure, closed: () => closed, signal: () => signal?.() };
}

const numbers = { nodes: 2, nodesReady: 1, pods: 6, podsReady: 5, cpuSeconds: 1.23, rssMiB: 100.1 };

test('with JSON: a line at the start, one each second, and the summary last', async () => {
  const { clock, deps, written, closed } = surroundings();
  const code = simulate(options, deps);
  await clock.advance(2500);
  expect(await code).toBe(0);
  expect(
    written
      .join('')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as unknown),
  ).toEqual([
    { type: 'started', kubeconfig: '/k', server: 'https://s' },
    { type: 'progress', ...numbers },
    { type: 'progress', ...numbers },
    { type: 'summary', ...numbers },
  ]);
  expect([closed(), clock.pending]).toEqual([1, 0]);
});

test('a signal ends it; on a terminal bars show what is Ready, in place', async () => {
  const { forMs: _, ...endless } = options;
  const { clock, deps, written, signal, closed } = surroundings(true);
  const code = simulate({ ...endless, output: 'text' }, deps);
  await clock.advance(2000);
  signal();
  expect(await code).toBe(0);
  expect(closed()).toBe(1);
  expect(written[0]).toBe('API server: https://s\nexport KUBECONFIG=/k\n');
  const bars = [
    `nodes  ${'█'.repeat(16)}${'░'.repeat(16)}  1 of 2 Ready\n`,
    `pods   ${'█'.repeat(26)}${'░'.repeat(6)}  5 of 6 Ready\n`,
  ].join('');
  expect(written[1]).toBe(`${bars}1s, 1.2 s CPU, 0 % of a core now, 100 MiB\n`);
  expect(written[2]).toBe(`\u001b[3A\u001b[J${bars}2s, 1.2 s CPU, 0 % of a core now, 100 MiB\n`);
  expect(written.at(-1)).toMatch(/^1 of 2 nodes Ready, 5 of 6 pods Ready/);
});

test('a failure is reported, and the summary still comes last', async () => {
  const { deps, written, failure } = surroundings();
  const code = simulate(options, deps);
  await settle();
  failure.resolve(new AgentError('unavailable', 'gone'));
  expect(await code).not.toBe(0);
  expect(written.join('')).toContain('gone');
  expect(written.at(-1)).toContain('"type":"summary"');
});
