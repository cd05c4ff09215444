import { expect, test } from 'vitest';
import { clauseLines, junit, missingLines } from '../../src/conformance/report.ts';
import type { ClauseResult } from '../../src/conformance/runner.ts';

const passed: ClauseResult = {
  ...{ name: 'starts-once', area: 'lifecycle', rule: 'R138', outcome: 'passed', ms: 1234 },
  law: 'A second sync starts nothing that already runs, however often it comes.',
};
const failed: ClauseResult = {
  ...{ name: 'kill-waits', area: 'termination', rule: 'R158', outcome: 'failed', ms: 10 },
  ...{
    law: 'A kill waits.',
    detail: 'main runs after "kill" & more <b>\n\u0000a second line that is longer than the others',
  },
};
const missing = (name: string, detail: string): ClauseResult => ({
  ...{ name, area: 'streams', rule: 'R1', law: 'It runs.', outcome: 'not applicable', detail, ms: 0 },
});

const plain = (lines: readonly string[]): readonly string[] =>
  lines.map((line) => line.replace(/\u001b\[\d+m/g, ''));

test('a law is one line where nothing wraps it', () => {
  expect(clauseLines(passed)).toEqual([
    'ok      starts-once                       R138  A second sync starts nothing that already runs, however often it comes.',
  ]);
});

test('a sentence that is wider than the terminal goes on below itself', () => {
  expect(clauseLines(passed, { columns: 90 })).toEqual([
    'ok      starts-once                       R138  A second sync starts nothing that already',
    '                                                runs, however often it comes.',
  ]);
});

test.each([20, 40, 60, 80, 100])(
  'no line is longer than a terminal of %i columns, as far as words allow',
  (columns) => {
    const all = [passed, failed, missing('exec', 'exec: the provider runs no commands in containers')];
    const screen = { columns, colour: true };
    const lines = plain([...all.flatMap((one) => clauseLines(one, screen)), ...missingLines(all, screen)]);
    for (const line of lines.filter((one) => one.trim().includes(' ') && one.startsWith('        ')))
      expect(line.length).toBeLessThanOrEqual(columns);
  },
);

test('colours mark the outcome, and only where they are asked for', () => {
  expect(clauseLines(passed, { colour: true })[0]).toMatch(/^\u001b\[32mok\u001b\[0m {6}starts-once/);
  expect(clauseLines(failed, { colour: true })[0]).toMatch(/^\u001b\[31mFAILED\u001b\[0m {2}kill-waits/);
  expect([failed, passed].flatMap((one) => clauseLines(one)).join('')).not.toContain('\u001b');
});

test('what is missing is said once, with the laws that do not apply', () => {
  const all = [passed, missing('exec-a', 'exec'), missing('attach-a', 'attach'), missing('exec-b', 'exec')];
  expect(clauseLines(missing('exec-a', 'exec'))).toEqual([
    'n/a     exec-a                            R1    It runs.',
  ]);
  expect(missingLines(all)).toEqual([
    'not applicable, for the provider lacks',
    '        exec (2): exec-a, exec-b',
    '        attach (1): attach-a',
  ]);
  expect(missingLines([passed])).toEqual([]);
});

test('the JUnit report has what readers of it require', () => {
  const all = [passed, failed, missing('exec-a', 'exec')];
  const text = junit(all, { provider: 'memory', startedAt: '2026-01-01T00:00:00', hostname: 'here' });
  expect(text).toBe(`<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="podtender conformance: memory" tests="3" failures="1" errors="0" time="1.244">
  <testsuite name="lifecycle" package="memory" id="0" timestamp="2026-01-01T00:00:00" hostname="here" tests="1" failures="0" errors="0" time="1.234" skipped="0">
    <properties>
      <property name="provider" value="memory"/>
    </properties>
    <testcase classname="memory.lifecycle" name="starts-once: A second sync starts nothing that already runs, however often it comes. (R138)" time="1.234"/>
    <system-out/>
    <system-err/>
  </testsuite>
  <testsuite name="termination" package="memory" id="1" timestamp="2026-01-01T00:00:00" hostname="here" tests="1" failures="1" errors="0" time="0.010" skipped="0">
    <properties>
      <property name="provider" value="memory"/>
    </properties>
    <testcase classname="memory.termination" name="kill-waits: A kill waits. (R158)" time="0.010">
      <failure type="R158" message="main runs after &quot;kill&quot; &amp; more &lt;b&gt;&#10;\ufffda second line that is longer than the others"/>
    </testcase>
    <system-out/>
    <system-err/>
  </testsuite>
  <testsuite name="streams" package="memory" id="2" timestamp="2026-01-01T00:00:00" hostname="here" tests="1" failures="0" errors="0" time="0.000" skipped="1">
    <properties>
      <property name="provider" value="memory"/>
    </properties>
    <testcase classname="memory.streams" name="exec-a: It runs. (R1)" time="0.000">
      <skipped message="exec"/>
    </testcase>
    <system-out/>
    <system-err/>
  </testsuite>
</testsuites>
`);
});
