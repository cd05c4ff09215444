import { expect, test } from 'vitest';
import { silentLogger } from '../../src/base/logger.ts';
import { checkMachine, hasSwap } from '../../src/app/machine.ts';
import { loadOptions } from '../../src/options/load.ts';

test('a machine has swap when /proc/swaps names any', () => {
  const heading = 'Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n';
  expect([hasSwap(''), hasSwap(heading), hasSwap(`${heading}/dev/sda2 partition 1048572 0 -2\n`)]).toEqual([
    false,
    false,
    true,
  ]);
});

const outcome = (flags: Record<string, string>, traits: { swapOn: boolean; cgroupV1: boolean }): unknown => {
  const told: unknown[] = [];
  const logger = { ...silentLogger, warn: (_: string, fields?: object) => void told.push(fields) };
  try {
    checkMachine(loadOptions({ flags }), traits, logger);
    return told.map((fields) => (fields as { setting: string }).setting);
  } catch (reason) {
    return (reason as Error).message;
  }
};

test('swap is logged, and prevents the start only if the setting is explicit', () => {
  const swap = { swapOn: true, cgroupV1: false };
  expect(outcome({}, swap)).toEqual(['failSwapOn']);
  expect(outcome({ 'fail-swap-on': 'false' }, swap)).toEqual([]);
  expect(outcome({ 'fail-swap-on': 'true' }, swap)).toMatch(/^running with swap on is not supported/);
  expect(outcome({ 'fail-swap-on': 'true' }, { ...swap, swapOn: false })).toEqual([]);
  expect(outcome({}, { swapOn: false, cgroupV1: true })).toEqual(['failCgroupV1']);
});

test('an end of all processes together is not asked of cgroup v1', () => {
  const text =
    'apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nsingleProcessOOMKill: false\n';
  const settings = loadOptions({ configFile: 'k.yaml', readText: () => text });
  const check = (cgroupV1: boolean) => (): void => {
    checkMachine(settings, { swapOn: false, cgroupV1 }, silentLogger);
  };
  expect(check(false)).not.toThrow();
  expect(check(true)).toThrow(
    /^invalid configuration: singleProcessOOMKill must not be explicitly set to false/,
  );
});
