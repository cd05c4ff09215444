import { type Clock, systemClock } from '../../base/clock.ts';
import type { Logger } from '../../base/logger.ts';
import type { Random } from '../../base/random.ts';
import type { Tracer } from '../../base/tracing.ts';
import { groupVersionOf, findByKind } from '../../apimachinery/kinds.ts';
import type { ApiClient } from '../../api/client.ts';
import { listAll } from '../../api/cache/list-pager.ts';
import type { ApiConnection } from '../../api/rest/connection.ts';
import type { RequestObserver } from '../../api/rest/observed-transport.ts';
import { createApiClient } from '../../api/rest/http-client.ts';
import { apiVersionOf } from '../kinds.ts';
import type {
  ApplyOptions,
  CallOptions,
  Client,
  DeleteAllOfOptions,
  DeleteOptions,
  GetOptions,
  Kind,
  KubeObject,
  ListOptions,
  ObjectKey,
  ObjectList,
  Patch,
  PatchOptions,
  SubResourceClient,
  WatchEvent,
  WriteOptions,
} from '../types.ts';
import {
  checkPatchOptions,
  fieldSelectorOf,
  labelSelectorOf,
  objectList,
  refOf,
  withKind,
} from './request.ts';
import { watchObjects } from './watch.ts';

/** Dependencies and tuning of a client's connection. */
export interface ConnectionOptions {
  readonly clock?: Clock;
  readonly random?: Random;
  readonly logger?: Logger;
  readonly tracer?: Tracer;
  /** Receives what the requests cost; not those of an API client that was passed. */
  readonly observer?: RequestObserver;
  /** The part before the slash is the default owner of fields. Default `podtender-controller`. */
  readonly userAgent?: string;
  /** Calls per second; 0 (the default): no limit, the server's own is enough. */
  readonly qps?: number;
  readonly burst?: number;
}

/** An API client, and how to close its connections. */
export interface OwnedApiClient {
  readonly api: ApiClient;
  close(): Promise<void>;
}

/** Returns the API client of a connection; of a client the client itself, which its owner closes. */
export function apiClientOf(
  connection: ApiConnection | ApiClient,
  options: ConnectionOptions = {},
): OwnedApiClient {
  if (!('server' in connection)) return { api: connection, close: () => Promise.resolve() };
  const { clock = systemClock, qps = 0, userAgent = 'podtender-controller', ...rest } = options;
  const api = createApiClient(connection, { clock, qps, userAgent, ...rest });
  return { api, close: () => api.close() };
}

/** LiveClient reads and writes objects on the API server, without a cache. */
export class LiveClient implements Client {
  readonly #api: ApiClient;
  readonly #deps: { readonly clock: Clock; readonly random?: Random; readonly logger?: Logger };
  readonly status: SubResourceClient;

  constructor(
    api: ApiClient,
    deps: { readonly clock: Clock; readonly random?: Random; readonly logger?: Logger },
  ) {
    this.#api = api;
    this.#deps = deps;
    this.status = this.subResource('status');
  }

  async get<T extends KubeObject>(kind: Kind<T>, key: ObjectKey, options: GetOptions = {}): Promise<T> {
    return this.#api.get<T & object>(kind, refOf(kind, key), options);
  }

