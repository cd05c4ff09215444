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

/** The subsystems of the agent for the provider's factory (`AgentOptions.makeProvider`). */
export interface ProviderContext {
  readonly helper: RuntimeHelper;
  readonly recorder: EventRecorder;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Stores the resources that were applied in the runtime. */
  readonly actuated: ResourceKeeper;
  /** Counts the calls to a runtime or image service. */
  readonly runtimeCalls: Pick<RuntimeCallMetrics, 'around'>;
  /** Counts started pods and containers, and removed images. */
  readonly starts: Pick<StartMetrics, 'counts' | 'imageRemoved'>;
  readonly rootDir: string;
  readonly machine: MeasuredMachine;
  /** Reads the service accounts of this node's pods and requests their tokens. */
  readonly serviceAccounts: ServiceAccounts;
  /** The probe results, by container ID. */
  readonly probeResults: Readonly<Record<'liveness' | 'startup', ProbeResults>>;
  /** The controller that will run the provider's pods. It has engines only after the factory has returned. */
  readonly controller: PodsController;
  /** The reference to the node in Events. */
  readonly nodeRef: KubeObject;
  /** True once every pod source was handled. Nothing may be removed as undesired before. */
  readonly allSourcesReady: () => boolean;
}
