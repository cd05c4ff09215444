import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { FakeClock } from '../../src/base/fake-clock.ts';
import { conformanceSubject } from '../../src/app/conformance-world.ts';
import { conformance, type ConformanceOptions } from '../../src/cli/conformance.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'podtender-conformance-cli-'));
});
afterEach(() => {
  rmSync(dir, { recursive: true, force: true });
});

async function run(provider: string, more: Partial<ConformanceOptions> = {}) {
  const lines: string[] = [];
  const options = { provider, output: 'text', realTime: false, ...more } as const;
  const load = (url: string): Promise<unknown> => import(url);
  const { make, isRealTime } = await conformanceSubject(provider, {
    cwd: dir,
    load,
    realTime: options.realTime,
  });
  const code = await conformance({ ...options, realTime: isRealTime }, make, {
    say: (line) => lines.push(line),
    clock: new FakeClock(Date.parse('2026-01-01T00:00:00Z')),
  });
  return { code, lines };
}

test('the memory provider keeps every law; the last line counts', async () => {
  const { code, lines } = await run('memory');
  expect(code).toBe(0);
  expect(lines.at(-1)).toMatch(/^\d\d passed, 0 failed$/);
  expect(lines).toContain('lifecycle');
  const from = lines.indexOf('not applicable, for the provider lacks');
  const missing = lines.slice(from).flatMap((line) => /^ {8}(\w+).* \(\d+\): /.exec(line)?.[1] ?? []);
  expect([...new Set(missing)].sort()).toEqual([
    ...['agent', 'commands', 'portForward', 'runtimeHealth', 'serve', 'useProbes'],
  ]);
  const reasons = lines.slice(from + 1, -1).map((line) => line.replace(/ \(\d+\): .*$/, ''));
  expect(new Set(reasons).size).toBe(reasons.length);
});

test.each(['eci', 'mock'])('the provider %s keeps every law that applies', async (provider) => {
  const { code, lines } = await run(provider);
  expect(code).toBe(0);
  expect(lines.at(-1)).toMatch(/^\d\d passed, 0 failed$/);
});

test(
  'the process provider waits for real time, says so, and keeps the laws',
  { timeout: 60_000 },
  async () => {
    const { code, lines } = await run('process', { focus: 'logs-are' });
    expect(code).toBe(0);
    expect(lines[0]).toBe('the suite waits for real time: it may take minutes');
    expect(lines.at(-1)).toBe('2 passed, 0 failed');
  },
);

test(
  'the kubernetes provider is checked over a backing cluster of its own, in real time',
  { timeout: 120_000 },
  async () => {
    const { code, lines } = await run('kubernetes', { focus: 'crash' });
    expect(code).toBe(0);
    expect(lines.join('\n')).toMatch(/n\/a {5}crashes-back-off /);
    expect(lines.join('\n')).toMatch(/^ {8}a back-off that syncs report.* \(1\): crashes-back-off$/m);
    expect(lines.at(-1)).toBe('1 passed, 0 failed');
  },
);

test(
  'the OCI provider runs containers of an image that the suite makes, and keeps the laws',
  { timeout: 60_000 },
  async () => {
    const { code, lines } = await run('oci', { focus: 'logs-are' });
    expect(code).toBe(0);
    expect(lines.at(-1)).toBe('2 passed, 0 failed');
  },
);

test('a broken provider of a module: what was seen, what is missing, JUnit, JSON and exit code 1', async () => {
  writeFileSync(
    join(dir, 'broken.mjs'),
    `export default () => ({
      name: 'broken',
      syncPod: async () => ({ results: [], changed: false }),
      killPod: async () => undefined,
      listPods: async () => [],
      getPodStatus: async (ref) => ({ ...ref, ips: [], containerStatuses: [], activeContainerStatuses: [], sandboxStatuses: [] }),
    });\n`,
  );
  const junit = join(dir, 'report.xml');
  const { code, lines } = await run('./broken.mjs', { junit });
  expect(code).toBe(1);
  expect(lines.join('\n')).toMatch(
    /FAILED {2}starts-every-container .*\n {8}seen: main is not running: no containers/,
  );
  expect(lines.join('\n')).toMatch(/^ {8}failNext.* \(\d+\): .*failed-listing-is-an-error/m);
  const report = readFileSync(junit, 'utf8');
  expect(report).toMatch(/<testsuite name="termination" .*timestamp="2026-01-01T00:00:00" .*tests="8"/);
  expect(report).toContain('message="main is not running: no containers after 20000 ms"/>');
  const json = await run('./broken.mjs', { output: 'json', focus: 'starts-once' });
  expect(JSON.parse(json.lines[0] ?? '')).toMatchObject({
    type: 'law',
    name: 'starts-once',
    outcome: 'failed',
  });
  expect(json.lines.at(-1)).toBe('0 passed, 1 failed');
});

test('a focus without laws is refused', async () => {
  await expect(run('memory', { focus: 'nothing' })).rejects.toThrow(/--focus nothing: no law/);
});
