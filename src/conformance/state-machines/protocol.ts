import type { Header, RecordedCase, Step } from './recorded.ts';

/** What a history begins with: everything of its line but the steps. */
export interface HistoryStart {
  readonly family: string;
  readonly header: Header;
  readonly history: RecordedCase;
}

/** One call of a vector family. */
export interface VectorCall {
  readonly family: string;
  readonly header: Header;
  readonly fn?: string;
  readonly in: unknown;
}

/**
 * A subject that is handed the operations of a recording, and answers with what can be observed after each, in the words of the recording's
 * `expect`; conformance/recordings/FORMAT.md has the families. Requests never overlap.
 */
export interface FamilyProtocol {
  /** The families that the subject implements. */
  readonly families: readonly string[];
  /** A new history: everything from before is forgotten. */
  begin(start: HistoryStart): Promise<void>;
  /** Sets the clock, performs the operation and answers what can be observed. Tables are answered whole, not as changes. */
  step(step: Step): Promise<unknown>;
  /** The history has ended; pod_cache answers with `stillWaiting`. */
  end(): Promise<unknown>;
  /** Calls one function. */
  call(vector: VectorCall): Promise<unknown>;
}
