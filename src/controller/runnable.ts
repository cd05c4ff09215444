/** Runnable is a part of a program that a manager starts and stops. */
export interface Runnable {
  /** Runs until `signal` aborts; a rejection stops the manager. */
  start(signal: AbortSignal): Promise<void>;
  /** Whether it runs only while this process leads. Default true. */
  readonly needLeaderElection?: boolean;
  /** Prepares it before this process leads; resolves when it is ready to take over. */
  warmup?(signal: AbortSignal): Promise<void>;
}
