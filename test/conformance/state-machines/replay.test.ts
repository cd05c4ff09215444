import { statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import {
  formatDiff,
  jsonLinesSubject,
  podtenderStateMachines,
  replayStateMachines,
  shippedRecordings,
} from '../../../src/conformance/index.ts';
import { families } from '../../../src/conformance/state-machines/families.ts';
import { recordingsIn } from '../../../src/conformance/state-machines/recording.ts';

test('the recordings of all families ship, no file larger than 1 MiB', async () => {
  const recordings = await recordingsIn(shippedRecordings);
  expect([...recordings.keys()].sort()).toEqual(Object.keys(families).sort());
  for (const file of [...recordings.values()].flat()) expect(statSync(file).size).toBeLessThan(1024 ** 2);
});

test("podtender's own machines are replayed in every family", { timeout: 120_000 }, async () => {
  const report = await replayStateMachines(podtenderStateMachines, { limit: 120 });
  expect(report.families.flatMap(({ diffs }) => diffs.map(formatDiff))).toEqual([]);
  expect(report.families.map(({ family }) => family)).toEqual(Object.keys(families));
  expect(report.families.filter(({ notReplayed, passed }) => notReplayed ?? passed === 0)).toEqual([]);
});

test('a family whose machine the subject lacks is not replayed, and says which machine', async () => {
  const { workQueue } = podtenderStateMachines;
  const report = await replayStateMachines({ workQueue }, { families: ['work_queue', 'pleg', 'pod_cache'] });
  expect(report).toMatchObject({ passed: 180, failed: 0 });
  expect(report.families.map(({ notReplayed }) => notReplayed)).toEqual([
    undefined,
    'the subject has no pleg, and its protocol does not name pleg',
    "the subject's protocol does not name pod_cache",
  ]);
});

test('a difference names family, history, step, operation, both values and the rule', async () => {
  const workQueue = (): { enqueue(): void; getWork(): string[] } => ({
    enqueue: () => undefined,
    getWork: () => [],
  });
  const { failed, families: reports } = await replayStateMachines(
    { workQueue },
    { families: ['work_queue'], keep: 1 },
  );
  expect(failed).toBeGreaterThan(100);
  const [diff] = reports[0]?.diffs ?? [];
  expect(diff).toMatchObject({ family: 'work_queue', operation: { op: 'getWork' }, rule: 'R45' });
  expect(diff?.step).toBeGreaterThanOrEqual(0);
  expect(diff && formatDiff(diff)).toMatch(
    /^work_queue · .+ · step \d+ · R45\n {2}operation .*getWork.*\n {2}at \.work/,
  );
});

test('an unknown family is refused with the ones that exist', async () => {
  await expect(replayStateMachines(podtenderStateMachines, { families: ['podworkers'] })).rejects.toThrow(
    /there is no family podworkers; the families are .*pod_workers/,
  );
});

const here = import.meta.dirname;

test.each([
  ['Python', 'python3', ['work-queue-subject.py'], 'work_queue', 180],
  ['JavaScript', process.execPath, ['back-off-subject.mjs'], 'backoff', 360],
])('a program in %s is judged by the same histories', { timeout: 60_000 }, async (...row) => {
  const [, file, [script = ''], family, cases] = row;
  const protocol = await jsonLinesSubject({ file, args: [join(here, script)], clock: systemClock });
  try {
    const report = await replayStateMachines({ protocol }, { families: [family] });
    expect(report.families.flatMap(({ diffs }) => diffs.map(formatDiff))).toEqual([]);
    expect(report.passed).toBe(cases);
  } finally {
    await protocol.close();
  }
});

test('a broken program is caught, and one that ends says what it wrote', async () => {
  const broken = await jsonLinesSubject({
    file: process.execPath,
    args: [join(here, 'back-off-subject.mjs'), '--broken'],
    clock: systemClock,
  });
  const { failed } = await replayStateMachines({ protocol: broken }, { families: ['backoff'], limit: 50 });
  await broken.close();
  expect(failed).toBeGreaterThan(0);
  const gone = jsonLinesSubject({
    file: process.execPath,
    args: ['-e', 'console.error("no licence"); process.exit(3)'],
    clock: systemClock,
  });
  await expect(gone).rejects.toThrow(/ended with exit code 3; it wrote: no licence/);
  const silent = jsonLinesSubject({
    file: process.execPath,
    args: ['-e', 'setInterval(() => {}, 1000)'],
    clock: systemClock,
    answerMs: 100,
  });
  await expect(silent).rejects.toThrow(/did not answer hello within 100 ms/);
});
