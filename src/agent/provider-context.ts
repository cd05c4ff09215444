import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import type { Random } from '../base/random.ts';
import type { ServiceAccounts } from '../containers/credentials/plugin-provider.ts';
import type { ProbeResults } from '../containers/kuberuntime/actions/pod-actions.ts';
import type { RuntimeHelper } from '../containers/kuberuntime/helper.ts';
import type { MeasuredMachine } from '../containers/stats/machine-info.ts';
import type { EventRecorder } from '../kube/events.ts';
import type { ResourceKeeper } from '../kube/resources/pod-resources.ts';
import type { KubeObject } from '../kube/types.ts';
import type { RuntimeCallMetrics } from '../pods/metrics/agent-metrics.ts';
import type { PodsController } from '../pods/pods-controller.ts';
import type { StartMetrics } from './metrics/start-metrics.ts';

/** What the agent gives the provider that is made for it (`AgentOptions.makeProvider`). */
export interface ProviderContext {
  readonly helper: RuntimeHelper;
  readonly recorder: EventRecorder;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Keeps which resources were handed to the runtime. */
  readonly actuated: ResourceKeeper;
  /** Counts the calls to a runtime or image service. */
  readonly runtimeCalls: Pick<RuntimeCallMetrics, 'around'>;
  /** Counts the pods and containers that are started, and the images that are removed. */
  readonly starts: Pick<StartMetrics, 'counts' | 'imageRemoved'>;
  readonly rootDir: string;
  readonly machine: MeasuredMachine;
  /** Reads the service accounts of this node's pods and asks for their tokens. */
  readonly serviceAccounts: ServiceAccounts;
  /** Probe results by container ID. */
  readonly probeResults: Readonly<Record<'liveness' | 'startup', ProbeResults>>;
  /** The controller that will run the provider's pods; it has engines once the provider was made. */
  readonly controller: PodsController;
  /** The node that Events are about. */
  readonly nodeRef: KubeObject;
  /** Whether every source of pods was handled once: before, nothing may be removed as unwanted. */
  readonly allSourcesReady: () => boolean;
}
