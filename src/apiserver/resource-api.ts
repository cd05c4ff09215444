import type { IncomingMessage, ServerResponse } from 'node:http';
import { bodyFormat, expectedOf, readBody, readObject } from './body.ts';
import { type JsonObject, objectAt, stringAt, withMetadata } from './json.ts';
import { type Kind, groupVersionOf } from './kinds.ts';
import { listPage, readListOptions, type Selection } from './list-options.ts';
import {
  itemTypes,
  listTypes,
  mediaTypes,
  negotiate,
  type Representation,
  wantsPretty,
} from './negotiate.ts';
import { applyConfig, patched, patchTypeOf, readPatch } from './patch-request.ts';
import { Registry, subjectOf } from './registry.ts';
import type { ApiRequest, ResourcePath } from './request.ts';
import { sendBody, sendText } from './respond.ts';
import { fieldMatcher, labelMatcher } from './selectors.ts';
import {
  badRequest,
  methodNotAllowed,
  notAcceptable,
  notFound,
  StatusError,
  tooLargeVersion,
} from './status-error.ts';
import type { Store } from './store.ts';
import type { Strategy, World, WriteContext } from './strategy.ts';
import { strategies } from './strategy-table.ts';
import { entryText, listBody, viewFor, viewOne } from './views.ts';
import { Watch } from './watch.ts';
import { readDeleteOptions, readWriteQuery, type WriteQuery } from './write-options.ts';
import type { Writer } from './managed-fields.ts';

export interface ResourceApiDeps {
  readonly world: World;
  readonly stopping: AbortSignal;
  /** Refuses or changes what admission plugins that look at the user would: namespace life cycle, node restriction. */
  readonly admission: Admission;
}

/** Checks that depend on who asks and where. @throws {StatusError} */
export interface Admission {
  create(request: ApiRequest, kind: Kind, object: JsonObject): JsonObject;
  update(request: ApiRequest, kind: Kind, object: JsonObject, old: JsonObject): void;
  delete(request: ApiRequest, kind: Kind, old: JsonObject): void;
}

/** One exchange on its way. */
interface Exchange {
  readonly request: ApiRequest;
  readonly response: ServerResponse;
  readonly target: ResourcePath;
  readonly kind: Kind;
  readonly strategy: Strategy;
}

/** The verbs that every stored kind has. */
export class ResourceApi {
  readonly #deps: ResourceApiDeps;
  readonly #registries = new Map<Kind, Registry>();

  constructor(deps: ResourceApiDeps) {
    this.#deps = deps;
  }

