/** Times of live streams, ms; the defaults are the kubelet's. */
export interface StreamTimes {
  /** Without a byte for this long a connection ends (`streamingConnectionIdleTimeout`). */
  readonly idleMs: number;
  /** How long a client has to open the streams that it asked for. */
  readonly creationMs: number;
}

export const streamTimes: StreamTimes = { idleMs: 4 * 3_600_000, creationMs: 30_000 };
