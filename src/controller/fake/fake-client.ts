import { type Clock, systemClock } from '../../base/clock.ts';
import { AgentError } from '../../base/errors.ts';
import { type Random, systemRandom } from '../../base/random.ts';
import {
  isObject,
  type JsonObject,
  metadataOf,
  nameOf,
  stringAt,
  withMetadata,
} from '../../apimachinery/json.ts';
import { findByKind } from '../../apimachinery/kinds.ts';
import { jsonPatch, mergePatch } from '../../apimachinery/patch/patch.ts';
import { strategicPatch } from '../../apimachinery/patch/strategic-patch.ts';
import { labelMatcher } from '../../apimachinery/selectors.ts';
import { badRequest, rejected, StatusError, unsupportedMediaType } from '../../apimachinery/status-error.ts';
import { interceptClient, type InterceptorFuncs } from '../client/interceptor.ts';
import {
  apiErrorOf,
  checkPatchOptions,
  keyOf,
  labelSelectorOf,
  objectList,
  withKind,
} from '../client/request.ts';
import { cloneJson, jsonOf } from '../json-value.ts';
import { defineKind, kindKey } from '../kinds.ts';
import type {
  ApplyOptions,
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
import { FakeSubResource } from './subresources.ts';
import { type Ref, Tracker, type TrackedWrite } from './tracker.ts';
import { hasStatus, typeOf } from './update-rules.ts';
import { watchTracker } from './watch.ts';

type Extract = (object: KubeObject) => readonly string[];

/** What a fake holds, and how it behaves. */
export interface FakeClientOptions {
  /** The objects at the start, each with `apiVersion` and `kind`. */
  readonly objects?: readonly KubeObject[];
  /** Kinds of custom resources in `objects`; needed only where the plural in messages cannot be guessed. */
  readonly kinds?: readonly Kind[];
  /** Kinds whose status is written by `status` only. Built-in kinds with a status subresource always are. */
  readonly withStatusSubresource?: readonly Kind[];
  /** Fields that lists can select by. */
  readonly indexes?: readonly { readonly kind: Kind; readonly field: string; readonly extract: Extract }[];
  /** Returns `metadata.managedFields`, which are always tracked. */
  readonly returnManagedFields?: boolean;
  /** Functions that run instead of calls. */
  readonly interceptors?: InterceptorFuncs;
  readonly clock?: Clock;
  readonly random?: Random;
}

/**
 * Returns a client of objects in memory, for tests of reconcilers: with resource versions and conflicts, selectors, indexes, the separation
 * of the status, finalizers, every type of patch and server-side apply. It has no defaults, validation, admission or garbage collection; use
 * the TestEnvironment where these matter.
 *
 * @example
 * const client = fakeClient({ objects: [{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'a' } }] });
 * await reconciler.reconcile({ namespace: 'a', name: 'web' }, context);
 * expect(await client.list(kinds.Pod, { namespace: 'a' })).toHaveLength(3);
 */
export function fakeClient(options: FakeClientOptions = {}): Client {
  const client = new FakeClient(options);
  return options.interceptors ? interceptClient(client, options.interceptors) : client;
}

/** The default owner of fields. */
const defaultOwner = 'fake-client';

/** The client that {@link fakeClient} returns. */
export class FakeClient implements Client {
  readonly #tracker: Tracker;
  readonly #indexes = new Map<string, Extract>();
  readonly #returnManagedFields: boolean;
  readonly status: SubResourceClient;

  constructor(options: FakeClientOptions) {
    const { clock = systemClock, random = systemRandom } = options;
    const separate = new Set(options.withStatusSubresource?.map(kindKey));
    const withStatus = (kind: Kind): boolean => separate.has(kindKey(kind)) || hasStatus(kind);
    this.#tracker = new Tracker({ clock, random, withStatus });
    this.#returnManagedFields = options.returnManagedFields ?? false;
    for (const { kind, field, extract } of options.indexes ?? []) {
      const key = `${kindKey(kind)} ${field}`;
      if (this.#indexes.has(key))
        throw new AgentError(
          'invalid_argument',
          `indexer conflict: ${kind.kind} has an index on ${field} already`,
        );
      this.#indexes.set(key, extract);
    }
    const kinds = new Map((options.kinds ?? []).map((kind) => [kindKey(kind), kind]));
    for (const object of options.objects ?? [])
      answer(() => {
        this.#tracker.add(kindOf(object, kinds), jsonOf(object));
      });
    this.status = this.subResource('status');
  }

  get<T extends KubeObject>(kind: Kind<T>, key: ObjectKey, options: GetOptions = {}): Promise<T> {
    return call(() => this.#shown(this.#tracker.get(kind, refOf(kind, key)), options.metadataOnly) as T);
  }

  list<T extends KubeObject>(kind: Kind<T>, options: ListOptions = {}): Promise<ObjectList<T>> {
    return call(() => {
      const all = this.#selected(kind, options);
      const from = Number(options.continue ?? 0);
      const end = options.limit === undefined || options.limit <= 0 ? all.length : from + options.limit;
      const page = all.slice(from, end);
      const left = all.length - from - page.length;
      return objectList(
        page.map((object) => this.#shown(object, options.metadataOnly) as T),
        { ...(left > 0 && { continue: String(end), remainingItemCount: left }) },
      );
    });
  }

  create<T extends KubeObject>(kind: Kind<T>, object: T, options: WriteOptions = {}): Promise<T> {
    return this.#call(() => this.#tracker.create(kind, bodyOf(kind, object), writeOf(options)));
  }

  update<T extends KubeObject>(kind: Kind<T>, object: T, options: WriteOptions = {}): Promise<T> {
    return this.#call(() => this.#tracker.update(kind, bodyOf(kind, object), writeOf(options)));
  }

  patch<T extends KubeObject>(
    kind: Kind<T>,
    object: T,
    patch: Patch,
    options: PatchOptions = {},
  ): Promise<T> {
    return this.patchAs(kind, object, { patch, options });
  }

  /** As `patch`, also of a subresource that changes the object. */
  patchAs<T extends KubeObject>(
    kind: Kind<T>,
    object: T,
    request: { readonly patch: Patch; readonly options: PatchOptions; readonly subresource?: string },
  ): Promise<T> {
    return this.#call(() => {
      const { patch, options, subresource } = request;
      checkPatchOptions(patch.type, options);
      const write = writeOf(options, subresource);
      const ref = refOf(kind, object);
      const data = patch.data(withKind(kind, object));
      const body: unknown = typeof data === 'string' ? JSON.parse(data) : cloneJson(data);
      if (patch.type === 'apply') {
        const config = withMetadata(body as JsonObject, {
          name: ref.name,
          namespace: ref.namespace || undefined,
        });
        return this.#tracker.apply(kind, config, { ...write, force: options.force ?? false });
      }
      const patched = patchedBy(kind, this.#tracker.get(kind, ref), { type: patch.type, body });
      return this.#tracker.update(kind, patched, { ...write, patch: true });
    });
  }

  apply<T extends KubeObject>(kind: Kind<T>, configuration: T, options: ApplyOptions): Promise<T> {
    const patch: Patch = { type: 'apply', data: (object) => object };
    return this.patchAs(kind, configuration, { patch, options });
  }

  delete(kind: Kind, object: KubeObject | ObjectKey, options: DeleteOptions = {}): Promise<void> {
    return call(() => {
      this.#tracker.delete(kind, refOf(kind, object), options);
    });
  }

  deleteAllOf(kind: Kind, options: DeleteAllOfOptions): Promise<void> {
    return call(() => {
      for (const object of this.#selected(kind, options))
        this.#tracker.delete(kind, refOf(kind, object), options);
    });
  }

  watch<T extends KubeObject>(kind: Kind<T>, options: ListOptions = {}): AsyncIterable<WatchEvent<T>> {
    return watchTracker<T>(this.#tracker, kind, {
      initial: options.resourceVersion === undefined,
      selects: (object) => this.#matcher(kind, options)(object),
      shown: (object) => this.#shown(object, options.metadataOnly) as T,
      ...(options.signal && { signal: options.signal }),
    });
  }

  subResource(name: string): SubResourceClient {
    return new FakeSubResource(this, name);
  }

  /** Updates the object, or its status only. */
  updateAs<T extends KubeObject>(
    kind: Kind<T>,
    object: T,
    options: WriteOptions,
    subresource: string,
  ): Promise<T> {
    return this.#call(() => this.#tracker.update(kind, bodyOf(kind, object), writeOf(options, subresource)));
  }

  #selected(kind: Kind, options: ListOptions | DeleteAllOfOptions): readonly JsonObject[] {
    return this.#tracker.list(kind).filter(this.#matcher(kind, options));
  }

  /** @throws {StatusError} 400 for an invalid selector, or one on a field without an index */
  #matcher(kind: Kind, options: ListOptions | DeleteAllOfOptions): (object: JsonObject) => boolean {
    const { namespace = '' } = options;
    const byLabels = labelMatcher(labelSelectorOf(options.labels) ?? '');
    const terms = Object.entries(options.fields ?? {}).map(
      ([field, value]) => [this.#extractOf(kind, field), value] as const,
    );
    return (object) =>
      (namespace === '' || !kind.namespaced || stringAt(metadataOf(object), 'namespace') === namespace) &&
      byLabels(object) &&
      terms.every(([extract, value]) => extract(object as KubeObject).includes(value));
  }

  #extractOf(kind: Kind, field: string): Extract {
    const extract = this.#indexes.get(`${kindKey(kind)} ${field}`) ?? nameFields.get(field);
    if (extract) return extract;
    throw badRequest(
      `List on ${kindKey(kind)} specifies selector on field ${field}, but no index with name ${field} has been registered for it`,
    );
  }

  #call<T extends KubeObject>(work: () => JsonObject): Promise<T> {
    return call(() => this.#shown(work()) as T);
  }

  #shown(object: JsonObject, metadataOnly = false): KubeObject {
    const copy = cloneJson(object) as KubeObject;
    if (!this.#returnManagedFields) delete copy.metadata?.managedFields;
    const { apiVersion, kind, metadata } = copy;
    return metadataOnly ? ({ apiVersion, kind, metadata } as KubeObject) : copy;
  }
}

const nameFields: ReadonlyMap<string, Extract> = new Map<string, Extract>([
  ['metadata.name', ({ metadata }) => [metadata?.name ?? '']],
  ['metadata.namespace', ({ metadata }) => [metadata?.namespace ?? '']],
]);

/** Returns the kind of an object of the start. @throws {AgentError} `invalid_argument` */
function kindOf(object: KubeObject, kinds: ReadonlyMap<string, Kind>): Kind {
  const { apiVersion = '', kind = '' } = object;
  const { namespace, name } = keyOf(object);
  if (apiVersion === '' || kind === '')
    throw new AgentError(
      'invalid_argument',
      `fakeClient: the object ${name} has no apiVersion or kind; objects of the start need both`,
    );
  const group = apiVersion.includes('/') ? apiVersion.replace(/\/.*/, '') : '';
  const version = apiVersion.replace(/^.*\//, '');
  const built = kinds.get(`${group}/${version}/${kind}`) ?? findByKind(apiVersion, kind);
  return built ?? defineKind({ group, version, kind, namespaced: namespace !== '' });
}

const refOf = (kind: Kind, object: KubeObject | ObjectKey): Ref => {
  const { namespace, name } = keyOf(object);
  return { namespace: kind.namespaced ? namespace : '', name };
};

const bodyOf = (kind: Kind, object: KubeObject): JsonObject => cloneJson(jsonOf(withKind(kind, object)));

const writeOf = (options: WriteOptions, subresource?: string): TrackedWrite => ({
  owner: options.fieldOwner ?? defaultOwner,
  dryRun: options.dryRun ?? false,
  ...(subresource !== undefined && { subresource }),
});

/** @throws {StatusError} for a patch that cannot be applied */
function patchedBy(
  kind: Kind,
  old: JsonObject,
  { type, body }: { readonly type: Exclude<Patch['type'], 'apply'>; readonly body: unknown },
): JsonObject {
  const patched = apply(kind, old, { type, body });
  if (!isObject(patched) || nameOf(patched) !== nameOf(old)) throw rejected();
  return patched;
}

function apply(
  kind: Kind,
  old: JsonObject,
  { type, body }: { readonly type: Exclude<Patch['type'], 'apply'>; readonly body: unknown },
): unknown {
  if (type === 'json') {
    if (!Array.isArray(body)) throw badRequest('a JSON patch is a list of operations');
    return jsonPatch(old, body);
  }
  if (!isObject(body)) throw badRequest('a merge patch is an object');
  if (type === 'merge') return mergePatch(old, body);
  const builtIn = typeOf(kind);
  if (builtIn !== undefined) return strategicPatch(old, body, builtIn);
  throw unsupportedMediaType([
    'application/json-patch+json',
    'application/merge-patch+json',
    'application/apply-patch+yaml',
  ]);
}

/** Runs work; its StatusErrors become those of a client. */
function answer<R>(work: () => R): R {
  try {
    return work();
  } catch (reason) {
    throw reason instanceof StatusError ? apiErrorOf(reason) : reason;
  }
}

/** As {@link answer}, as an asynchronous call. */
const call = async <R>(work: () => R): Promise<R> => {
  await Promise.resolve();
  return answer(work);
};
