import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import type { Random } from '../base/random.ts';
import type { EventRecorder } from '../kube/events.ts';
import type { ServiceAccounts } from '../containers/credentials/plugin-provider.ts';
import type { ResourceKeeper } from '../kube/resources/pod-resources.ts';
import type { ProbeResults } from '../containers/kuberuntime/actions/pod-actions.ts';
import type { RuntimeHelper } from '../containers/kuberuntime/helper.ts';
import type { MeasuredMachine } from '../containers/stats/machine-info.ts';
import type { RuntimeCallMetrics } from '../pods/metrics/agent-metrics.ts';
import type { StartMetrics } from './metrics/start-metrics.ts';

/** What the agent has for a provider that is made for it. */
export interface Surroundings {
  readonly helper: RuntimeHelper;
  readonly recorder: EventRecorder;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Keeps which resources were handed to the runtime. */
  readonly actuated: ResourceKeeper;
  /** Counts the calls to a runtime or image service. */
  readonly runtimeCalls: Pick<RuntimeCallMetrics, 'around'>;
  /** Counts the pods and containers that are started. */
  readonly starts: Pick<StartMetrics, 'counts'>;
  readonly rootDir: string;
  readonly machine: MeasuredMachine;
  /** Those of this node's pods. */
  readonly serviceAccounts: ServiceAccounts;
  /** Probe results by container ID. */
  readonly probeResults: Readonly<Record<'liveness' | 'startup', ProbeResults>>;
}
