import type { ApiClient } from '../../api/client.ts';
import type { ApiConnection } from '../../api/rest/connection.ts';
import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/logger.ts';
import type { Random } from '../../base/random.ts';
import type { Tracer } from '../../base/tracing.ts';
import type { ControllerOptions } from '../controller/controller.ts';
import type { LeaderElectionOptions } from '../../api/leaderelection/leader-elector.ts';
import type { CacheOptions, Kind } from '../types.ts';
import type { WebhookServerOptions } from '../webhook/server.ts';
import type { MetricsOptions } from './metrics-server.ts';

/** The defaults of a manager's controllers. */
export type ControllerDefaults = Pick<
  ControllerOptions,
  | 'maxConcurrentReconciles'
  | 'recoverPanic'
  | 'needLeaderElection'
  | 'reconciliationTimeout'
  | 'cacheSyncTimeout'
  | 'usePriorityQueue'
  | 'enableWarmup'
  | 'skipNameValidation'
  | 'clock'
>;

/** How a manager runs. Durations are ms. */
export interface ManagerOptions {
  /** The API server; of a client the owner closes the connections. */
  readonly connection: ApiConnection | ApiClient;
  readonly logger?: Logger;
  readonly clock?: Clock;
  readonly random?: Random;
  /** Traces events, reconciles and calls. Default: the OpenTelemetry SDK that is registered, if any. */
  readonly tracer?: Tracer;
  readonly cache?: CacheOptions;
  readonly client?: {
    readonly cache?: { readonly disableFor?: readonly Kind[]; readonly metadataOnlyFor?: readonly Kind[] };
    readonly dryRun?: boolean;
    readonly fieldOwner?: string;
    readonly fieldValidation?: 'Ignore' | 'Warn' | 'Strict';
    /** After a write, a read of that object from the cache waits until the cache has it. */
    readonly readYourWrites?: boolean;
  };
  /** Runs what needs leadership only while this process holds a Lease. Absent: this process always leads. */
  readonly leaderElection?: LeaderElectionOptions;
  /** Absent: no metrics are served. */
  readonly metrics?: MetricsOptions;
  /** Serves `/healthz` and `/readyz`: `host:port`; `0` or absent: off. */
  readonly healthProbeBindAddress?: string;
  readonly webhook?: WebhookServerOptions;
  /** How long a stop waits for what runs; negative: as long as it takes. Default 30 s. */
  readonly gracefulShutdownTimeout?: number;
  readonly controller?: ControllerDefaults;
}
