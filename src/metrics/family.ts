/** One sample of a family. A histogram's samples have a `suffix`: `_bucket`, `_sum`, `_count`. */
export interface Sample {
  readonly labels?: Readonly<Record<string, string>>;
  readonly value: number;
  readonly suffix?: string;
  /** ms since the epoch; absent: the time of the scrape. */
  readonly at?: number;
}

/** A metric family with its samples. */
export interface MetricFamily {
  readonly name: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  /** Help text, one sentence. */
  readonly help: string;
  readonly samples: readonly Sample[];
}
