import { describe, expect, test } from 'vitest';
import { FakeClock } from '../../src/base/fake-clock.ts';
import { silentLogger as logger } from '../../src/base/logger.ts';
import {
  type FaultRecord,
  type FaultTarget,
  faultsOf,
  nodesOfFault,
  runFaults,
} from '../../src/simulate/faults.ts';
import { KeyedRandom } from '../../src/simulate/keyed-random.ts';
import { nodeNames } from '../../src/simulate/node-names.ts';

const schedule = `
faults:
- { fault: heartbeatStop, at: 1s, for: 1900ms, nodes: [node-1, other] }
- { fault: kubeletRestart, at: 2s, every: 5s, nodes: 10% }
- { fault: machineRestart, at: 4s, nodes: 1 }
- { fault: apiServerLoss, at: 3s, for: 1500ms, nodes: 20% }
- { fault: capacity, at: 500ms, for: 1s, nodes: 2, capacity: { cpu: 1 } }
`;
const nodes = nodeNames('node', 20);

async function play(seed: string): Promise<{ readonly history: FaultRecord[]; readonly calls: string[] }> {
  const clock = new FakeClock();
  const history: FaultRecord[] = [];
  const calls: string[] = [];
  const note = (...words: readonly unknown[]): void =>
    void calls.push(`${clock.now()} ${words.map((word) => JSON.stringify(word)).join(' ')}`);
  const target: FaultTarget = {
    setHeartbeat: (node, beats) => {
      note(node, 'beats', beats);
    },
    disconnect: (node) => {
      note(node, 'off');
    },
    reconnect: (node) => {
      note(node, 'on');
    },
    restart: async (node, machineToo) => {
      note(node, 'restart', machineToo);
    },
    claim: async (node, capacity) => {
      note(node, capacity ?? null);
      if (node === 'node-1') throw new Error('gone');
    },
  };
  const stop = new AbortController();
  const chance = new KeyedRandom(seed);
  const deps = {
    clock,
    logger,
    chance,
    target,
    nodes,
    onFault: (record: FaultRecord) => void history.push(record),
  };
  const running = runFaults(faultsOf(schedule, 'f'), deps, stop.signal);
  await clock.advance(13_000);
  stop.abort();
  await running;
  expect(clock.pending).toBe(0);
  return { history, calls };
}

describe('a schedule of faults', () => {
  test('each begins and ends at its time, on its nodes; a restart comes again', async () => {
    const { history, calls } = await play('0');
    const times = history.map(
      ({ fault, phase, atMs, nodes: of }) => `${atMs} ${fault} ${phase} ${of.length}`,
    );
    expect(times).toEqual([
      '500 capacity begin 2',
      '1000 heartbeatStop begin 1',
      '1500 capacity end 2',
      '2000 kubeletRestart begin 2',
      '2900 heartbeatStop end 1',
      '3000 apiServerLoss begin 4',
      '4000 machineRestart begin 1',
      '4500 apiServerLoss end 4',
      '7000 kubeletRestart begin 2',
      '12000 kubeletRestart begin 2',
    ]);
    expect(calls).toContain('1000 "node-1" "beats" false');
    expect(calls).toContain('2900 "node-1" "beats" true');
    expect(calls.filter((call) => call.includes('{"cpu":"1"}'))).toHaveLength(2);
  });

  test('a seed replays it exactly; another seed chooses other nodes', async () => {
    const [first, second, other] = [await play('0'), await play('0'), await play('1')];
    expect(second).toEqual(first);
    expect(other.history).not.toEqual(first.history);
  });
});

test('names that the simulation does not have are left out', () => {
  const [fault] = faultsOf('faults: [{ fault: heartbeatStop, nodes: [node-3, x] }]', 'f');
  const chance = new KeyedRandom('0');
  expect(fault && nodesOfFault(fault, nodes, { chance, key: 'k' })).toEqual(['node-3']);
});

test.each([
  ['a: 1', 'f: must have a list "faults"'],
  ['faults: [{ fault: fire }]', 'f: faults[0].fault: must be one of heartbeatStop'],
  ['faults: [{ fault: capacity }]', 'f: faults[0].capacity: belongs to the fault capacity'],
  ['faults: [{ fault: kubeletRestart, at: 5 }]', 'f: faults[0].at: must be a duration such as 10s'],
  ['faults: [{ fault: kubeletRestart, every: 0s }]', 'f: faults[0].every: must be longer than 0s'],
  ['faults: [{ fault: kubeletRestart, nodes: some }]', 'f: faults[0].nodes: must be a list of names'],
  ['faults: [{ fault: kubeletRestart, when: 1s }]', 'f: faults[0].when: unknown; there are fault, at'],
  ['faults: [', 'f: '],
])('%s is rejected: %s', (text, message) => {
  expect(() => faultsOf(text, 'f')).toThrow(message);
});
