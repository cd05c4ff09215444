import type { ApiClient } from '../api/client.ts';
import type { KnownObjects } from '../api/cache/known-objects.ts';
import type { Pod, Node } from '../kube/types.ts';
import type { EventRecorder } from '../kube/events.ts';
import type { Clock } from '../base/clock.ts';
import type { Random } from '../base/random.ts';
import type { Logger } from '../base/logger.ts';
import type { StatusTelling } from '../status/status-manager.ts';
import type { CopyKeeper } from './copy-files.ts';
import type { MiddlewareChain } from './middleware.ts';
import type { PodHost } from './pod-host.ts';
import type { PodProvider } from '../provider/provider.ts';
import type { Tracer } from '../base/tracing.ts';
import type { ResourceKeeper } from '../kube/resources/pod-resources.ts';

/** The options of {@link buildEngines}, with all defaults applied. */
export interface EnginesOptions {
  readonly nodeName: string;
  readonly nodeIPs: readonly string[];
  readonly sourcesReady: { allReady(): boolean };
  readonly kubeClient?: ApiClient;
  readonly knownPods?: KnownObjects<Pod>;
  readonly nodeGetter: () => Node | undefined;
  readonly recorder: EventRecorder;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly periods: { readonly resyncMs: number; readonly relistMs: number };
  readonly statuses?: StatusTelling;
  /** The time between the deletion of a mirror pod and its next creation, ms. Default 0. */
  readonly mirrorPauseMs?: number;
  readonly host: Partial<PodHost>;
  readonly provider: PodProvider;
  readonly tracer?: Tracer;
  /** Stores the pods' allocated resources across restarts of the agent; absent: they are lost at a restart. */
  readonly allocations?: ResourceKeeper;
  /** The hooks on the pods' way; absent when there are none. */
  readonly middleware?: MiddlewareChain;
  /** Keeps the copies that middleware made across restarts; absent: they are lost at a restart. */
  readonly copies?: CopyKeeper;
}