  get #store(): Store {
    return this.#deps.world.store;
  }

  registry(kind: Kind): Registry {
    let registry = this.#registries.get(kind);
    if (!registry) {
      const strategy = strategies.get(kind);
      if (!strategy) throw new Error(`no rules for ${kind.kind}`);
      registry = new Registry(strategy, this.#store);
      this.#registries.set(kind, registry);
    }
    return registry;
  }

  /** Answers a request on a stored kind. @throws {StatusError} */
  async handle(
    request: ApiRequest,
    response: ServerResponse,
    target: ResourcePath,
    kind: Kind,
  ): Promise<void> {
    const exchange: Exchange = { request, response, target, kind, strategy: this.registry(kind).strategy };
    const item = target.name !== '';
    switch (request.method) {
      case 'GET':
        return item ? this.#get(exchange) : this.#list(exchange);
      case 'POST':
        if (item) throw methodNotAllowed();
        return this.#create(exchange);
      case 'PUT':
        if (!item) throw methodNotAllowed();
        return this.#update(exchange);
      case 'PATCH':
        if (!item) throw methodNotAllowed();
        return this.#patch(exchange);
      case 'DELETE':
        if (item) return this.#delete(exchange);
        if (!kind.verbs.includes('deletecollection')) throw methodNotAllowed();
        return this.#deleteCollection(exchange);
      default:
        throw methodNotAllowed();
    }
  }

  #representation({ request }: Exchange, list = false): Representation {
    return negotiate(request.raw.headers.accept, {
      views: list
        ? ['Table', 'PartialObjectMetadataList', 'PartialObjectMetadata']
        : ['Table', 'PartialObjectMetadata'],
      pretty: wantsPretty(request.query, request.raw.headers['user-agent']),
      ...(request.method === 'GET' && { produces: list ? listTypes : itemTypes }),
    });
  }

  async #get(exchange: Exchange): Promise<void> {
    const { request, target, kind, strategy } = exchange;
    const representation = this.#representation(exchange);
    this.#checkVersion(request.query.get('resourceVersion') ?? '');
    if (this.#store.busy) await this.#store.settled();
    const entry = this.registry(kind).entry(target.namespace, target.name);
    const view = viewFor(strategy, representation, request.query);
    const special = viewOne(entry.object, view, this.#deps.world.clock.now());
    if (!special && representation.format === 'json' && !representation.pretty)
      return sendText(request.raw, exchange.response, {
        status: 200,
        type: 'application/json',
        text: `${entryText(entry, strategy, true)}\n`,
      });
    return this.#send(
      exchange,
      200,
      special ?? this.#typed(kind, this.registry(kind).served(entry)),
      representation,
    );
  }

  #checkVersion(text: string): void {
    this.#checkNumber(text);
    if (Number(text) > this.#store.version) throw tooLargeVersion(text, this.#store.version);
  }

  #checkNumber(text: string): void {
    if (text !== '' && !/^\d+$/.test(text))
      throw new StatusError(
        500,
        '',
        `resourceVersion: Invalid value: ${JSON.stringify(text)}: strconv.ParseUint: parsing ${JSON.stringify(text)}: invalid syntax`,
      );
  }

  #typed(kind: Kind, object: JsonObject): JsonObject {
    return { kind: kind.kind, apiVersion: groupVersionOf(kind), ...object };
  }

  #send(
    exchange: Exchange,
    status: number,
    body: unknown,
    representation: Representation,
    warnings: readonly string[] = [],
  ): Promise<void> {
    return sendBody(exchange.request.raw, exchange.response, {
      status,
      body,
      representation,
      extras: { warnings },
    });
  }

  #selection({ request, target, kind }: Exchange): Selection {
    const labels = request.query.get('labelSelector') ?? '';
    const fields = request.query.get('fieldSelector') ?? '';
    const byLabel = labels === '' ? undefined : labelMatcher(labels);
    const byField = fields === '' ? undefined : fieldMatcher(fields, kind);
    return {
      storage: kind.storage,
      prefix: kind.namespaced && target.namespace !== '' ? `${target.namespace}/` : '',
      matches: (object) => (byLabel?.(object) ?? true) && (byField?.(object) ?? true),
      selective: byLabel !== undefined || byField !== undefined,
    };
  }

  async #list(exchange: Exchange): Promise<void> {
    const { request, response, strategy } = exchange;
    const representation = this.#representation(exchange, true);
    const options = readListOptions(request.query);
    const selection = this.#selection(exchange);
    const view = viewFor(strategy, representation, request.query);
    if (this.#store.busy) await this.#store.settled();
    if (options.watch) {
      if (representation.format === 'yaml') throw notAcceptable(mediaTypes);
      this.#checkNumber(options.resourceVersion);
      const { world, stopping } = this.#deps;
      const { as: _as, ...plain } = representation;
      const one = representation.as === 'PartialObjectMetadataList' ? { ...plain } : representation;
      new Watch(
        {
          selection,
          options,
          view: { ...view, representation: one },
          store: this.#store,
          clock: world.clock,
          random: world.random,
          stopping,
        },
        response,
      ).run(request.raw);
      return;
    }
    const { entries, metadata } = listPage(this.#store, selection, options);
    const shown =
      representation.as === 'PartialObjectMetadata'
        ? { ...view, representation: { ...representation, as: 'PartialObjectMetadataList' as const } }
        : view;
    const body = listBody(entries, shown, metadata, this.#deps.world.clock.now());
    if (typeof body === 'string' && representation.format === 'json' && !representation.pretty)
      return sendText(request.raw, response, { status: 200, type: 'application/json', text: body });
    return this.#send(
      exchange,
      200,
      typeof body === 'string' ? (JSON.parse(body) as unknown) : body,
      representation,
    );
  }

  #context(request: ApiRequest, query: Pick<WriteQuery, 'dryRun'>): WriteContext {
    const { world } = this.#deps;
    return { world, user: request.user, now: world.clock.now(), dryRun: query.dryRun, warnings: [] };
  }

  #writer(kind: Kind, manager: string, operation: Writer['operation'], subresource: string): Writer {
    return { manager, operation, apiVersion: groupVersionOf(kind), ...(subresource && { subresource }) };
  }

  async #create(exchange: Exchange): Promise<void> {
    const { request, target, kind } = exchange;
    const representation = this.#representation(exchange);
    const query = readWriteQuery(request.query, request.raw.headers['user-agent'], {
      options: 'CreateOptions',
      apply: false,
    });
    const format = bodyFormat(request.raw);
    const { object, strict } = readObject(await readBody(request.raw), format, expectedOf(kind));
    const warnings = judged(strict, query, kind, object);
    try {
      const context = this.#context(request, query);
      const given = this.#inNamespace(object, target, kind);
      const admitted = this.#deps.admission.create(request, kind, given);
      const made = this.registry(kind).create(
        target.namespace,
        admitted,
        this.#writer(kind, query.manager, 'Update', ''),
        context,
      );
      await this.#store.settled();
      await this.#answer(exchange, 201, made, {
        representation,
        warnings: [...warnings, ...context.warnings],
      });
    } catch (reason) {
      throw withWarnings(reason, warnings);
    }
  }

  #inNamespace(object: JsonObject, target: ResourcePath, kind: Kind): JsonObject {
    const namespace = stringAt(objectAt(object, 'metadata'), 'namespace');
    if (kind.namespaced && namespace !== '' && namespace !== target.namespace)
      throw badRequest(
        'the namespace of the provided object does not match the namespace sent on the request',
      );
    return kind.namespaced
      ? withMetadata(object, { namespace: target.namespace })
      : withMetadata(object, { namespace: undefined });
  }

  #answer(
    exchange: Exchange,
    status: number,
    object: JsonObject,
    how: { readonly representation: Representation; readonly warnings: readonly string[] },
  ): Promise<void> {
    const { request, kind, strategy } = exchange;
    const stored = strategy.toStorage?.(object) ?? object;
    const special = viewOne(
      stored,
      viewFor(strategy, how.representation, request.query),
      this.#deps.world.clock.now(),
    );
    return this.#send(
      exchange,
      status,
      special ?? this.#typed(kind, object),
      how.representation,
      how.warnings,
    );
  }

  #named(object: JsonObject, target: ResourcePath, kind: Kind): JsonObject {
    const metadata = objectAt(object, 'metadata');
    const name = stringAt(metadata, 'name');
    if (name === '')
      throw badRequest(
        `the name of the object (${target.name} based on URL) was undeterminable: name must be provided`,
      );
    if (name !== target.name)
      throw badRequest(
        `the name of the object (${name}) does not match the name on the URL (${target.name})`,
      );
    return this.#inNamespace(object, target, kind);
  }

  async #update(exchange: Exchange): Promise<void> {
    const { request, target, kind, strategy } = exchange;
    const representation = this.#representation(exchange);
    const query = readWriteQuery(request.query, request.raw.headers['user-agent'], {
      options: 'UpdateOptions',
      apply: false,
    });
    const format = bodyFormat(request.raw);
    const { object, strict } = readObject(await readBody(request.raw), format, expectedOf(kind));
    const warnings = judged(strict, query, kind, object);
    const given = this.#named(object, target, kind);
    const context = this.#context(request, query);
    const registry = this.registry(kind);
    const writer = this.#writer(kind, query.manager, 'Update', target.subresource);
    const missing =
      !target.subresource && strategy.createOnUpdate && !this.#store.get(kind.storage, keyIn(target));
    try {
      if (missing) {
        const made = registry.create(
          target.namespace,
          this.#deps.admission.create(request, kind, withMetadata(given, { resourceVersion: undefined })),
          writer,
          context,
        );
        await this.#store.settled();
        await this.#answer(exchange, 201, made, { representation, warnings });
        return;
      }
      const change = (old: JsonObject): JsonObject => {
        this.#checkUid(given, old, target, kind);
        this.#deps.admission.update(request, kind, given, old);
        return given;
      };
      const { object: made } = registry.update(target, change, writer, context);
      await this.#store.settled();
      await this.#answer(exchange, 200, made, {
        representation,
        warnings: [...warnings, ...context.warnings],
      });
    } catch (reason) {
      throw withWarnings(reason, warnings);
    }
  }

  #checkUid(given: JsonObject, old: JsonObject, target: ResourcePath, kind: Kind): void {
    const uid = stringAt(objectAt(given, 'metadata'), 'uid');
    const found = stringAt(objectAt(old, 'metadata'), 'uid');
    if (uid === '' || uid === found) return;
    throw new StatusError(
      409,
      'Conflict',
      `Operation cannot be fulfilled on ${kind.group ? `${kind.resource}.${kind.group}` : kind.resource} "${target.name}": StorageError: invalid object, Code: 4, Key: /registry/${kind.resource}/${keyIn(target)}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: ${uid}, UID in object meta: ${found}`,
      { details: { name: target.name, ...(kind.group && { group: kind.group }), kind: kind.resource } },
    );
  }

  async #patch(exchange: Exchange): Promise<void> {
    const { request, target, kind } = exchange;
    const representation = this.#representation(exchange);
    const type = patchTypeOf(request.raw.headers['content-type']);
    const query = readWriteQuery(request.query, request.raw.headers['user-agent'], {
      options: 'PatchOptions',
      apply: type === 'apply',
    });
    const body = readPatch(await readBody(request.raw), type);
    const context = this.#context(request, query);
    const registry = this.registry(kind);
    const warnings: string[] = [];
    try {
      const writer = this.#writer(
        kind,
        query.manager,
        type === 'apply' ? 'Apply' : 'Update',
        target.subresource,
      );
      if (type === 'apply') {
        const config = this.#named(
          applyConfigNamed(applyConfig(body, kind, target.name), target.name),
          target,
          kind,
        );
        const standing = this.#store.get(kind.storage, keyIn(target));
        if (standing) this.#deps.admission.update(request, kind, config, registry.served(standing));
        else this.#deps.admission.create(request, kind, config);
        const written = registry.apply({ ...target, force: query.force }, config, writer, context);
        await this.#store.settled();
        await this.#answer(exchange, written.created ? 201 : 200, written.object, {
          representation,
          warnings,
        });
        return;
      }
      const change = (old: JsonObject): JsonObject => {
        const strict: string[] = [];
        const next = patched(old, body, kind, strict);
        warnings.push(...judged(strict, query, kind, next));
        const named = this.#named(next, target, kind);
        this.#deps.admission.update(request, kind, named, old);
        return named;
      };
      const { object } = registry.update(target, change, writer, context);
      await this.#store.settled();
      await this.#answer(exchange, 200, object, {
        representation,
        warnings: [...warnings, ...context.warnings],
      });
    } catch (reason) {
      throw withWarnings(reason, warnings);
    }
  }

  async #deleteBody(request: IncomingMessage): Promise<JsonObject | undefined> {
    const body = await readBody(request);
    if (body.length === 0) return undefined;
    const format = bodyFormat(request);
    return readObject(body, format, {
      apiVersion: 'v1',
      kind: 'DeleteOptions',
      type: 'DeleteOptions',
      internal: 'meta.DeleteOptions',
      loose: true,
    }).object;
  }

  async #delete(exchange: Exchange): Promise<void> {
    const { request, target, kind, strategy } = exchange;
    const representation = this.#representation(exchange);
    const options = readDeleteOptions(await this.#deleteBody(request.raw), request.query);
    const registry = this.registry(kind);
    const context = this.#context(request, options);
    const entry = this.#store.get(kind.storage, keyIn(target));
    if (!entry) throw notFound(subjectOf(kind, target.name));
    this.#deps.admission.delete(request, kind, entry.object);
    const { object, deleted } = registry.delete(target.namespace, target.name, options, context);
    await this.#store.settled();
    if (!deleted || strategy.deleteReturnsObject)
      return this.#answer(exchange, 200, object, { representation, warnings: [] });
    return this.#send(exchange, 200, deletedStatus(kind, object), representation);
  }

  async #deleteCollection(exchange: Exchange): Promise<void> {
    const { request, kind, strategy } = exchange;
    const representation = this.#representation(exchange, true);
    const options = readDeleteOptions(await this.#deleteBody(request.raw), request.query);
    const listOptions = readListOptions(request.query);
    const selection = this.#selection(exchange);
    const context = this.#context(request, options);
    const registry = this.registry(kind);
    const { entries, metadata } = listPage(this.#store, selection, listOptions);
    const gone = entries.map((entry) => {
      const at = objectAt(entry.object, 'metadata');
      this.#deps.admission.delete(request, kind, entry.object);
      registry.delete(stringAt(at, 'namespace'), stringAt(at, 'name'), options, context);
      return entry;
    });
    await this.#store.settled();
    const view = viewFor(strategy, representation, request.query);
    const body = listBody(gone, view, metadata, context.now);
    return this.#send(
      exchange,
      200,
      typeof body === 'string' ? (JSON.parse(body) as unknown) : body,
      representation,
    );
  }
}

