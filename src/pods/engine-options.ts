import type { ApiClient } from '../api/client.ts';
import type { KnownObjects } from '../api/cache/known-objects.ts';
import type { Pod, Node } from '../kube/types.ts';
import type { EventRecorder } from '../kube/events.ts';
import type { Clock } from '../base/clock.ts';
import type { Random } from '../base/random.ts';
import type { Logger } from '../base/logger.ts';
import type { StatusTelling } from '../status/status-manager.ts';
import type { PodHost } from './pod-host.ts';
import type { PodProvider } from '../provider/provider.ts';
import type { Tracer } from '../base/tracing.ts';
import type { ResourceKeeper } from '../kube/resources/pod-resources.ts';

/** What the engines are made of; everything is decided by now. */
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
  /** Between the deletion of a mirror pod and its next creation, ms; default 0. */
  readonly mirrorPauseMs?: number;
  readonly host: Partial<PodHost>;
  readonly provider: PodProvider;
  readonly tracer?: Tracer;
  /** Keeps the pods' resources for the next agent; absent: they end with this one. */
  readonly allocations?: ResourceKeeper;
}
