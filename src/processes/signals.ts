import { constants } from 'node:os';
import { Signal } from '../provider/cri-messages.ts';

const firstRealTime = 34;
const lastRealTime = 64;

/**
 * Returns this machine's number of a CRI stop signal; SIGTERM when none is set.
 * Linux real-time signals are counted from SIGRTMIN (34) and SIGRTMAX (64), as in container runtimes.
 */
export function signalNumber(signal: Signal | undefined): number {
  const name = Object.entries(Signal).find(([, value]) => value === signal)?.[0];
  if (!name || name === 'RUNTIME_DEFAULT') return constants.signals.SIGTERM;
  const plus = /^SIGRTMIN(?:PLUS(\d+))?$/.exec(name);
  if (plus) return firstRealTime + Number(plus[1] ?? 0);
  const minus = /^SIGRTMAX(?:MINUS(\d+))?$/.exec(name);
  if (minus) return lastRealTime - Number(minus[1] ?? 0);
  if (name === 'SIGCLD') return constants.signals.SIGCHLD;
  const numbers: Readonly<Record<string, number>> = constants.signals;
  return numbers[name] ?? constants.signals.SIGTERM;
}
