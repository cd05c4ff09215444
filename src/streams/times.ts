/** Times of live streams, ms; the defaults are the kubelet's. */
export interface StreamTimes {
  /** Idle time after which a connection closes (`streamingConnectionIdleTimeout`). */
  readonly idleMs: number;
  /** How long a client has to open the streams that it requested. */
  readonly creationMs: number;
}

export const streamTimes: StreamTimes = { idleMs: 4 * 3_600_000, creationMs: 30_000 };
