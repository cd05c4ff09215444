/** `podtender/controller`: controllers in TypeScript, as controller-runtime has them in Go. Re-exports only. */
export type {
  ApplyOptions,
  Cache,
  CacheOptions,
  Client,
  DeleteAllOfOptions,
  DeleteOptions,
  GetOptions,
  HandlerRegistration,
  Informer,
  InformerEventHandler,
  Kind,
  KindCacheOptions,
  KubeObject,
  ListOptions,
  NamespaceCacheOptions,
  ObjectKey,
  ObjectList,
  ObjectMeta,
  ObjectOf,
  Patch,
  PatchOptions,
  Reader,
  Request,
  SubResourceClient,
  Transform,
  UnstructuredObject,
  WatchEvent,
  Wire,
  WriteOptions,
} from './types.ts';
export { defineKind, kindFromCRD, kinds } from './kinds.ts';
export { newCache, type OwnedCache } from './cache/new-cache.ts';
export { type CacheReads } from './client/cached-client.ts';
export { type ConnectionOptions } from './client/client.ts';
export { loadConnection, type LoadConnectionOptions } from './client/connection.ts';
export {
  apiErrorIn,
  hasStatusCause,
  ignoreAlreadyExists,
  ignoreNotFound,
  isAlreadyExists,
  isBadRequest,
  isConflict,
  isForbidden,
  isGone,
  isInternalError,
  isInvalid,
  isMethodNotSupported,
  isNotAcceptable,
  isNotFound,
  isRequestEntityTooLarge,
  isResourceExpired,
  isServerTimeout,
  isServiceUnavailable,
  isTimeout,
  isTooManyRequests,
  isUnauthorized,
  isUnsupportedMediaType,
  reasonForError,
  suggestsClientDelay,
} from './client/errors.ts';
export { interceptClient, type InterceptorFuncs } from './client/interceptor.ts';
export { type ClientOptions, newClient, type OwnedClient } from './client/new-client.ts';
export {
  applyConfiguration,
  type ApplyConfigurationPatch,
  mergeFrom,
  mergeFromWithOptimisticLock,
  rawPatch,
  strategicMergeFrom,
} from './client/patches.ts';
export {
  type Backoff,
  defaultBackoff,
  defaultRetry,
  retryOnConflict,
  retryOnError,
  type RetryOptions,
} from './client/retry.ts';
export {
  newDryRunClient,
  newNamespacedClient,
  withFieldOwner,
  withFieldValidation,
} from './client/wrappers.ts';
export { ApiError } from '../api/client.ts';
export { Controller, type ControllerOptions, type Step } from './controller/controller.ts';
export {
  type AnyCondition,
  type Condition,
  findStatusCondition,
  isStatusConditionFalse,
  isStatusConditionPresentAndEqual,
  isStatusConditionTrue,
  type NewCondition,
  removeStatusCondition,
  setStatusCondition,
} from './controllerutil/conditions.ts';
export {
  addFinalizer,
  containsFinalizer,
  FinalizeError,
  type Finalizer,
  type FinalizerResult,
  type Finalizers,
  finalizers,
  removeFinalizer,
} from './controllerutil/finalizers.ts';
export {
  createOrPatch,
  type CreateOrPatchResult,
  createOrUpdate,
  type CreateOrUpdateResult,
  type Mutate,
} from './controllerutil/create-or-update.ts';
export {
  AlreadyOwnedError,
  hasControllerReference,
  hasOwnerReference,
  type OwnerReference,
  type OwnerReferenceOptions,
  removeControllerReference,
  removeOwnerReference,
  setControllerReference,
  setOwnerReference,
} from './controllerutil/owner-references.ts';
export type { CreateEvent, DeleteEvent, GenericEvent, UpdateEvent } from './handler/event.ts';
export {
  enqueueRequestForObject,
  enqueueRequestForOwner,
  enqueueRequestsFromMapFunc,
  type EventHandler,
  handlerFuncs,
  withLowPriorityWhenUnchanged,
} from './handler/handler.ts';
export {
  and,
  annotationChanged,
  generationChanged,
  labelChanged,
  matchesLabels,
  not,
  or,
  type Predicate,
  predicateFuncs,
  resourceVersionChanged,
} from './predicate/predicate.ts';
export {
  type AddOptions,
  lowPriority,
  PriorityQueue,
  type RequestQueue,
  type WaitingRequest,
} from './queue/priority-queue.ts';
export {
  bucketRateLimiter,
  defaultControllerRateLimiter,
  exponentialFailureRateLimiter,
  fastSlowRateLimiter,
  maxOfRateLimiter,
  type RateLimiter,
} from './queue/rate-limiter.ts';
export {
  type Cause,
  isTerminalError,
  type ReconcileContext,
  type Reconciler,
  type Result,
  TerminalError,
} from './reconcile.ts';
export type { Runnable } from './runnable.ts';
export { setupSignalHandler } from './signals.ts';
export { channelSource, type ChannelSourceOptions, funcSource } from './source/channel-source.ts';
export {
  informerSource,
  type InformerSourceOptions,
  kindSource,
  type KindSourceOptions,
} from './source/kind-source.ts';
export type { Source, SourceQueue } from './source/source.ts';
export {
  type Builder,
  controllerManagedBy,
  type ForOptions,
  newController,
  type OwnsOptions,
} from './builder.ts';
export type { LeaderElectionOptions } from '../api/leaderelection/leader-elector.ts';
export type { HealthCheck } from './manager/health.ts';
export { type ControllerHost, type FieldIndexer, Manager } from './manager/manager.ts';
export type { MetricsHandler, MetricsOptions } from './manager/metrics-server.ts';
export type { ControllerDefaults, ManagerOptions } from './manager/options.ts';
export { type Collector, MetricsRegistry } from './metrics/registry.ts';
