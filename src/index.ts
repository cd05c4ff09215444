/**
 * podtender for those who embed it: the pods controller, the node controller, and what they are made with. Re-exports only.
 *
 * Providers are written against `podtender/provider`; the shipped ones are under `podtender/providers/*`, an API server for tests and
 * single nodes under `podtender/apiserver`.
 */
export { Agent, type AgentEvents } from './agent/agent.ts';
export type { AgentOptions, AgentProvider, ProviderWithUpkeep } from './agent/agent-options.ts';
export {
  containerProvider,
  standaloneContainerProvider,
  type StandaloneParts,
  kuberuntimeProvider,
  type ProviderOptions,
  type RuntimeParts,
} from './agent/kuberuntime-provider.ts';
export { apiReviews } from './agent/server-host.ts';
export { type LogLevel, pinoLogger } from './base/pino-logger.ts';
export type { ProviderContext } from './agent/provider-context.ts';
export { nodeHost, type HostDeps, type NodeHost } from './agent/volume-host.ts';
export type { PodHost } from './pods/pod-host.ts';
export {
  type FrameworkOptions,
  type NodeGetter,
  PodsController,
  type PodsControllerConfig,
  type PodsControllerOptions,
  type PodsControllerPeriods,
  podsControllerPeriods,
  type SourcesSeen,
  type SyncHandler,
} from './pods/pods-controller.ts';
export type { Engines } from './pods/engines.ts';
export type { RegistryAuth, RegistryOptions } from './pods/registry.ts';
export { PodCache } from './pleg/pod-cache.ts';
export {
  ContainerCreating,
  type KillPodOptions,
  NetworkNotReadyErrorMsg,
  type OnCompleteFunc,
  PodInitializing,
  type PodStateProvider,
  type PodStatusFunc,
  PodWorkers,
  type PodWorkersDeps,
  type PodWorkerState,
  type PodWorkType,
  type StandalonePodWorkers,
  type UpdatePodOptions,
} from './podworkers/embedding.ts';
export type { PodWorkersOptions } from './podworkers/pod-workers.ts';
export type {
  PodStep,
  PodSyncer,
  SyncPodOutcome,
  SyncPodStep,
  SyncTerminatingPodStep,
} from './podworkers/pod-syncer.ts';
export type { PodWorkerSync } from './podworkers/queries.ts';
export type { PodState } from './podworkers/state.ts';
export type { Completion, PodStatusFn, UpdateType } from './podworkers/updates.ts';
export type * from './api/client.ts';
export { ApiError, isAlreadyExists, isConflict, isNotFound } from './api/client.ts';
export type { ApiConnection, Credentials, CredentialSource } from './api/rest/connection.ts';
export {
  EventBroadcaster,
  type EventBroadcasterDeps,
  type EventBroadcasterOptions,
} from './api/events/event-recorder.ts';
export { type ApiClientDeps, createApiClient, type HttpApiClient } from './api/rest/http-client.ts';
export { Informer, type InformerOptions } from './api/cache/informer.ts';
export { intercept } from './api/interceptor.ts';
export { connectionFromKubeconfig, throughProxy } from './api/kubeconfig/kube-client.ts';
export { type InCluster, inClusterConnection } from './api/kubeconfig/plain-kubeconfig.ts';
export { ResourceClient } from './api/resource-client.ts';
export * from './api/resources.ts';
export { SharedInformers } from './api/cache/shared-informers.ts';
export { type ReadonlyStore, Store } from './api/cache/store.ts';
export { type Clock, type StopTimer, systemClock } from './base/clock.ts';
export { AgentError, disposition, type ErrorCode } from './base/errors.ts';
export { FakeClock, settle } from './base/fake-clock.ts';
export { type LogFields, type Logger, silentLogger } from './base/logger.ts';
export type { ProxyEnvironment } from './base/proxy.ts';
export { type Random, systemRandom } from './base/random.ts';
export {
  type OpenSpan,
  openTelemetryTracer,
  type SpanAttributes,
  type SpanOptions,
  type Tracer,
} from './base/tracing.ts';
export { WorkQueue } from './base/work-queue.ts';
export { apiServerSource } from './config/apiserver-source.ts';
export { fileSource } from './config/file-source.ts';
export { fetchManifest, fetchManifestThrough, httpSource } from './config/http-source.ts';
export { nodeFiles, watchFiles } from './config/node-files.ts';
export { PodConfig, SourcesReady } from './config/pod-config.ts';
export type { PodOperation, PodUpdate, SourceSnapshot } from './config/pod-update.ts';
export type { EventDetails, EventRecorder } from './kube/events.ts';
export type * from './kube/types.ts';
export { nodeStatusSetters, type NodeStatusSources } from './node/default-setters.ts';
export { type ExitPolicy, type NodeControllerConfig, virtualKubeletDefaults } from './node/node-config.ts';
export { NodeController, nodeLeaseNamespace } from './node/node-controller.ts';
export type { LeaseClient, NodeClient } from './node/clients.ts';
export type { NodeIdentity } from './node/register.ts';
export type { MachineSettings } from './node/setters/machine.ts';
export type { NodeStatusSetter } from './node/setters/setter.ts';
export type {
  NodeProvider,
  PodProvider,
  PodSyncResult,
  SyncPodRequest,
  SyncResult,
} from './provider/provider.ts';
export { createProvider, registerProvider, type ProviderFactory } from './provider/registry.ts';
export type * from './provider/powers.ts';
export * from './provider/runtime-pod.ts';
export { StatusManager } from './status/embedding.ts';
export type { DeletionSafety, PodLookup, StatusManagerDeps, StatusTelling } from './status/status-manager.ts';
export { type StatusClient, statusClient } from './status/status-client.ts';

