import type { AllocationManager } from '../allocation/allocation-manager.ts';
import { AgentError } from '../base/errors.ts';
import { uidOf } from '../kube/names.ts';
import { qosClassOf } from '../kube/resources/resources.ts';
import type { Node, Pod, PodStatus } from '../kube/types.ts';
import type { PodLifecycleEvent } from '../pleg/diff.ts';
import { GenericPleg } from '../pleg/generic-pleg.ts';
import { PodCache } from '../pleg/pod-cache.ts';
import { DueQueue } from '../podworkers/due-queue.ts';
import type { PodSyncer } from '../podworkers/pod-syncer.ts';
import { PodWorkers } from '../podworkers/pod-workers.ts';
import { ProbeManager } from '../prober/probe-manager.ts';
import { guardedProvider } from '../provider/guarded-provider.ts';
import type { PodProvider } from '../provider/provider.ts';
import { needsReadinessReconcile } from '../status/conditions.ts';
import { ReasonCache } from '../status/reason-cache.ts';
import { type StatusClient, statusClient } from '../status/status-client.ts';
import { type DeletionSafety, StatusManager } from '../status/status-manager.ts';
import { ActiveDeadline } from './active-deadline.ts';
import { makeAllocationManager } from './allocation.ts';
import { Housekeeping, type HousekeepingDeps } from './housekeeping.ts';
import { type MiddlewareChain, MiddlewareSyncer, withStatusHooks } from './middleware.ts';
import { MirrorClient, type MirrorReconcileDeps, reconcileMirror } from './mirror-client.ts';
import { bareHost, type PodHost } from './pod-host.ts';
import { PodManager } from './pod-manager.ts';
import { EngineMetrics } from './metrics/agent-metrics.ts';
import { makeProber, type ProbeUpdate } from './probing.ts';
import { Remains } from './remains.ts';
import { RuntimeState, watchRuntime } from './runtime-state.ts';
import { statusSource } from './status-source.ts';
import { PodSyncHandler } from './sync-handler.ts';
import { SyncSteps } from './sync-pod.ts';
import { detachedObjects, detachedProbes, tracedProvider, tracedSyncer } from './tracing.ts';
import type { EnginesOptions } from './engine-options.ts';

/** The components of a pods controller, composed. */
export interface Engines {
  readonly provider: PodProvider;
  readonly metrics: EngineMetrics;
  readonly podManager: PodManager;
  readonly podWorkers: PodWorkers;
  readonly podCache: PodCache;
  readonly pleg: GenericPleg;
  readonly statusManager: StatusManager;
  readonly probeManager: ProbeManager;
  readonly syncHandler: PodSyncHandler;
  readonly allocationManager: AllocationManager;
  readonly runtimeState: RuntimeState;
  readonly housekeeping: Housekeeping;
  /** The pods that are due for a sync (R43). */
  podsToSync(): readonly Pod[];
  /** False when {@link podsToSync} would return no pod; cheap. */
  hasPodsToSync(): boolean;
  /** Creates the mirror pods of static pods that were synced before the node was registered. */
  registerStaticPods(): Promise<void>;
  /** Stores a changed probe result in the status and syncs the pod (R44). */
  handleProbeUpdate(update: ProbeUpdate): void;
  /** Removes dead containers of the event's pod (R42). */
  trimDeadContainers(event: PodLifecycleEvent): void;
  /** Starts the components that run beside the sync loop; resolves when all have stopped after `signal` aborts. */
  start(signal: AbortSignal): Promise<void>;
}

/**
 * Composes the engines of one node; the only place that knows how they depend on each other.
 *
 * Follows kubelet `NewMainKubelet`.
 */
