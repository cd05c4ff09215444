import fc from 'fast-check';
import { expect, test } from 'vitest';
import { AgentError } from '../../src/base/errors.ts';
import { withContainerFsThresholds } from '../../src/eviction/observations.ts';
import { isSignal } from '../../src/eviction/signals.ts';
import {
  isHardThreshold,
  parseThresholds,
  type Threshold,
  parsePercentage,
} from '../../src/eviction/thresholds.ts';
import { formatQuantity, parseQuantity } from '../../src/kube/resources/quantity.ts';

test('a share is kept at 32 bits, an amount exactly', () => {
  const [share, amount] = parseThresholds({
    evictionHard: { 'nodefs.available': '15.5%', 'memory.available': '100Mi' },
  });
  expect(share?.value.percentage).toBe(Math.fround(Math.fround(15.5) / 100));
  expect(amount?.value.quantity && formatQuantity(amount.value.quantity)).toBe('100Mi');
});

test('a soft threshold takes its grace period, a minimum reclaim holds for hard and soft alike', () => {
  const [hard, soft] = parseThresholds({
    evictionHard: { 'memory.available': '1Gi' },
    evictionSoft: { 'memory.available': '2Gi' },
    evictionSoftGracePeriod: { 'memory.available': '1m30s' },
    evictionMinimumReclaim: { 'memory.available': '5%' },
  });
  expect([hard?.gracePeriodMs, soft?.gracePeriodMs]).toEqual([0, 90_000]);
  expect([hard?.minReclaim?.percentage, soft?.minReclaim?.percentage]).toEqual([
    Math.fround(0.05),
    Math.fround(0.05),
  ]);
});

test('hard memory thresholds hold for the pods’ share where that is enforced', () => {
  const signals = parseThresholds({
    enforceNodeAllocatable: ['pods'],
    evictionHard: { 'memory.available': '1Gi', 'nodefs.available': '10%' },
  }).map(({ signal }) => signal);
  expect(signals).toEqual(['memory.available', 'nodefs.available', 'allocatableMemory.available']);
});

test.for(['0%', '100%'])('%s switches a signal off', (text) => {
  expect(parseThresholds({ evictionHard: { 'memory.available': text } })).toEqual([]);
});

test.for([
  [{ evictionHard: { memory: '1' } }, 'unsupported eviction signal memory'],
  [
    { evictionSoft: { 'pid.available': '1' } },
    'grace period must be specified for the soft eviction threshold pid.available',
  ],
  [
    { evictionHard: { 'pid.available': '101%' } },
    'eviction percentage threshold pid.available must be <= 100%: 101%',
  ],
  [
    { evictionHard: { 'pid.available': '-0.5%' } },
    'eviction percentage threshold pid.available must be >= 0%: -0.5%',
  ],
  [{ evictionHard: { 'pid.available': '-1Mi' } }, 'eviction threshold pid.available must be positive: -1Mi'],
  [{ evictionHard: { 'pid.available': '1e99%' } }, 'strconv.ParseFloat: parsing "1e99": value out of range'],
  [{ evictionHard: { 'pid.available': '1 %' } }, 'strconv.ParseFloat: parsing "1 ": invalid syntax'],
  [{ evictionSoftGracePeriod: { 'pid.available': '5' } }, 'time: missing unit in duration "5"'],
  [
    { evictionSoftGracePeriod: { 'pid.available': '-1s' } },
    'invalid eviction grace period specified: -1s, must be a positive value',
  ],
  [
    { evictionMinimumReclaim: { 'pid.available': '-1' } },
    'negative eviction minimum reclaim specified for pid.available',
  ],
] as const)('%o is refused', ([settings, message]) => {
  expect(() => parseThresholds(settings)).toThrow(new AgentError('invalid_argument', message));
});

test.for([
  ['10%%', 10],
  ['+.5e1%', 5],
  ['1_5.0%', 15],
  ['0x1p3%', 8],
  ['-0x.8p1%', -1],
  ['inf%', Infinity],
] as const)('%s is a share as Go reads it', ([text, hundredths]) => {
  expect(parsePercentage(text)).toBe(Math.fround(hundredths / 100));
});

/** Texts that look like settings, and some that do not. */
const settingText = fc.oneof(
  fc.string({ maxLength: 12 }),
  fc.stringMatching(/^[-+]?[0-9]{0,4}(\.[0-9]{0,3})?(e[-+]?[0-9]{1,3})?(%|Mi|Gi|k|m|s|ms|h)?$/),
);
const signalText = fc.oneof(
  fc.constantFrom('memory.available', 'nodefs.inodesFree', 'pid.available', 'containerfs.available'),
  fc.string({ maxLength: 10 }),
  fc.constantFrom('__proto__', 'constructor', 'toString'),
);
const statements = fc.dictionary(signalText, settingText, { maxKeys: 3, noNullPrototype: true });

test('whatever the settings hold, they are read or refused by name', () => {
  fc.assert(
    fc.property(statements, statements, statements, statements, (hard, soft, grace, reclaim) => {
      try {
        const thresholds = parseThresholds({
          evictionHard: hard,
          evictionSoft: soft,
          evictionSoftGracePeriod: grace,
          evictionMinimumReclaim: reclaim,
        });
        for (const { signal, gracePeriodMs } of thresholds)
          expect(isSignal(signal) && gracePeriodMs >= 0).toBe(true);
      } catch (reason) {
        if (!(reason instanceof AgentError)) throw reason;
        expect(reason.code).toBe('invalid_argument');
        expect(reason.message).not.toBe('');
      }
    }),
    { numRuns: 3000, seed: 20_261_121 },
  );
});

const hard = (signal: Threshold['signal'], quantity: string): Threshold => ({
  signal,
  operator: 'LessThan',
  value: { quantity: parseQuantity(quantity) },
  gracePeriodMs: 0,
});

test.for([
  [{ dedicatedImageFs: false, splitContainerFs: false }, '1'],
  [{ dedicatedImageFs: true, splitContainerFs: false }, '2'],
  [{ dedicatedImageFs: true, splitContainerFs: true }, '1'],
] as const)(
  'where %o, the containers’ file system is judged as the one that it lies on',
  ([layout, expected]) => {
    const given = [hard('nodefs.available', '1'), hard('imagefs.available', '2')];
    const { thresholds, ignored } = withContainerFsThresholds(given, layout);
    const own = thresholds.filter(({ signal, operator }) => signal === 'containerfs.available' && operator);
    expect(own.map(({ value }) => value.quantity && formatQuantity(value.quantity))).toEqual([expected]);
    expect(own.every(isHardThreshold)).toBe(true);
    expect(ignored).toBeUndefined();
  },
);

test('a threshold that was set for the containers’ file system gives way', () => {
  const { thresholds, ignored } = withContainerFsThresholds(
    [hard('nodefs.available', '1'), hard('containerfs.available', '9')],
    { dedicatedImageFs: false, splitContainerFs: false },
  );
  expect(thresholds[1]?.value.quantity && formatQuantity(thresholds[1].value.quantity)).toBe('1');
  expect(ignored).toBe('found containerfs.available for hard eviction. ignoring');
});
