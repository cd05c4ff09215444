import { EventEmitter } from 'node:events';
import { expect, test } from 'vitest';
import { setupSignalHandler } from '../../src/controller/signals.ts';

test.each([
  ['SIGTERM', 'SIGTERM'],
  ['SIGINT', 'SIGTERM'],
  ['SIGTERM', 'SIGINT'],
] as const)('%s aborts, a following %s ends the process with 1', (first, second) => {
  const exits: number[] = [];
  const host = Object.assign(new EventEmitter(), { exit: (code: number) => void exits.push(code) });
  const signal = setupSignalHandler(host);
  expect(signal.aborted).toBe(false);
  host.emit(first);
  expect([signal.aborted, exits]).toEqual([true, []]);
  host.emit(second);
  expect(exits).toEqual([1]);
});
