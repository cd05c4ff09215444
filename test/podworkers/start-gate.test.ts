import { expect, test } from 'vitest';
import { type GateState, StartGate } from '../../src/podworkers/start-gate.ts';
import { testPod } from './bench.ts';

const pod = (uid: string) => testPod({ uid, name: 'etcd', isStatic: true });
const living: GateState = { fullName: 'etcd_ns', phase: 'sync' };
const ending: GateState = { fullName: 'etcd_ns', phase: 'terminating' };
const states =
  (known: Readonly<Record<string, GateState>>) =>
  (uid: string): GateState | undefined =>
    known[uid];

function gateWith(...uids: readonly string[]): StartGate {
  const gate = new StartGate();
  for (const uid of uids) gate.enlist('etcd_ns', uid);
  return gate;
}

test('a pod that is not static may always start (R107)', () => {
  expect(new StartGate().ask(testPod({ uid: 'a' }), () => undefined)).toBe('start');
});

test('a static pod that is to end never starts (R108)', () => {
  expect(gateWith('a').ask(pod('a'), states({ a: ending }))).toBe('never');
});

test('a static pod that nobody knows never starts', () => {
  expect(gateWith('a').ask(pod('a'), states({}))).toBe('never');
});

test('the first in line starts and holds the name (R109)', () => {
  const gate = gateWith('a', 'b');
  expect(gate.ask(pod('a'), states({ a: living, b: living }))).toBe('start');
  expect(gate.started.get('etcd_ns')).toBe('a');
  expect(gate.waiting.get('etcd_ns')).toEqual(['b']);
});

test('the second waits for the first, and for the holder (R109)', () => {
  const gate = gateWith('a', 'b');
  const both = states({ a: living, b: living });
  expect(gate.ask(pod('b'), both)).toBe('wait');
  gate.ask(pod('a'), both);
  expect(gate.ask(pod('b'), both)).toBe('wait');
});

test('the dead before the first living one leave the line, whoever asks (R109)', () => {
  const gate = gateWith('gone', 'ending', 'b', 'a');
  expect(gate.ask(pod('a'), states({ ending, a: living, b: living }))).toBe('wait');
  expect(gate.waiting.get('etcd_ns')).toEqual(['b', 'a']);
});

test('a line without a living one stays, and the pod starts (R109)', () => {
  const gate = gateWith('gone');
  expect(gate.ask(pod('a'), states({ a: living }))).toBe('start');
  expect(gate.waiting.get('etcd_ns')).toEqual(['gone']);
});

test('only the holder frees the name (R110)', () => {
  const gate = gateWith('a');
  gate.ask(pod('a'), states({ a: living }));
  gate.release('etcd_ns', 'b');
  expect(gate.started.size).toBe(1);
  gate.release('etcd_ns', 'a');
  expect(gate.started.size).toBe(0);
});
