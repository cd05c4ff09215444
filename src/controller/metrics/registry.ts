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
        families.set(
          family.name,
          other ? { ...other, samples: [...other.samples, ...family.samples] } : family,
        );
      }
    return [...families.values()];
  }
}
