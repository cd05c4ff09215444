import type { Client, SubResourceClient } from '../types.ts';

type Method = 'get' | 'list' | 'watch' | 'create' | 'update' | 'patch' | 'apply' | 'delete' | 'deleteAllOf';
type SubMethod = 'get' | 'create' | 'update' | 'patch' | 'apply';

/** Runs instead of a call; `client` is the client without interceptors. */
type Intercepted<Call extends (...args: never[]) => unknown> = (
  client: Client,
  ...args: Parameters<Call>
) => ReturnType<Call>;

/** Runs instead of a call for a subresource; `client` is the subresource's client without interceptors. */
type InterceptedSub<Call extends (...args: never[]) => unknown> = (
  client: SubResourceClient,
  subResource: string,
  ...args: Parameters<Call>
) => ReturnType<Call>;

/** Functions that run instead of a client's calls; calls without one pass through. */
export type InterceptorFuncs = {
  readonly [M in Method]?: Intercepted<Client[M]>;
} & {
  readonly [M in SubMethod as `subResource${Capitalize<M>}`]?: InterceptedSub<SubResourceClient[M]>;
};

/**
 * Returns the client with functions that run instead of its calls: to fail, delay or count them in tests.
 *
 * @example
 * const flaky = interceptClient(fakeClient(), {
 *   update: () => Promise.reject(new ApiError(409, { reason: 'Conflict' })),
 * });
 */
export function interceptClient(client: Client, functions: InterceptorFuncs): Client {
  const own = <M extends Method>(method: M): Client[M] =>
    bound(functions[method], [client], client[method].bind(client)) as Client[M];
  const subClient = (inner: SubResourceClient, name: string): SubResourceClient => {
    const sub = <M extends SubMethod>(method: M): SubResourceClient[M] => {
      const key = `subResource${method.charAt(0).toUpperCase()}${method.slice(1)}` as keyof InterceptorFuncs;
      return bound(functions[key], [inner, name], inner[method].bind(inner)) as SubResourceClient[M];
    };
    return {
      get: sub('get'),
      create: sub('create'),
      update: sub('update'),
      patch: sub('patch'),
      apply: sub('apply'),
    };
  };
  return {
    get: own('get'),
    list: own('list'),
    watch: own('watch'),
    create: own('create'),
    update: own('update'),
    patch: own('patch'),
    apply: own('apply'),
    delete: own('delete'),
    deleteAllOf: own('deleteAllOf'),
    status: subClient(client.status, 'status'),
    subResource: (name) => subClient(client.subResource(name), name),
  };
}

type AnyFunction = (...args: unknown[]) => unknown;

const bound = (intercepted: unknown, before: readonly unknown[], plain: unknown): AnyFunction =>
  intercepted === undefined
    ? (plain as AnyFunction)
    : (...args) => (intercepted as AnyFunction)(...before, ...args);
