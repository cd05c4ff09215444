import {
  type ApiClient,
  ApiError,
  type DeleteCollectionOptions,
  type DeleteOptions,
  type ListOptions,
  type ObjectRef,
  type Patch,
  type RequestOptions,
  type WatchEvent,
  type WriteOptions,
} from '../../api/client.ts';
import type { Resource } from '../../api/resources.ts';
import { systemContext } from '../../apiserver/controllers/controllers.ts';
import type { JsonObject } from '../../apimachinery/json.ts';
import { builtIn, groupVersionOf, type Kind } from '../../apimachinery/kinds.ts';
import { patched, readPatch } from '../../apiserver/endpoints/handlers/patch-request.ts';
import { Registry } from '../../apiserver/registry/registry.ts';
import { serviceAddresses } from '../../apiserver/registry/core/service-addresses.ts';
import { conflict, StatusError } from '../../apimachinery/status-error.ts';
import { type Change, keyOf, Store } from '../../apiserver/storage/store.ts';
import { strategies } from '../../apiserver/registry/strategy-table.ts';
import type { World } from '../../apiserver/request/write-context.ts';
import type { Clock } from '../../base/clock.ts';
import { AgentError } from '../../base/errors.ts';
import type { Random } from '../../base/random.ts';
import type { KubeList, KubeObject, Pod } from '../../kube/types.ts';

/**
 * The rules and the storage of the embedded API server without HTTP: every call is complete when it returns, so that a test with a fake
 * clock never waits for a socket.
 */
export class LocalApi {
  readonly store: Store = new Store({
    defer: (fn) => {
      fn();
    },
  });
  readonly #world: World;
  readonly #registries = new Map<Kind, Registry>();

  constructor(clock: Clock, random: Random) {
    this.#world = { store: this.store, clock, random, services: serviceAddresses(this.store, random) };
    this.#registry('namespaces').create(
      '',
      { metadata: { name: 'default' } },
      this.#writer('test'),
      this.#context(),
    );
    this.#registry('serviceaccounts').create(
      'default',
      { metadata: { name: 'default' }, automountServiceAccountToken: false },
      this.#writer('test'),
      this.#context(),
    );
  }

  /** Calls `listener` with each change of a pod, in order. */
  onPodChange(listener: (change: Change) => void): () => void {
    return this.store.onChange((storage, changes) => {
      if (storage === 'pods') for (const change of changes) listener(change);
    });
  }

  /** All pods, in the order of their names. */
  pods(): readonly Pod[] {
    return [...this.store.list('pods')].map(({ object }) => object as Pod);
  }

  /** A client that calls `before`, which may throw, before every request. */
  client(before: (verb: Verb, ref: ObjectRef) => void = () => undefined): ApiClient {
    return new LocalClient(this, before);
  }

  get(resource: Resource, ref: ObjectRef): JsonObject {
    const registry = this.#registry(resource.resource, resource.group);
    return typed(registry, registry.served(registry.entry(ref.namespace ?? '', ref.name)));
  }

  list(resource: Resource, namespace = ''): readonly JsonObject[] {
    const { kind } = this.#registry(resource.resource, resource.group).strategy;
    return [...this.store.list(kind.storage, namespace && `${namespace}/`)].map(({ object }) => object);
  }

  create(resource: Resource, object: JsonObject, namespace: string): JsonObject {
    const registry = this.#registry(resource.resource, resource.group);
    return typed(registry, registry.create(namespace, object, this.#writer('test'), this.#context()));
  }

  change(at: At, change: (standing: JsonObject) => JsonObject): JsonObject {
    const registry = this.#registry(at.resource.resource, at.resource.group);
    const { namespace = '', name } = at.ref;
    const { object } = registry.update(
      { namespace, name, subresource: at.subresource ?? '' },
      change,
      this.#writer('test', at.subresource),
      this.#context(),
    );
    return typed(registry, object);
  }

  /** A PUT; what names the life of an object that is gone is a conflict where a PUT makes new ones, and else not found. */
  replace(at: At, object: JsonObject): JsonObject {
    const { strategy } = this.#registry(at.resource.resource, at.resource.group);
    const { namespace = '', name } = at.ref;
    const stands = this.store.get(strategy.kind.storage, keyOf(namespace, name)) !== undefined;
    if (strategy.createOnUpdate && !stands)
      throw conflict({ kind: at.resource.resource, name }, 'Precondition failed');
    return this.change(at, () => object);
  }

  patch(at: At, patch: Patch): JsonObject {
    const { kind } = this.#registry(at.resource.resource, at.resource.group).strategy;
    const text = typeof patch.body === 'string' ? patch.body : JSON.stringify(patch.body);
    const { type } = patch;
    if (type === 'apply') throw new Error('there is no apply here');
    const how = { fieldValidation: 'Ignore' } as const;
    return this.change(at, (old) => patched(old, readPatch(Buffer.from(text), type), kind, how).object);
  }

  delete(resource: Resource, { namespace = '', name }: ObjectRef, options: DeleteOptions): JsonObject {
    const { gracePeriodSeconds, preconditions: { uid } = {} } = options;
    const registry = this.#registry(resource.resource, resource.group);
    return registry.delete(
      namespace,
      name,
      { ...(gracePeriodSeconds !== undefined && { gracePeriodSeconds }), ...(uid !== undefined && { uid }) },
      this.#context(),
    ).object;
  }

  #registry(resource: string, group = ''): Registry {
    const kind = builtIn(resource, group);
    const strategy = strategies.get(kind);
    if (!strategy) throw new Error(`no rules for ${resource}`);
    const registry = this.#registries.get(kind) ?? new Registry(strategy, this.store);
    this.#registries.set(kind, registry);
    return registry;
  }

  #context(): ReturnType<typeof systemContext> {
    return systemContext(this.#world);
  }

  #writer(manager: string, subresource?: string) {
    return { manager, operation: 'Update' as const, apiVersion: 'v1', ...(subresource && { subresource }) };
  }
}

