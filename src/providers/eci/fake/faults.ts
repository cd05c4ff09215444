/** What the double does instead of, or after, answering a call. */
export type FakeFaultKind =
  /** 429 `Throttling.User`. */
  | 'throttle'
  /** 500 `InternalError`. */
  | 'error'
  /** The connection is reset before the answer. */
  | 'reset'
  /** Half of the JSON is sent, then the connection ends. */
  | 'half'
  /** No answer comes. */
  | 'hang'
  /** 403 with the code that `code` names. */
  | 'refuse';

/** FaultRule makes calls fail. Rules are looked through in order; the first that applies decides. */
export interface FaultRule {
  readonly kind: FakeFaultKind;
  /** Only calls of this action; default: all. */
  readonly action?: string;
  /** Only from the n-th call on that this rule could apply to, counted from 1; default 1. */
  readonly from?: number;
  /** For how many calls; default: for good. */
  readonly times?: number;
  /** The error's code for `refuse`, e.g. `Forbidden.RAM`. */
  readonly code?: string;
  /** The call takes effect, only its answer is lost. */
  readonly afterEffect?: boolean;
  /** With `throttle`: the header `Retry-After`, seconds. */
  readonly retryAfterSeconds?: number;
}

/** Faults decides which calls fail. `rules` may be changed while the double runs. */
export class Faults {
  readonly rules: FaultRule[];
  readonly #applied = new WeakMap<FaultRule, number>();

  constructor(rules: readonly FaultRule[] = []) {
    this.rules = [...rules];
  }

  /** The rule for the next call of `action`; counts it. */
  next(action: string): FaultRule | undefined {
    for (const rule of this.rules) {
      if (rule.action !== undefined && rule.action !== action) continue;
      const count = (this.#applied.get(rule) ?? 0) + 1;
      this.#applied.set(rule, count);
      const first = rule.from ?? 1;
      if (count >= first && count < first + (rule.times ?? Number.POSITIVE_INFINITY)) return rule;
    }
    return undefined;
  }
}
