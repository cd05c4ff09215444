import type { MetricFamily } from '../../metrics/family.ts';

/** Collector provides metric families when they are scraped. */
export interface Collector {
  collect(): MetricFamily | readonly MetricFamily[];
}

/**
 * MetricsRegistry holds what a metrics endpoint serves; add collectors of your own.
 *
 * @example
 * manager.metrics.register(() => [counter.family()]);
 */
export class MetricsRegistry {
  readonly #collectors = new Set<Collector>();

  /** Adds collectors. A family that an earlier collector provides too gets the samples of both. */
  register(...collectors: readonly Collector[]): void {
    for (const collector of collectors) this.#collectors.add(collector);
  }

  unregister(collector: Collector): boolean {
    return this.#collectors.delete(collector);
  }

  /** Returns all families, each once. */
  collect(): readonly MetricFamily[] {
    const families = new Map<string, MetricFamily>();
    for (const collector of this.#collectors)
      for (const family of [collector.collect()].flat()) {
        const other = families.get(family.name);
        families.set(family.name, other ? joined(other, family) : family);
      }
    return [...families.values()];
  }
}

/** Returns one family with the samples of both; counters with the same labels add up. */
function joined(one: MetricFamily, other: MetricFamily): MetricFamily {
  if (one.type !== 'counter') return { ...one, samples: [...one.samples, ...other.samples] };
  const samples = new Map<string, (typeof one.samples)[number]>();
  for (const sample of [...one.samples, ...other.samples]) {
    const key = JSON.stringify(sample.labels);
    const { value = 0 } = samples.get(key) ?? {};
    samples.set(key, { ...sample, value: value + sample.value });
  }
  return { ...one, samples: [...samples.values()] };
}