const keyIn = (target: ResourcePath): string =>
  target.namespace && target.kind?.namespaced ? `${target.namespace}/${target.name}` : target.name;

const applyConfigNamed = (config: JsonObject, name: string): JsonObject =>
  stringAt(objectAt(config, 'metadata'), 'name') === '' ? withMetadata(config, { name }) : config;

const deletedStatus = (kind: Kind, object: JsonObject): JsonObject => ({
  kind: 'Status',
  apiVersion: 'v1',
  metadata: {},
  status: 'Success',
  details: {
    name: stringAt(objectAt(object, 'metadata'), 'name'),
    ...(kind.group && { group: kind.group }),
    kind: kind.resource,
    uid: stringAt(objectAt(object, 'metadata'), 'uid'),
  },
});

/** What strict decoding found, as warnings, as an error or not at all (A5). @throws {StatusError} 400 */
function judged(
  strict: readonly string[],
  query: WriteQuery,
  kind: Kind,
  object: JsonObject,
): readonly string[] {
  object;
  if (strict.length === 0 || query.fieldValidation === 'Ignore') return [];
  if (query.fieldValidation === 'Warn') return strict;
  throw badRequest(
    `${kind.kind} in version "${kind.version}" cannot be handled as a ${kind.kind}: strict decoding error: ${strict.join(', ')}`,
  );
}

/** Warnings that go out with an error. */
export const warningsOf: WeakMap<StatusError, readonly string[]> = new WeakMap<
  StatusError,
  readonly string[]
>();

function withWarnings(reason: unknown, warnings: readonly string[]): unknown {
  if (reason instanceof StatusError && warnings.length > 0) warningsOf.set(reason, warnings);
  return reason;
}