  async list<T extends KubeObject>(kind: Kind<T>, options: ListOptions = {}): Promise<ObjectList<T>> {
    const { limit, continue: token, resourceVersion } = options;
    const request = {
      ...selectionOf(kind, options),
      ...callOf(options),
      ...(resourceVersion !== undefined && { resourceVersion }),
      ...(options.metadataOnly === true && { metadataOnly: true }),
    };
    if (limit === undefined && token === undefined) {
      const all = { options: { ...request, limit: pageSize }, transform: named(kind) };
      const { items, resourceVersion: version } = await listAll<T>(this.#api, kind, all);
      return objectList(items, { resourceVersion: version });
    }
    const page = await this.#api.list<T>(kind, {
      ...request,
      ...(limit !== undefined && { limit }),
      ...(token !== undefined && { continue: token }),
    });
    return objectList(page.items.map(named<T>(kind)), page.metadata ?? {});
  }

  async create<T extends KubeObject>(kind: Kind<T>, object: T, options: WriteOptions = {}): Promise<T> {
    return this.#api.create<T>(kind, withKind(kind, object), writeOf(options));
  }

  async update<T extends KubeObject>(kind: Kind<T>, object: T, options: WriteOptions = {}): Promise<T> {
    refOf(kind, object);
    return this.#api.update<T>(kind, withKind(kind, object), writeOf(options));
  }

  patch<T extends KubeObject>(
    kind: Kind<T>,
    object: T,
    patch: Patch,
    options: PatchOptions = {},
  ): Promise<T> {
    return this.#patch(kind, object, patch, options);
  }

  apply<T extends KubeObject>(kind: Kind<T>, configuration: T, options: ApplyOptions): Promise<T> {
    return this.#patch(kind, configuration, applied, options);
  }

  async delete(kind: Kind, object: KubeObject | ObjectKey, options: DeleteOptions = {}): Promise<void> {
    await this.deleteAndAnswer(kind, object, options);
  }

  /** As `delete`; resolves to the server's response. */
  async deleteAndAnswer(
    kind: Kind,
    object: KubeObject | ObjectKey,
    options: DeleteOptions = {},
  ): Promise<KubeObject> {
    return (await this.#api.delete(kind, refOf(kind, object), options)) as KubeObject;
  }

  async deleteAllOf(kind: Kind, options: DeleteAllOfOptions): Promise<void> {
    await this.deleteAllAndAnswer(kind, options);
  }

  /** As `deleteAllOf`; resolves to the server's response. */
  async deleteAllAndAnswer(kind: Kind, options: DeleteAllOfOptions): Promise<KubeObject> {
    const { namespace: _n, labels: _l, fields: _f, ...rest } = options;
    return (await this.#api.deleteCollection(kind, {
      ...selectionOf(kind, options),
      ...rest,
    })) as KubeObject;
  }

  watch<T extends KubeObject>(kind: Kind<T>, options: ListOptions = {}): AsyncIterable<WatchEvent<T>> {
    const { resourceVersion, signal, metadataOnly } = options;
    return watchObjects<T>({ ...this.#deps, client: this.#api }, kind, {
      ...selectionOf(kind, options),
      ...(resourceVersion !== undefined && { resourceVersion }),
      ...(metadataOnly === true && { metadataOnly }),
      ...(signal && { signal }),
    });
  }

  subResource(name: string): SubResourceClient {
    return new LiveSubResource(this.#api, name);
  }

  #patch<T extends KubeObject>(kind: Kind<T>, object: T, patch: Patch, options: PatchOptions): Promise<T> {
    return sendPatch(this.#api, kind, object, { patch, options });
  }
}

class LiveSubResource implements SubResourceClient {
  readonly #api: ApiClient;
  readonly #name: string;

  constructor(api: ApiClient, name: string) {
    this.#api = api;
    this.#name = name;
  }

  async get<T extends KubeObject, S extends KubeObject = KubeObject>(
    kind: Kind<T>,
    object: T,
    options: GetOptions = {},
  ): Promise<S> {
    return this.#api.get<S & object>(kind, refOf(kind, object), { ...options, subresource: this.#name });
  }