interface At {
  readonly resource: Resource;
  readonly ref: ObjectRef;
  readonly subresource?: string | undefined;
}

/** The operation of a request. */
export type Verb = 'get' | 'list' | 'create' | 'update' | 'patch' | 'delete';

const typed = ({ strategy: { kind } }: Registry, object: JsonObject): JsonObject => ({
  kind: kind.kind,
  apiVersion: groupVersionOf(kind),
  ...object,
});

const refOf = ({ metadata: { namespace, name = '' } = {} }: KubeObject): ObjectRef => ({
  name,
  ...(namespace !== undefined && { namespace }),
});

class LocalClient implements ApiClient {
  readonly #api: LocalApi;
  readonly #before: (verb: Verb, ref: ObjectRef) => void;

  constructor(api: LocalApi, before: (verb: Verb, ref: ObjectRef) => void) {
    this.#api = api;
    this.#before = before;
  }

  async #answer<T>(verb: Verb, ref: ObjectRef, act: () => unknown): Promise<T> {
    this.#before(verb, ref);
    await Promise.resolve();
    try {
      return act() as T;
    } catch (reason) {
      if (reason instanceof StatusError) throw new ApiError(reason.code, reason.body);
      throw reason;
    }
  }

  get<T extends KubeObject>(resource: Resource, ref: ObjectRef): Promise<T> {
    return this.#answer('get', ref, () => this.#api.get(resource, ref));
  }

  list<T extends KubeObject>(resource: Resource, { namespace = '' }: ListOptions = {}): Promise<KubeList<T>> {
    return this.#answer('list', { namespace, name: '' }, () => ({
      metadata: { resourceVersion: String(this.#api.store.version) },
      items: this.#api.list(resource, namespace),
    }));
  }

  watch<T extends KubeObject>(): AsyncIterable<WatchEvent<T>> {
    throw new AgentError('unimplemented', 'listen to the store instead');
  }

  create<T extends KubeObject>(resource: Resource, object: T): Promise<T> {
    const ref = refOf(object);
    return this.#answer('create', ref, () =>
      this.#api.create(resource, object as JsonObject, ref.namespace ?? ''),
    );
  }

  update<T extends KubeObject>(resource: Resource, object: T, options: WriteOptions = {}): Promise<T> {
    const at = { resource, ref: refOf(object), subresource: options.subresource };
    return this.#answer('update', at.ref, () => this.#api.replace(at, object as JsonObject));
  }

  patch<T extends KubeObject>(
    resource: Resource,
    ref: ObjectRef,
    patch: Patch,
    { subresource }: RequestOptions = {},
  ): Promise<T> {
    return this.#answer('patch', ref, () => this.#api.patch({ resource, ref, subresource }, patch));
  }

  delete(resource: Resource, ref: ObjectRef, options: DeleteOptions = {}): Promise<KubeObject> {
    return this.#answer('delete', ref, () => this.#api.delete(resource, ref, options));
  }

  deleteCollection(_resource: Resource, _options?: DeleteCollectionOptions): Promise<KubeObject> {
    throw new AgentError('unimplemented', 'delete the objects one by one instead');
  }
}
