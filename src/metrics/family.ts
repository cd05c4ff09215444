/** One series of a family. `suffix` is of a histogram: `_bucket`, `_sum`, `_count`. */
export interface Sample {
  readonly labels?: Readonly<Record<string, string>>;
  readonly value: number;
  readonly suffix?: string;
  /** ms since the epoch; absent: the time of the scrape. */
  readonly at?: number;
}

/** A metric with all its series. */
export interface MetricFamily {
  readonly name: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  /** One sentence. */
  readonly help: string;
  readonly samples: readonly Sample[];
}
