import { expect, test } from 'vitest';
import { type SimulationMoment, simulationLines } from '../../../src/cli/view/simulation-lines.ts';

const moment = (ms: number, ready: number, pods = 0): SimulationMoment => ({
  ms,
  counts: { nodes: 100, nodesReady: ready, pods, podsReady: pods / 2 },
  usage: { cpuSeconds: ms / 2000, rssMiB: 100 },
});

test('bars grow with what is Ready, with the rate since the moment before and the share of a core', () => {
  expect(simulationLines(moment(3000, 50, 20), moment(1000, 30, 40), 68)).toEqual([
    'nodes  ██████████░░░░░░░░░░  50 of 100 Ready  +10/s',
    'pods   ██████████░░░░░░░░░░  10 of 20 Ready  -5/s',
    '3s, 1.5 s CPU, 50 % of a core now, 100 MiB',
  ]);
});

test('without pods there is one bar; a narrow terminal has no bar and no line is wider than it', () => {
  expect(simulationLines(moment(0, 0), moment(0, 0), 30)).toEqual([
    'nodes    0 of 100 Ready',
    '0s, 0.0 s CPU, 100 MiB',
  ]);
  expect(simulationLines(moment(0, 0), moment(0, 0), 12)).toEqual(['nodes    0 …', '0s, 0.0 s C…']);
});
