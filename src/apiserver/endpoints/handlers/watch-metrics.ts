import type { Kind } from '../../../apimachinery/kinds.ts';
import type { MetricFamily } from '../../../metrics/family.ts';
import { Counter, Histogram } from '../../../metrics/metrics.ts';

/** kube-apiserver's buckets of sizes: 1 KiB, each next one twice as much. */
const sizes = Array.from({ length: 8 }, (_none, i) => 1024 * 2 ** i);

/** WatchMetrics counts the events of watches under kube-apiserver's names. */
export class WatchMetrics {
  readonly #events = new Counter('apiserver_watch_events_total', 'Number of events that watches sent.');
  readonly #sizes = new Histogram(
    'apiserver_watch_events_sizes',
    'Sizes of events of watches, bytes.',
    sizes,
  );
  readonly #byKind = new WeakMap<Kind, (size: number) => void>();

  /** Returns what counts an event of a kind by its size. */
  of(kind: Kind): (size: number) => void {
    const found = this.#byKind.get(kind);
    if (found) return found;
    const labels = { group: kind.group, version: kind.version, resource: kind.resource };
    const [events, spread] = [this.#events.with(labels), this.#sizes.with(labels)];
    const count = (size: number): void => {
      events.value++;
      spread.observe(size);
    };
    this.#byKind.set(kind, count);
    return count;
  }

  families(): readonly MetricFamily[] {
    return [this.#events.collect(), this.#sizes.collect()];
  }
}
