/** Line 1 of a recording: the family and its constants. */
export type Header = Readonly<Record<string, unknown>>;

/** Any further line of a recording: one history, or one vector. */
export type RecordedCase = Readonly<Record<string, unknown>>;

/** One step of a history, without what is expected of it. */
export interface Step {
  /** The clock, in whole seconds since the start of the history. */
  readonly at?: number;
  /** The clock, in ms since the start of the history. */
  readonly atMs?: number;
  readonly op: unknown;
  /** status_manager only: the API objects as the API server has them after the step, which is where a patched object is taken from. */
  readonly apiAfter?: unknown;
}
