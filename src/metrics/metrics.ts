import type { Sample, MetricFamily } from './family.ts';

export const contentType = 'text/plain; version=0.0.4; charset=utf-8; escaping=underscores';

const escapeLabel = (value: string): string =>
  value.replace(/[\\\n"]/g, (character) => (character === '\n' ? '\\n' : `\\${character}`));

function sampleLine(name: string, { labels = {}, value, suffix = '', at }: Sample): string {
  const pairs = Object.entries(labels).map(([key, text]) => `${key}="${escapeLabel(text)}"`);
  const inBraces = pairs.length > 0 ? `{${pairs.join(',')}}` : '';
  const when = at === undefined ? '' : ` ${Math.floor(at)}`;
  return `${name}${suffix}${inBraces} ${numberText(value)}${when}\n`;
}

function numberText(value: number): string {
  if (value === Number.POSITIVE_INFINITY) return '+Inf';
  return value === Number.NEGATIVE_INFINITY ? '-Inf' : String(value);
}

/** Formats families in Prometheus' text format, sorted by name; families without samples are left out. */
export function metricsText(families: readonly MetricFamily[]): string {
  return families
    .filter(({ samples }) => samples.length > 0)
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .map(({ name, type, help, samples }) => {
      const head = `# HELP ${name} ${help.replace(/\\/g, '\\\\').replace(/\n/g, '\\n')}\n# TYPE ${name} ${type}\n`;
      return head + samples.map((sample) => sampleLine(name, sample)).join('');
    })
    .join('');
}

export const takesGzip = (accepted: string | string[] | undefined): boolean =>
  String(accepted ?? '')
    .split(',')
    .some((one) => /^\s*gzip\s*(;\s*q=(?!0(\.0*)?\s*$).*)?$/i.test(one));

/** Returns a family with one sample without labels. */
export const single = (
  name: string,
  type: 'counter' | 'gauge',
  help: string,
  value: number,
): MetricFamily => ({ name, type, help, samples: [{ value }] });

/** Counter is a number that only increases (or a gauge, which may decrease), by labels. */
export class Counter {
  readonly name: string;
  readonly #help: string;
  readonly #type: 'counter' | 'gauge';
  readonly #series = new Map<string, { labels: Readonly<Record<string, string>>; value: number }>();

  constructor(name: string, help: string, type: 'counter' | 'gauge' = 'counter') {
    this.name = name;
    this.#help = help;
    this.#type = type;
  }

  add(labels: Readonly<Record<string, string>>, value = 1): void {
    this.with(labels).value += value;
  }

  /** Returns the series of these labels, for callers that change it often; it starts at 0. */
  with(labels: Readonly<Record<string, string>>): { value: number } {
    const key = JSON.stringify(labels);
    const found = this.#series.get(key);
    if (found) return found;
    const series = { labels, value: 0 };
    this.#series.set(key, series);
    return series;
  }

  /** Removes the series that have all these labels. */
  drop(labels: Readonly<Record<string, string>>): void {
    dropSeries(this.#series, labels);
  }

  collect(): MetricFamily {
    return { name: this.name, type: this.#type, help: this.#help, samples: [...this.#series.values()] };
  }
}

/** Prometheus' default buckets, seconds. */
export const defaultBuckets: readonly number[] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

interface Distribution {
  readonly labels: Readonly<Record<string, string>>;
  /** Count per bucket; the output is cumulative. */
  readonly counts: number[];
  sum: number;
  count: number;
}

/** One series of a histogram. */
export interface Observer {
  readonly observe: (value: number) => void;
}

/** Histogram counts observed values in buckets, by labels. */
export class Histogram {
  readonly #name: string;
  readonly #help: string;
  readonly #bounds: readonly number[];
  readonly #series = new Map<string, Distribution>();

  constructor(name: string, help: string, bounds: readonly number[] = defaultBuckets) {
    this.#name = name;
    this.#help = help;
    this.#bounds = bounds;
  }

  observe(labels: Readonly<Record<string, string>>, value: number): void {
    this.#count(this.#seriesOf(labels), value);
  }

  /** Returns the series of these labels, for callers that observe often. */
  with(labels: Readonly<Record<string, string>>): Observer {
    const series = this.#seriesOf(labels);
    return {
      observe: (value) => {
        this.#count(series, value);
      },
    };
  }

  /** Removes the series that have all these labels. */
  drop(labels: Readonly<Record<string, string>>): void {
    dropSeries(this.#series, labels);
  }

  collect(): MetricFamily {
    const samples = [...this.#series.values()].flatMap(({ labels, counts, sum, count }) => [
      ...this.#bounds.map((bound, i) => ({
        suffix: '_bucket',
        labels: { ...labels, le: String(bound) },
        value: counts.slice(0, i + 1).reduce((total, own) => total + own, 0),
      })),
      { suffix: '_bucket', labels: { ...labels, le: '+Inf' }, value: count },
      { suffix: '_sum', labels, value: sum },
      { suffix: '_count', labels, value: count },
    ]);
    return { name: this.#name, type: 'histogram', help: this.#help, samples };
  }

  #seriesOf(labels: Readonly<Record<string, string>>): Distribution {
    const key = JSON.stringify(labels);
    const found = this.#series.get(key);
    if (found) return found;
    const series = { labels, counts: this.#bounds.map(() => 0), sum: 0, count: 0 };
    this.#series.set(key, series);
    return series;
  }

  #count(series: Distribution, value: number): void {
    series.sum += value;
    series.count++;
    const bounds = this.#bounds;
    for (let bucket = 0; bucket < bounds.length; bucket++)
      if (value <= (bounds[bucket] ?? NaN)) {
        series.counts[bucket] = (series.counts[bucket] ?? 0) + 1;
        return;
      }
  }
}

function dropSeries(
  series: Map<string, { readonly labels: Readonly<Record<string, string>> }>,
  selector: Readonly<Record<string, string>>,
): void {
  for (const [key, { labels }] of series)
    if (Object.entries(selector).every(([name, value]) => labels[name] === value)) series.delete(key);
}
