/** Uses the names of the reference framework's index as a consumer of the packed package does (compiled by test/e2e/package.test.ts). */
import {
  type AgentPodWorkers,
  ContainerCreating,
  type Engines,
  FakeClock,
  type KillPodOptions,
  type MachineSettings,
  NetworkNotReadyErrorMsg,
  type NodeClient,
  NodeController,
  type NodeGetter,
  type NodeProvider,
  type OnCompleteFunc,
  type Pod,
  PodCache,
  PodInitializing,
  type PodProvider,
  PodsController,
  type PodsControllerConfig,
  type PodsControllerOptions,
  type PodStateProvider,
  type PodStatus,
  type PodStatusFunc,
  PodWorkers,
  type PodWorkerState,
  type PodWorkType,
  SourcesReady,
  StatusManager,
  Store,
  type SyncHandler,
  type UpdatePodOptions,
} from '../../src/index.ts';
import { emptyPodStatus } from '../../src/provider/index.ts';

export const constants: readonly string[] = [PodInitializing, ContainerCreating, NetworkNotReadyErrorMsg];
export const workTypes: readonly PodWorkType[] = ['sync', 'terminating', 'terminated'];
export const states: readonly PodWorkerState[] = [...workTypes, 'terminated-and-recreated'];

const evicted: PodStatusFunc = (status) => ({ ...status, reason: 'Evicted' });
export const done: OnCompleteFunc = (error) => {
  if (error) throw error;
};
const kill: KillPodOptions = {
  completed: () => undefined,
  evict: true,
  podStatusFunc: evicted,
  podTerminationGracePeriodSecondsOverride: 3,
};
declare const pod: Pod;
export const update: UpdatePodOptions = { updateType: 'kill', startTime: 1, pod, killPodOptions: kill };

/** A consumer's own implementation. */
export class OwnWorkers implements PodWorkers {
  readonly updates: UpdatePodOptions[] = [];
  updatePod(options: UpdatePodOptions): void {
    this.updates.push(options);
  }
  syncKnownPods(): ReturnType<PodWorkers['syncKnownPods']> {
    return new Map();
  }
  isPodKnownTerminated(uid: string): boolean {
    return uid === '';
  }
  couldHaveRunningContainers(uid: string): boolean {
    return uid === '';
  }
  isPodTerminationRequested(uid: string): boolean {
    return uid === '';
  }
  shouldPodContainersBeTerminating(uid: string): boolean {
    return uid === '';
  }
  shouldPodRuntimeBeRemoved(uid: string): boolean {
    return uid === '';
  }
  shouldPodContentBeRemoved(uid: string): boolean {
    return uid === '';
  }
  isPodForMirrorPodTerminatingByFullName(fullName: string): boolean {
    return fullName === '';
  }
}

const workers = new PodWorkers({
  clock: new FakeClock(),
  cache: new PodCache(),
  recorder: { event: () => undefined },
  syncer: {
    syncPod: () => Promise.resolve({ terminal: false }),
    syncTerminatingPod: () => Promise.resolve(),
    syncTerminatingRuntimePod: () => Promise.resolve(),
    syncTerminatedPod: () => Promise.resolve(),
  },
});
export const provider: PodStateProvider = workers;

declare const options: PodsControllerOptions;
export const config: PodsControllerConfig = {
  ...options,
  namespace: 'default',
  nodeName: 'n',
  nodeIP: '192.0.2.1',
  framework: { syncFrequency: 10_000 },
  registry: {
    default: { repository: 'r.example/team' },
    allows: [{ repository: 'm.example', username: 'u', password: 'p' }],
  },
};
const controller = new PodsController(config);
export const handler: SyncHandler = controller;
export const state: PodStateProvider = controller.getPodStateProvider();
export const statuses: StatusManager = controller.getStatusManager();
declare const status: PodStatus;
export const verdicts: readonly boolean[] = [
  controller.podCouldHaveRunningContainers(pod),
  controller.podResourcesAreReclaimed(pod, status),
];
export const ready: Promise<void> = controller.ready;
declare const nodeController: NodeController;
export const getter: NodeGetter = nodeController;
export class Ready implements SourcesReady {
  readonly seen = new Set<string>();
  addSource(source: string): void {
    this.seen.add(source);
  }
  allReady(): boolean {
    return true;
  }
}
export const real: SourcesReady = new SourcesReady({ seenAllSources: () => true });
export const constructible = StatusManager;
/** Internals that public signatures name can be named. */
export const engines: Engines = controller.engines;
export const own: AgentPodWorkers = engines.podWorkers;
export type Named = NodeClient | MachineSettings;
export const store = Store;
export type Providers = PodProvider & NodeProvider;
export const nothing = emptyPodStatus({ uid: 'u', name: 'n', namespace: 'd' });
