import type { RunningSimulation } from '../../app/simulate.ts';
import { ageText, cut } from './table.ts';

/** A moment of a simulation. */
export interface SimulationMoment {
  /** Time since the start, ms. */
  readonly ms: number;
  readonly counts: ReturnType<RunningSimulation['counts']>;
  readonly usage: ReturnType<RunningSimulation['usage']>;
}

const widestBar = 40;
/** What is beside a bar: its name, its counts and its rate. */
const besideBar = 48;

/**
 * Returns the screen of a simulation: a bar of the nodes and one of the pods that are Ready, with how many a second became so since the moment
 * before, and what the process uses. No line is wider than the terminal.
 */
export function simulationLines(
  now: SimulationMoment,
  before: SimulationMoment,
  columns: number,
): readonly string[] {
  const { counts, usage, ms } = now;
  const seconds = (ms - before.ms) / 1000;
  const bar = (name: string, ready: number, all: number, readyBefore: number): string => {
    const width = Math.max(0, Math.min(widestBar, columns - besideBar));
    const full = all === 0 ? 0 : Math.floor((width * Math.min(ready, all)) / all);
    const rate = seconds > 0 ? Math.round((ready - readyBefore) / seconds) : 0;
    const shown = rate === 0 ? '' : `  ${rate > 0 ? '+' : ''}${rate}/s`;
    return `${name}  ${'█'.repeat(full)}${'░'.repeat(width - full)}  ${ready} of ${all} Ready${shown}`;
  };
  const cpu = usage.cpuSeconds - before.usage.cpuSeconds;
  const share = seconds > 0 ? `, ${Math.round((100 * cpu) / seconds)} % of a core now` : '';
  const lines = [
    bar('nodes', counts.nodesReady, counts.nodes, before.counts.nodesReady),
    ...(counts.pods > 0 ? [bar('pods ', counts.podsReady, counts.pods, before.counts.podsReady)] : []),
    `${ageText(ms)}, ${usage.cpuSeconds.toFixed(1)} s CPU${share}, ${Math.round(usage.rssMiB)} MiB`,
  ];
  return lines.map((line) => cut(line, columns));
}

/** Rewrites some lines of a terminal in place. */
export class RewrittenLines {
  readonly #terminal: { write(text: string): unknown };
  #shown = 0;

  constructor(terminal: { write(text: string): unknown }) {
    this.#terminal = terminal;
  }

  /** Writes the lines over those of the call before. */
  show(lines: readonly string[]): void {
    const back = this.#shown === 0 ? '' : `\u001b[${this.#shown}A\u001b[J`;
    this.#terminal.write(`${back}${lines.map((line) => `${line}\n`).join('')}`);
    this.#shown = lines.length;
  }
}