// What options and results above name, for those who write them down.
export type { EvictionOptions, ShutdownOptions } from './agent/evictions.ts';
export type { LeveledLogger } from './base/pino-logger.ts';
export type { AllocationManager } from './allocation/allocation-manager.ts';
export type { Burst } from './api/cache/burst.ts';
export type { InformerHandler } from './api/cache/handler-queue.ts';
export type { KnownObjects } from './api/cache/known-objects.ts';
export type { IndexFunction } from './api/cache/store.ts';
export type { BackoffOptions } from './base/backoff.ts';
export type { Emitter } from './base/emitter.ts';
export type { Members } from './base/members.ts';
export type { WorkQueueOptions } from './base/work-queue.ts';
export type { PodSource } from './kube/names.ts';
export type { ResourceKeeper } from './kube/resources/pod-resources.ts';
export type { MetricFamily } from './metrics/family.ts';
export type { ReadyFaults } from './node/setters/conditions.ts';
export type { MachineInfo } from './node/setters/machine.ts';
export type { VersionSettings } from './node/setters/runtime.ts';
export type { SetterResult } from './node/setters/setter.ts';
export type { PodLifecycleEvent } from './pleg/diff.ts';
export type { GenericPleg } from './pleg/generic-pleg.ts';
export type { Housekeeping } from './pods/housekeeping.ts';
export type { PodManager } from './pods/pod-manager.ts';
export type { RuntimeState } from './pods/runtime-state.ts';
export type { PodSyncHandler } from './pods/sync-handler.ts';
export type { PodCgroups, PodVolumes, ReferencedObjects } from './pods/sync-pod.ts';
export type { PodWorkers as AgentPodWorkers } from './podworkers/pod-workers.ts';
export type { RequeueOptions } from './podworkers/requeue.ts';
export type { FinishedState, SyncState, TerminatedState, TerminatingState } from './podworkers/state.ts';
export type {
  KillPodOptions as OwnKillPodOptions,
  UpdatePodOptions as OwnUpdatePodOptions,
} from './podworkers/updates.ts';
export type { ReferenceKillPodOptions, ReferenceUpdatePodOptions } from './podworkers/embedding.ts';
export type { ProbeManager } from './prober/probe-manager.ts';
export type { StatusManager as AgentStatusManager } from './status/status-manager.ts';
export { type NodeProviderLike, runNode, type RunNodeOptions, type RunningNode } from './app/run-node.ts';