export function buildEngines(unguarded: EnginesOptions): Engines {
  const { tracer, middleware } = unguarded;
  const own = middleware?.around(unguarded.provider) ?? unguarded.provider;
  const guarded = guardedProvider(own, unguarded);
  const options = { ...unguarded, provider: tracer ? tracedProvider(guarded, tracer) : guarded };
  const parts = coreParts(options);
  const syncHandler = makeSyncHandler(options, parts);
  const { podManager, workQueue, deadline, statusManager, pleg, runtimeState, allocationManager } = parts;
  return {
    ...parts,
    provider: options.provider,
    syncHandler,
    housekeeping: new Housekeeping(housekeepingDeps(options, parts, syncHandler)),
    podsToSync: () => {
      const due = new Set(workQueue.getWork());
      for (const pod of podManager.podsWithDeadline()) if (deadline.shouldSync(pod)) due.add(uidOf(pod));
      return Array.from(due, (uid) => podManager.getPodByUID(uid)).filter((pod) => pod !== undefined);
    },
    hasPodsToSync: () => workQueue.hasWork() || podManager.hasDeadlines,
    registerStaticPods: async () => {
      for (const [pod, mirror] of podManager.getStaticPodToMirrorPodMap())
        await reconcileMirror(mirrorDeps(options, parts), pod, mirror);
    },
    handleProbeUpdate: (update) => {
      applyProbeUpdate(update, statusManager, syncHandler);
    },
    trimDeadContainers: (event) => {
      const { podWorkers } = parts;
      // the last status of an evicted pod is generated from its containers: they stay until then (R64 removes them)
      const ended = !podWorkers.couldHaveRunningContainers(event.uid);
      const all = ended && podWorkers.shouldPodContentBeRemoved(event.uid);
      removeDead(options, parts, event.uid, all);
    },
    start: async (signal) => {
      const forget = options.provider.onPodEvent?.((uid) => void pleg.requestRelist(uid));
      const forgetPushes = options.provider.onPodStatus?.((observed) => {
        pleg.push(observed);
      });
      const forgetEvents = options.provider.onBackendEvent?.(({ pod, type, reason, message }) => {
        options.recorder.event({ apiVersion: 'v1', kind: 'Pod', metadata: pod }, type, reason, message);
      });
      await Promise.all([
        watchRuntime(options, runtimeState, signal),
        pleg.run(signal),
        allocationManager.run(signal),
        options.kubeClient ? statusManager.run(signal) : undefined, // R25
      ]);
      forget?.();
      forgetPushes?.();
      forgetEvents?.();
    },
  };
}

interface Parts extends Pick<
  Engines,
  | 'metrics'
  | 'podManager'
  | 'podCache'
  | 'pleg'
  | 'runtimeState'
  | 'statusManager'
  | 'probeManager'
  | 'podWorkers'
  | 'allocationManager'
> {
  readonly workQueue: DueQueue;
  readonly deadline: ActiveDeadline;
  readonly mirrorClient: MirrorClient;
  readonly host: PodHost;
  /** Absent when the provider stores nothing for pods that have ended. */
  readonly remains?: Remains;
}

/** The number of pods whose statuses are sent in parallel; more than the client's connections would only wait. */
const statusesAtOnce = 16;

/** The number of changed pods that a relist inspects in parallel. */
const inspectionsAtOnce = 16;

/** The number of on-demand relists that may wait; one listing serves all of them. */
const onDemandCapacity = 10_000;

const makePleg = (
  { clock, logger, provider, periods, recorder }: EnginesOptions,
  cache: PodCache,
  podManager: PodManager,
  { relisted: observeRelist, relistedSome: observePodRelist }: EngineMetrics,
): GenericPleg =>
  new GenericPleg(
    {
      clock,
      logger,
      provider,
      cache,
      observeRelist,
      observePodRelist,
      lookFailed: (uids, message) => {
        if (provider.recordsEvents === true) return;
        for (const pod of uids.map((uid) => podManager.getPodByUID(uid)))
          if (pod) recorder.event(pod, 'Warning', 'FailedSync', message);
      },
    },
    { relistPeriodMs: periods.relistMs, onDemandCapacity, parallel: inspectionsAtOnce },
  );

/**
 * Makes the components that depend on each other: workers call the steps, and the steps query the workers, through a late read of
 * `parts.podWorkers`.
 */
function coreParts(options: EnginesOptions): Parts {
  const { clock, logger, recorder, provider, random, kubeClient, periods } = options;
  const metrics = new EngineMetrics(clock);
  const podCache: PodCache = new PodCache((uid) => {
    pleg.requestRelist(uid); // a call that waits for a newer status gets it before the next full relist
  });
  const podManager = new PodManager();
  const pleg = makePleg(options, podCache, podManager, metrics);
  const runtimeState = new RuntimeState(clock);
  runtimeState.addHealthCheck({ name: 'PLEG', check: () => pleg.health() });
  const couldRun = (pod: Pod): boolean => parts.podWorkers.couldHaveRunningContainers(uidOf(pod));
  const remains = remainsOf(options, (uid) => {
    statusManager.retry(uid);
  });
  const statusManager: StatusManager = makeStatusManager(
    options,
    { podManager, metrics },
    {
      podCouldHaveRunningContainers: couldRun,
      ...(remains && { podResourcesAreReclaimed: (pod: Pod) => remains.areGone(pod) }),
    },
  );
  const statusOf = (uid: string): PodStatus | undefined => statusManager.getPodStatus(uid);
  const prober = metrics.prober(makeProber(clock, provider, recorder));
  const withoutWorkers = {
    metrics,
    podManager,
    podCache,
    pleg,
    runtimeState,
    statusManager,
    ...(remains && { remains }),
    probeManager: new ProbeManager({ clock, random, statusOf, prober }),
    workQueue: new DueQueue(clock),
    deadline: new ActiveDeadline({ clock, recorder, getPodStatus: statusOf }),
    mirrorClient: new MirrorClient({
      ...(kubeClient && { api: kubeClient }),
      nodeName: options.nodeName,
      getNode: async () => knownNode(options),
      logger,
    }),
    host: { ...bareHost, ...options.host },
  };
  const workers = (): PodWorkers => parts.podWorkers;
  const allocationManager = makeAllocationManager(options, withoutWorkers, workers);
  const allocatedPod = (pod: Pod): Pod => allocationManager.allocatedPod(pod);
  const syncer = makeSteps(options, withoutWorkers, workers);
  const queue = withoutWorkers.workQueue;
  const parts: Parts = {
    ...withoutWorkers,
    allocationManager,
    podWorkers: new PodWorkers(
      { clock, random, recorder, logger, syncer, cache: podCache, queue, allocatedPod },
      { resyncMs: periods.resyncMs },
    ),
  };
  return parts;
}

