import { tableOf } from '../base/own.ts';
import type { MetricFamily, Sample } from './family.ts';

export const openMetricsType =
  'application/openmetrics-text; version=1.0.0; charset=utf-8; escaping=underscores';

/** True when a client prefers OpenMetrics 1.0 to Prometheus' text format by the weights of its `Accept` header. */
export function wantsOpenMetrics(accept: string | undefined): boolean {
  let [open, plain] = [0, 0];
  for (const part of (accept ?? '').toLowerCase().split(',')) {
    const [type = '', ...parameters] = part.split(';').map((one) => one.trim());
    const of = (name: string): string | undefined =>
      parameters.find((one) => one.startsWith(`${name}=`))?.slice(name.length + 1);
    const weight = Number(of('q') ?? 1);
    if (type === 'application/openmetrics-text' && ['1.0.0', '0.0.1', undefined].includes(of('version')))
      open = Math.max(open, weight);
    if (type === 'text/plain') plain = Math.max(plain, weight);
  }
  return open > 0 && open >= plain;
}

/**
 * Formats families in OpenMetrics 1.0: counters without `_total` in the family name, numbers as floats, times in seconds, and an EOF line.
 */
export function openMetricsText(families: readonly MetricFamily[]): string {
  const text = families
    .filter(({ samples }) => samples.length > 0)
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .map((family) => {
      const { type, help, samples } = family;
      const name = type === 'counter' ? family.name.replace(/_total$/, '') : family.name;
      const head = `# HELP ${name} ${escape(help)}\n# TYPE ${name} ${type}\n`;
      const suffix = type === 'counter' ? '_total' : '';
      return (
        head + samples.map((sample) => line(name, { ...sample, suffix: sample.suffix ?? suffix })).join('')
      );
    })
    .join('');
  return `${text}# EOF\n`;
}

const escapes: Readonly<Record<string, string>> = tableOf({ '\\': '\\\\', '\n': '\\n', '"': '\\"' });
const escape = (value: string): string => value.replace(/[\\\n"]/g, (character) => escapes[character] ?? '');

function line(name: string, { labels = {}, value, suffix = '', at }: Sample): string {
  const pairs = Object.entries(labels).map(
    ([key, text]) => `${key}="${escape(suffix === '_bucket' && key === 'le' ? bound(text) : text)}"`,
  );
  const inBraces = pairs.length > 0 ? `{${pairs.join(',')}}` : '';
  const when = at === undefined ? '' : ` ${(Math.floor(at) / 1000).toFixed(3)}`;
  return `${name}${suffix}${inBraces} ${number(value)}${when}\n`;
}

/** Formats a bucket bound as a float, so that series are the same in both formats. */
const bound = (text: string): string => (/^\d+$/.test(text) ? `${text}.0` : text);

function number(value: number): string {
  if (value === Number.POSITIVE_INFINITY) return '+Inf';
  if (value === Number.NEGATIVE_INFINITY) return '-Inf';
  return Number.isInteger(value) && Math.abs(value) < 1e21 ? `${value}.0` : String(value);
}
