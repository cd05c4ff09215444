import { spawnSync } from 'node:child_process';
import { gunzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { log, ping } from '../../src/kube/health-checks.ts';
import { healthMetrics } from '../../src/server/health.ts';
import { Counter, Histogram, metricsText, single } from '../../src/metrics/metrics.ts';
import { openMetricsText, wantsOpenMetrics } from '../../src/metrics/open-metrics.ts';
import { cadvisorMetrics, resourceMetrics } from '../../src/server/usage-metrics.ts';
import { fullUsage } from '../containers/stats/usage.ts';
import type { MetricFamily } from '../../src/metrics/family.ts';
import { metricsReply } from '../../src/server/metrics-reply.ts';

const counted = new Counter('x_things_total', 'Things that "came" by \\ way');
counted.add({ way: 'a\\b"c\nd' }, 3);
const spread = new Histogram('x_seconds', 'How long it took', [0.5, 1, 10]);
spread.observe({ verb: 'get' }, 0.7);
const families: readonly MetricFamily[] = [
  counted.collect(),
  spread.collect(),
  single('x_odd', 'counter', 'A counter that is not called so', 2.5),
  { name: 'x_bytes', type: 'gauge', help: 'Bytes', samples: [{ value: 1024, at: 1_700_000_000_123 }] },
  { name: 'x_none', type: 'gauge', help: 'Nothing of it', samples: [] },
];

test('OpenMetrics as the specification has it', () => {
  expect(openMetricsText(families)).toBe(
    [
      '# HELP x_bytes Bytes',
      '# TYPE x_bytes gauge',
      'x_bytes 1024.0 1700000000.123',
      '# HELP x_odd A counter that is not called so',
      '# TYPE x_odd counter',
      'x_odd_total 2.5',
      '# HELP x_seconds How long it took',
      '# TYPE x_seconds histogram',
      'x_seconds_bucket{verb="get",le="0.5"} 0.0',
      'x_seconds_bucket{verb="get",le="1.0"} 1.0',
      'x_seconds_bucket{verb="get",le="10.0"} 1.0',
      'x_seconds_bucket{verb="get",le="+Inf"} 1.0',
      'x_seconds_sum{verb="get"} 0.7',
      'x_seconds_count{verb="get"} 1.0',
      '# HELP x_things Things that \\"came\\" by \\\\ way',
      '# TYPE x_things counter',
      'x_things_total{way="a\\\\b\\"c\\nd"} 3.0',
      '# EOF',
      '',
    ].join('\n'),
  );
});

test.for([
  [undefined, false],
  ['*/*', false],
  ['text/plain', false],
  ['application/openmetrics-text; version=1.0.0', true],
  ['application/openmetrics-text', true],
  ['application/openmetrics-text; version=2.0.0', false],
  ['application/openmetrics-text;version=1.0.0;q=0', false],
  ['text/plain;q=0.9,application/openmetrics-text;version=1.0.0;q=0.5', false],
  // what Prometheus 2.42 sends
  [
    'application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1',
    true,
  ],
] as const)('Accept %s', ([accept, wanted]) => {
  expect(wantsOpenMetrics(accept)).toBe(wanted);
});

const answer = (headers: Readonly<Record<string, string>>, open = true) => {
  const request = { method: 'GET', target: '/metrics', headers, signal: new AbortController().signal };
  return metricsReply(families, request, open);
};

test('the answer is in the form that was asked for, compressed where that is taken', () => {
  const accept = 'application/openmetrics-text; version=1.0.0';
  const open = answer({ accept, 'accept-encoding': 'deflate, gzip;q=1.0' });
  expect(open.headers['Content-Type']).toMatch(
    /^application\/openmetrics-text; version=1.0.0; charset=utf-8/,
  );
  expect(gunzipSync(open.body as Buffer).toString()).toBe(openMetricsText(families));
  expect(answer({ accept, 'accept-encoding': 'gzip;q=0' }).headers['Content-Encoding']).toBeUndefined();
  expect(answer({ accept }, false).body).toBe(metricsText(families));
});

/** A reader that takes nothing that OpenMetrics 1.0 does not allow; throws with the line. */
function readStrictly(text: string): void {
  const lines = text.split('\n');
  const escaped = String.raw`(?:[^"\\\n]|\\["\\n])*`;
  const labels = `\\{(?:[a-zA-Z_]\\w*="${escaped}"(?:,(?=[a-z]))?)*\\}`;
  const number = String.raw`(?:[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?|[+-]Inf|NaN)`;
  const sample = new RegExp(`^([a-zA-Z_:][\\w:]*)(${labels})? (${number})(?: \\d+(?:\\.\\d+)?)?$`);
  expect(lines.slice(-2)).toEqual(['# EOF', '']);
  const suffixes: Readonly<Record<string, readonly string[]>> = {
    counter: ['_total', '_created'],
    gauge: [''],
    histogram: ['_bucket', '_sum', '_count'],
  };
  let [family, type] = ['', ''];
  const families = new Set<string>();
  const series = new Set<string>();
  for (const line of lines.slice(0, -2)) {
    const [, kind, name = '', rest = ''] = /^# (HELP|TYPE) (\S+) (.*)$/.exec(line) ?? [];
    if (kind === 'HELP') {
      if (families.has(name)) throw new Error(`a second family: ${line}`);
      families.add(name);
      [family, type] = [name, 'unknown'];
    } else if (kind === 'TYPE') {
      if (name !== family || !(rest in suffixes)) throw new Error(`not a type: ${line}`);
      type = rest;
    } else {
      const [, sampleName = '', inBraces = '', value] = sample.exec(line) ?? [];
      if (!suffixes[type]?.some((suffix) => sampleName === `${family}${suffix}`))
        throw new Error(`not of ${type} ${family}: ${line}`);
      if (series.has(sampleName + inBraces)) throw new Error(`twice: ${line}`);
      series.add(sampleName + inBraces);
      if (type === 'counter' && !(Number(value) >= 0)) throw new Error(`not a count: ${line}`);
    }
  }
}

const pages: readonly (readonly [string, readonly MetricFamily[]])[] = [
  ['a page with all that there is', families],
  ['/metrics/resource', resourceMetrics(fullUsage)],
  ['/metrics/resource of a provider without statistics', resourceMetrics(undefined)],
  ['/metrics/cadvisor', cadvisorMetrics(fullUsage)],
  ['/metrics/slis', healthMetrics([ping, log])],
];

test.for(pages)('%s is OpenMetrics to a strict reader', ([, page]) => {
  readStrictly(openMetricsText(page));
});

test('usage has the time of the measurement, a start time has none', () => {
  const lines = metricsText(resourceMetrics(fullUsage))
    .split('\n')
    .filter((line) => /^(node|pod|container)_/.test(line));
  const isDated = (line: string): boolean => / \d{13}$/.test(line);
  const families = new Set(lines.filter(isDated).map((line) => line.replace(/[{ ].*/, '')));
  expect([...families]).toEqual(
    expect.arrayContaining([
      'node_cpu_usage_seconds_total',
      'node_memory_working_set_bytes',
      'node_swap_usage_bytes',
    ]),
  );
  const undated = lines.filter((line) => !isDated(line));
  expect(undated).not.toHaveLength(0);
  for (const line of undated) expect(line).toMatch(/^container_start_time_seconds\{/);
});

test('swap is reported where it is known', () => {
  const [pod] = fullUsage.pods;
  const containers = (pod?.containers ?? []).map((one) => ({ ...one, swapBytes: 3, swapAvailableBytes: 9 }));
  const text = metricsText(resourceMetrics({ ...fullUsage, pods: pod ? [{ ...pod, containers }] : [] }));
  for (const line of [
    /^container_swap_usage_bytes\{container="c",namespace="ns",pod="web"\} 3 /m,
    /^container_swap_limit_bytes\{container="c",namespace="ns",pod="web"\} 12 /m,
    /^pod_swap_usage_bytes\{namespace="ns",pod="web"\} 3 /m,
  ])
    expect(text).toMatch(line);
  expect(metricsText(resourceMetrics(fullUsage))).not.toMatch(/(container|pod)_swap/);
});

const promtool = spawnSync('promtool', ['--version']).error ? 'promtool is not installed' : undefined;

test.for(pages)(`promtool takes %s${promtool ? ` (skipped: ${promtool})` : ''}`, ([, page], { skip }) => {
  skip(promtool !== undefined, promtool);
  const { status, stdout, stderr } = spawnSync('promtool', ['check', 'metrics'], {
    input: metricsText(page),
    encoding: 'utf8',
  });
  // 1: it cannot be read; 3: it can, and breaks a rule of style
  expect([0, 3], stdout + stderr).toContain(status);
  expect((stdout + stderr).split('\n').filter((line) => line !== '' && !line.startsWith('x_odd '))).toEqual(
    [],
  );
});