/** Makes the clean-up for a remote provider. @param removed called when everything of a pod is removed */
function remainsOf(
  { provider, clock, logger, recorder }: EnginesOptions,
  removed: (uid: string) => void,
): Remains | undefined {
  const deletePod = provider.deletePod?.bind(provider);
  return deletePod && new Remains({ provider: { deletePod }, clock, logger, recorder, removed });
}

function makeStatusManager(
  { clock, logger, kubeClient, knownPods, statuses: { settle, fromWatch = false } = {} }: EnginesOptions,
  { podManager, metrics }: Pick<Parts, 'podManager' | 'metrics'>,
  deletionSafety: DeletionSafety,
): StatusManager {
  return new StatusManager({
    clock,
    logger,
    client: kubeClient
      ? statusClient(kubeClient, { fromWatch, ...(knownPods && { knownObjects: knownPods }) })
      : nowhere,
    pods: podManager,
    deletionSafety,
    parallel: statusesAtOnce,
    ...(settle && { settle }),
    listener: {
      changeSent: metrics.pods.changeSent,
      containerEnded: metrics.pods.containerEnded,
      statusSent: (pod) => {
        metrics.starts.statusSent(pod);
      },
    },
  });
}

/** Makes the steps of a pod. @param workers a getter, because the workers depend on the steps */
function makeSteps(
  options: EnginesOptions,
  parts: Omit<Parts, 'podWorkers' | 'allocationManager'>,
  workers: () => PodWorkers,
): PodSyncer {
  const { logger, recorder, provider, tracer, middleware } = options;
  const { podManager, statusManager, probeManager, pleg, runtimeState, host, workQueue, remains } = parts;
  const reasons = new ReasonCache();
  const steps = new SyncSteps({
    logger,
    recorder,
    provider,
    statuses: middleware ? withStatusHooks(statusManager, middleware) : statusManager,
    resizes: statusManager.resizes,
    ...host,
    ...(remains && { remains }),
    probes: tracer ? detachedProbes(probeManager, tracer) : probeManager,
    objects: tracer ? detachedObjects(host.objects, tracer) : host.objects,
    reasons,
    generateStatus: statusSource({ ...options, ...parts, ...host, reasons }),
    isTerminationRequested: (uid) => workers().isPodTerminationRequested(uid),
    networkError: () => host.networkError() ?? runtimeState.networkError(),
    reconcileMirror: (pod, mirror) => reconcileMirror(mirrorDeps(options, parts), pod, mirror),
    requestRelist: (uid, inspect) => {
      if (inspect) pleg.requestReinspect(uid);
      pleg.requestRelist(uid);
    },
    syncAgain: (uid) => {
      const pod = podManager.getPodByUID(uid);
      if (pod) workers().updatePod({ type: 'sync', pod });
    },
    syncSoon: (uid) => {
      workQueue.enqueue(uid, 0);
    },
  });
  const changed = middleware ? withMiddleware(steps, middleware, options, workers) : steps;
  const measured = parts.metrics.syncer(changed, (uid) => statusManager.getPodStatus(uid));
  return tracer ? tracedSyncer(measured, tracer) : measured;
}

/** Makes the steps use the copies of pods that the middleware make. A refused pod ends like an evicted one, with phase Failed. */
const withMiddleware = (
  steps: PodSyncer,
  chain: MiddlewareChain,
  { clock, logger, recorder, copies }: EnginesOptions,
  workers: () => PodWorkers,
): PodSyncer =>
  new MiddlewareSyncer(steps, {
    ...{ clock, logger, recorder, chain, ...(copies && { copies }) },
    refuse: (pod, { reason, message }) => {
      const statusFn = (status: PodStatus): PodStatus => ({
        ...status,
        phase: 'Failed',
        reason,
        message: `Pod was rejected: ${message}`,
      });
      workers().updatePod({ type: 'kill', pod, kill: { evict: true, statusFn } });
    },
  });

