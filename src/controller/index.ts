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
export { ignoreAlreadyExists, ignoreNotFound } from './client/errors.ts';
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
  newDryRunClient,
  newNamespacedClient,
  withFieldOwner,
  withFieldValidation,
} from './client/wrappers.ts';
export { ApiError } from '../api/client.ts';