  async create<T extends KubeObject>(
    kind: Kind<T>,
    object: T,
    subResource: KubeObject,
    options: WriteOptions = {},
  ): Promise<KubeObject> {
    const ref = refOf(kind, object);
    const body = {
      ...subResourceNames(kind, this.#name),
      ...subResource,
      metadata: { ...ref, ...subResource.metadata },
    };
    return this.#api.create<KubeObject>(kind, body, {
      ...writeOf(options),
      name: ref.name,
      subresource: this.#name,
    });
  }

  async update<T extends KubeObject>(
    kind: Kind<T>,
    object: T,
    options: WriteOptions & { readonly subResourceBody?: KubeObject } = {},
  ): Promise<T> {
    const { subResourceBody, ...rest } = options;
    const ref = refOf(kind, object);
    const body = subResourceBody
      ? {
          ...subResourceNames(kind, this.#name),
          ...subResourceBody,
          metadata: { ...ref, ...subResourceBody.metadata },
        }
      : withKind(kind, object);
    return this.#api.update<T>(kind, body as T, { ...writeOf(rest), subresource: this.#name });
  }

  patch<T extends KubeObject>(
    kind: Kind<T>,
    object: T,
    patch: Patch,
    options: PatchOptions & { readonly subResourceBody?: KubeObject } = {},
  ): Promise<T> {
    const { subResourceBody, ...rest } = options;
    const sent = subResourceBody ? { ...patch, data: () => patch.data(subResourceBody) } : patch;
    return sendPatch(this.#api, kind, object, { patch: sent, options: rest, subresource: this.#name });
  }

  apply<T extends KubeObject>(
    kind: Kind<T>,
    configuration: T,
    options: ApplyOptions & { readonly subResourceBody?: KubeObject },
  ): Promise<T> {
    const { subResourceBody, ...rest } = options;
    const patch = subResourceBody ? { ...applied, data: () => subResourceBody } : applied;
    return sendPatch(this.#api, kind, configuration, { patch, options: rest, subresource: this.#name });
  }
}

/** Objects per page of a list that is read whole. */
const pageSize = 500;

const applied: Patch = { type: 'apply', data: (object) => object };

async function sendPatch<T extends KubeObject>(
  api: ApiClient,
  kind: Kind<T>,
  object: T,
  request: { readonly patch: Patch; readonly options: PatchOptions; readonly subresource?: string },
): Promise<T> {
  const { patch, options, subresource } = request;
  checkPatchOptions(patch.type, options);
  const ref = refOf(kind, object);
  const body = patch.data(withKind(kind, object));
  return api.patch<T>(
    kind,
    ref,
    { type: patch.type, body, ...(options.force !== undefined && { force: options.force }) },
    { ...writeOf(options), ...(subresource !== undefined && { subresource }) },
  );
}

const callOf = ({ signal, timeoutMs }: CallOptions): CallOptions => ({
  ...(signal && { signal }),
  ...(timeoutMs !== undefined && { timeoutMs }),
});

const writeOf = (
  options: WriteOptions,
): CallOptions & {
  readonly dryRun?: boolean;
  readonly fieldManager?: string;
  readonly fieldValidation?: 'Ignore' | 'Warn' | 'Strict';
} => ({
  ...callOf(options),
  ...(options.dryRun !== undefined && { dryRun: options.dryRun }),
  ...(options.fieldOwner !== undefined && { fieldManager: options.fieldOwner }),
  ...(options.fieldValidation !== undefined && { fieldValidation: options.fieldValidation }),
});

function selectionOf(
  kind: Kind,
  { namespace, labels, fields }: Pick<ListOptions, 'namespace' | 'labels' | 'fields'>,
): { namespace?: string; labelSelector?: string; fieldSelector?: string } {
  const labelSelector = labelSelectorOf(labels);
  const fieldSelector = fieldSelectorOf(fields);
  return {
    ...(kind.namespaced && namespace !== undefined && namespace !== '' && { namespace }),
    ...(labelSelector !== undefined && { labelSelector }),
    ...(fieldSelector !== undefined && { fieldSelector }),
  };
}

/** Returns a function that sets kind and version, which the items of a list lack. */
const named =
  <T extends KubeObject>(kind: Kind<T>) =>
  (item: T): T =>
    item.kind === undefined ? { apiVersion: apiVersionOf(kind), kind: kind.kind, ...item } : item;

/** Returns `apiVersion` and `kind` of a subresource's own kind: `policy/v1 Eviction`; empty if it is not built in. */
function subResourceNames(kind: Kind, name: string): { apiVersion?: string; kind?: string } {
  const built = findByKind(apiVersionOf(kind), kind.kind);
  const found = built?.subresources.find((one) => one.name === name);
  if (!found) return name === 'scale' ? { apiVersion: 'autoscaling/v1', kind: 'Scale' } : {};
  const { group = kind.group, version = kind.version } = found;
  return { apiVersion: groupVersionOf({ group, version }), kind: found.kind };
}