function mirrorDeps(
  { logger, nodeGetter, clock, mirrorPauseMs = 0 }: EnginesOptions,
  { mirrorClient }: Pick<Parts, 'mirrorClient'>,
): MirrorReconcileDeps {
  const pause = mirrorPauseMs > 0 && { pause: () => clock.sleep(mirrorPauseMs) };
  return { mirrorClient, logger, nodeGetter, ...pause };
}

/** The status client of a standalone agent: every request fails. */
const nowhere: StatusClient = {
  getPod: () => Promise.reject(new AgentError('unavailable', 'standalone: there is no API server')),
  patchStatus: () => Promise.reject(new AgentError('unavailable', 'standalone: there is no API server')),
  deletePod: () => Promise.resolve(),
};

function knownNode({ nodeGetter, nodeName }: EnginesOptions): Node {
  const node = nodeGetter();
  if (node) return node;
  throw new AgentError('not_found', `node "${nodeName}" is not known yet`);
}

function makeSyncHandler(options: EnginesOptions, parts: Parts): PodSyncHandler {
  const { clock, logger, recorder, sourcesReady, middleware } = options;
  const { podManager, podWorkers, statusManager, allocationManager, metrics } = parts;
  return new PodSyncHandler({
    starts: metrics.starts,
    rejected: metrics.pods.rejected,
    resizeRequested: metrics.pods.resizeRequested,
    clock,
    logger,
    recorder,
    pods: podManager,
    workers: podWorkers,
    allocation: allocationManager,
    resizes: statusManager.resizes,
    statuses: middleware ? withStatusHooks(statusManager, middleware) : statusManager,
    qosOf: qosClassOf,
    allSourcesReady: () => sourcesReady.allReady(),
    needsReadinessReconcile,
    removeDeadContainers: (pod) => {
      removeDead(options, parts, uidOf(pod), true);
    },
  });
}

function housekeepingDeps(
  options: EnginesOptions,
  parts: Parts,
  syncHandler: PodSyncHandler,
): HousekeepingDeps {
  const { podManager, podWorkers, probeManager, statusManager, allocationManager, pleg, mirrorClient, host } =
    parts;
  return {
    logger: options.logger,
    counts: parts.metrics.pods,
    pods: podManager,
    workers: {
      syncKnownPods: (desired, desiredUids, syncs) => podWorkers.syncKnownPods(desired, desiredUids, syncs),
      startPod: (pod) => {
        const mirrorPod = podManager.getMirrorPodByPod(pod);
        podWorkers.updatePod({ type: 'create', pod, ...(mirrorPod && { mirrorPod }) });
      },
      killPod: (pod) => {
        podWorkers.updatePod({ type: 'kill', pod });
      },
      killRuntimePod: (runningPod) => {
        podWorkers.updatePod({ type: 'kill', runningPod, kill: { gracePeriodSeconds: 1 } });
      },
      isPodForMirrorPodTerminatingByFullName: (fullName) =>
        podWorkers.isPodForMirrorPodTerminatingByFullName(fullName),
    },
    probes: probeManager,
    statuses: statusManager,
    allocations: allocationManager,
    observations: pleg,
    listPods: () => options.provider.listPods(),
    ...remoteCleanups(options, parts),
    isActive: (pod) => syncHandler.isActive(pod),
    deleteMirrorPod: async (fullName) => {
      await mirrorClient.deleteMirrorPod(fullName);
    },
    cleanupOrphans: host.cleanupOrphans,
    cleanupNode: host.cleanupNode,
  };
}

/** The additional housekeeping for providers whose pods are not on this machine. */
const remoteCleanups = (
  { provider }: EnginesOptions,
  { remains }: Parts,
): Pick<HousekeepingDeps, 'remains' | 'cleanupProvider'> => ({
  ...(remains && { remains }),
  ...(provider.cleanupPods && {
    cleanupProvider: async (retained) => provider.cleanupPods?.(retained, new AbortController().signal),
  }),
});

/** Removes dead containers according to the last observed status; a pod that is not cached has none. */
function removeDead(
  { provider }: Pick<EnginesOptions, 'provider'>,
  { podCache }: Pick<Parts, 'podCache'>,
  uid: string,
  all: boolean,
): void {
  const observed = podCache.peek(uid);
  if (observed) provider.removeDeadContainers?.(uid, all, observed);
}

/** Stores a changed probe result in the status, then syncs the pod (R44). */
function applyProbeUpdate(update: ProbeUpdate, statuses: StatusManager, syncHandler: PodSyncHandler): void {
  const { type, podUid, containerId, result } = update;
  if (type === 'liveness' && result !== 'Failure') return;
  if (type === 'readiness') statuses.setContainerReadiness(podUid, containerId, result === 'Success');
  if (type === 'startup') statuses.setContainerStartup(podUid, containerId, result === 'Success');
  syncHandler.handlePodSyncByUID(podUid);
}
