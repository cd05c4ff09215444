import type { KubeObject } from '../kube/types.ts';
import type { ApiClient, WatchEvent } from './client.ts';
import type { Resource } from './resources.ts';

/** The calls with a single response. */
export type UnaryVerb = 'get' | 'list' | 'create' | 'update' | 'patch' | 'delete' | 'deleteCollection';

/** A call before it reaches the server. */
export interface InterceptedCall {
  readonly verb: UnaryVerb | 'watch';
  readonly resource: Resource;
  readonly namespace?: string;
  /** Absent for `list`, `watch` and `deleteCollection`. */
  readonly name?: string;
  readonly subresource?: string;
  /** The object or patch of the request. */
  readonly body?: unknown;
}

/** Interceptor observes or changes calls to the API server. Whatever it throws reaches the caller as if the server had caused it. */
export interface Interceptor {
  /** Runs instead of a call; `next` makes it, any number of times: delay before it, skip it, change its result. */
  call?(call: InterceptedCall, next: () => Promise<unknown>): Promise<unknown>;
  /** Runs instead of a watch; `next` opens it: drop events, repeat them, cut the stream. */
  watch?(call: InterceptedCall, next: () => AsyncIterable<WatchEvent>): AsyncIterable<WatchEvent>;
}

/**
 * Returns the client with an interceptor, for fault injection in tests and for users.
 *
 * @example
 * const slow = intercept(client, {
 *   call: async (call, next) => {
 *     await clock.sleep(1000);
 *     return next();
 *   },
 * });
 */
export function intercept(client: ApiClient, interceptor: Interceptor): ApiClient {
  const through = async <R>(call: InterceptedCall, next: () => Promise<R>): Promise<R> =>
    (interceptor.call ? await interceptor.call(call, next) : await next()) as R;
  const about = (
    verb: InterceptedCall['verb'],
    resource: Resource,
    rest: Partial<Record<'namespace' | 'name' | 'subresource', string | undefined>> & { body?: unknown },
  ): InterceptedCall => ({
    verb,
    resource,
    ...(Object.fromEntries(
      Object.entries(rest).filter(([, value]) => value !== undefined),
    ) as Partial<InterceptedCall>),
  });
  const ofObject = (object: KubeObject): { namespace?: string | undefined; name?: string | undefined } => ({
    namespace: object.metadata?.namespace,
    name: object.metadata?.name,
  });
  return {
    get: (resource, ref, options) =>
      through(about('get', resource, { ...ref, subresource: options?.subresource }), () =>
        client.get(resource, ref, options),
      ),
    list: (resource, options) =>
      through(about('list', resource, { namespace: options?.namespace }), () =>
        client.list(resource, options),
      ),
    watch: <T extends KubeObject>(resource: Resource, options?: Parameters<ApiClient['watch']>[1]) => {
      const next = (): AsyncIterable<WatchEvent<T>> => client.watch<T>(resource, options);
      const call = about('watch', resource, { namespace: options?.namespace });
      return interceptor.watch ? (interceptor.watch(call, next) as AsyncIterable<WatchEvent<T>>) : next();
    },
    create: (resource, object, options) =>
      through(
        about('create', resource, { ...ofObject(object), subresource: options?.subresource, body: object }),
        () => client.create(resource, object, options),
      ),
    update: (resource, object, options) =>
      through(
        about('update', resource, { ...ofObject(object), subresource: options?.subresource, body: object }),
        () => client.update(resource, object, options),
      ),
    patch: (resource, ref, patch, options) =>
      through(about('patch', resource, { ...ref, subresource: options?.subresource, body: patch }), () =>
        client.patch(resource, ref, patch, options),
      ),
    delete: (resource, ref, options) =>
      through(about('delete', resource, { ...ref, body: options }), () =>
        client.delete(resource, ref, options),
      ),
    deleteCollection: (resource, options) =>
      through(about('deleteCollection', resource, { namespace: options?.namespace, body: options }), () =>
        client.deleteCollection(resource, options),
      ),
  };
}

/** Delivers `count` events of each watch, then throws `reason`: a stream cut in the middle. */
export function cutAfter(count: number, reason: Error): NonNullable<Interceptor['watch']> {
  return async function* (_call, next) {
    let passed = 0;
    for await (const event of next()) {
      if (passed++ >= count) throw reason;
      yield event;
    }
    if (passed >= count) throw reason;
  };
}
