import { Backoff, type BackoffOptions } from '../../base/backoff.ts';
import type { Clock } from '../../base/clock.ts';
import { PodConfig } from '../../config/pod-config.ts';
import { GenericPleg } from '../../pleg/generic-pleg.ts';
import { PodManager } from '../../pods/pod-manager.ts';
import { DueQueue } from '../../podworkers/due-queue.ts';
import { PodWorkers, type PodWorkersDeps, type PodWorkersOptions } from '../../podworkers/pod-workers.ts';
import { ProbeWorker } from '../../prober/probe-worker.ts';
import { StatusManager } from '../../status/status-manager.ts';
import type { FamilyProtocol } from './protocol.ts';

/** Pod workers: updates go in, the worker of a pod takes its turns through the gate, and ten queries say what may be done with the pod. */
export type PodWorkersMachine = Pick<
  PodWorkers,
  | 'updatePod'
  | 'syncKnownPods'
  | 'hasToken'
  | 'stateOf'
  | 'staticPods'
  | 'isPodKnownTerminated'
  | 'couldHaveRunningContainers'
  | 'shouldPodBeFinished'
  | 'isPodTerminationRequested'
  | 'shouldPodContainersBeTerminating'
  | 'shouldPodRuntimeBeRemoved'
  | 'shouldPodContentBeRemoved'
  | 'isPodForMirrorPodTerminatingByFullName'
>;

/** The status manager: statuses go in, patches and deletions go out to the API server. */
export type StatusManagerMachine = Pick<
  StatusManager,
  | 'setPodStatus'
  | 'setContainerReadiness'
  | 'setContainerStartup'
  | 'terminatePod'
  | 'removeOrphanedStatuses'
  | 'resizes'
  | 'wake'
  | 'syncBatch'
  | 'entry'
  | 'sentVersions'
  | 'signalled'
>;

/** The multiplexer of pod sources: whole lists go in, batches of changes come out. */
export type PodConfigMachine = Pick<PodConfig, 'updates' | 'addSource' | 'seenAllSources'>;

/** The pod lifecycle event generator: listings of the runtime become events. */
export type PlegMachine = Pick<
  GenericPleg,
  'relist' | 'relistPod' | 'requestReinspect' | 'health' | 'channel' | 'tracked'
>;

/** The worker of one probe; `attempt` is one period. */
export type ProbeWorkerMachine = Pick<ProbeWorker, 'attempt' | 'state'>;

/** The pods that the node is to run, and their mirror pods. */
export type PodManagerMachine = Pick<
  PodManager,
  | 'updatePod'
  | 'removePod'
  | 'setPods'
  | 'getPodsAndMirrorPods'
  | 'getUIDTranslations'
  | 'getPodByUID'
  | 'getPodByName'
  | 'translatePodUID'
  | 'getPodAndMirrorPod'
  | 'getStaticPodToMirrorPodMap'
>;

/** The queue of pods that are due again after a delay. */
export type WorkQueueMachine = Pick<DueQueue, 'enqueue' | 'getWork'>;

/** Exponential back-off by key. */
export type BackOffMachine = Pick<
  Backoff,
  'next' | 'get' | 'isInBackOffSince' | 'isInBackOffSinceUpdate' | 'tryRestart' | 'gc' | 'reset'
>;

/**
 * What is judged: a maker for each state machine that there is. Every maker is called once a history, with everything around the machine faked
 * by the replay. The families of a machine that is left out are reported as not replayed.
 */
export interface StateMachineSubject {
  readonly podWorkers?: (deps: PodWorkersDeps, options?: PodWorkersOptions) => PodWorkersMachine;
  readonly statusManager?: (...args: ConstructorParameters<typeof StatusManager>) => StatusManagerMachine;
  readonly podConfig?: (...args: ConstructorParameters<typeof PodConfig>) => PodConfigMachine;
  readonly pleg?: (...args: ConstructorParameters<typeof GenericPleg>) => PlegMachine;
  readonly probeWorker?: (...args: ConstructorParameters<typeof ProbeWorker>) => ProbeWorkerMachine;
  readonly podManager?: () => PodManagerMachine;
  readonly workQueue?: (clock: Pick<Clock, 'now'>) => WorkQueueMachine;
  readonly backOff?: (clock: Pick<Clock, 'now'>, options: BackoffOptions) => BackOffMachine;
  /**
   * The general form, for any family and any language: is handed the operations of a recording and answers what can be observed. Wins for the
   * families that it names.
   */
  readonly protocol?: FamilyProtocol;
  /** The families that judge no machine but single functions are replayed on podtender's own. Default: they are not replayed. */
  readonly functions?: 'podtender';
}

/** A subject with every machine. */
export type StateMachines = Required<Omit<StateMachineSubject, 'protocol' | 'functions'>>;

/** The machines that podtender itself runs. */
export const podtenderStateMachines: StateMachines & { readonly functions: 'podtender' } = {
  functions: 'podtender',
  podWorkers: (deps, options) => new PodWorkers(deps, options),
  statusManager: (...args) => new StatusManager(...args),
  podConfig: (...args) => new PodConfig(...args),
  pleg: (...args) => new GenericPleg(...args),
  probeWorker: (...args) => new ProbeWorker(...args),
  podManager: () => new PodManager(),
  workQueue: (clock) => new DueQueue(clock),
  backOff: (clock, options) => new Backoff(clock, options),
};
