import type { IncomingMessage } from 'node:http';
import { admitted, admittedDelete, type Request } from './admitted.ts';
import { tableOf } from '../../../base/own.ts';
import { bodyFormat, expectedOf, readBody, readObject, readWritten } from '../body.ts';
import {
  contextOf,
  deletedStatus,
  type Exchange,
  keyIn,
  listingOf,
  loadListed,
  type ResourceApiDeps,
  representationOf,
  send,
  sendObject,
  withWarnings,
} from '../exchange.ts';
import {
  type JsonObject,
  nameOf,
  namespaceOf,
  objectAt,
  stringAt,
  withMetadata,
} from '../../../apimachinery/json.ts';
import { groupVersionOf, type Kind } from '../../../apimachinery/kinds.ts';
import { listPage } from '../list-options.ts';
import type { Writer } from '../../../apimachinery/managed-fields/managed-fields.ts';
import { checkNamespaceOf } from '../../registry/metadata-rules.ts';
import {
  type Applied,
  applyConfig,
  judgedApply,
  type PatchBody,
  patched,
  patchTypeOf,
  patchValue,
  readApply,
  readPatch,
} from './patch-request.ts';
import type { Written } from '../../registry/pending-write.ts';
import type { DeleteOptions } from '../../registry/deletion.ts';
import { checkKey } from '../../registry/write-checks.ts';
import { withoutRepeatedOwners } from '../../registry/metadata-rules.ts';
import { auditOf } from '../../request/audit-record.ts';
import type { ResourcePath } from '../../request/request.ts';
import { badRequest, StatusError } from '../../../apimachinery/status-error.ts';
import type { WriteContext } from '../../request/write-context.ts';
import { listBody, viewFor } from '../views.ts';
import { optionsOf, readDeleteOptions, readWriteQuery, type WriteQuery } from '../write-options.ts';
import type { Representation } from '../negotiate.ts';

const writerOf = (
  exchange: Exchange,
  manager: string,
  operation: Writer['operation'] = 'Update',
): Writer => ({
  manager,
  operation,
  apiVersion: groupVersionOf(exchange.kind),
  ...(exchange.target.subresource && { subresource: exchange.target.subresource }),
});

function inNamespace(object: JsonObject, target: ResourcePath, kind: Kind): JsonObject {
  if (kind.namespaced) checkNamespaceOf(object, target.namespace);
  return withMetadata(object, { namespace: kind.namespaced ? target.namespace : undefined });
}

function named(object: JsonObject, target: ResourcePath, kind: Kind): JsonObject {
  const metadata = objectAt(object, 'metadata');
  const name = stringAt(metadata, 'name');
  if (kind.namespaced) checkNamespaceOf(object, target.namespace);
  if (name === '')
    throw badRequest(
      `the name of the object (${target.name} based on URL) was undeterminable: name must be provided`,
    );
  if (name !== target.name)
    throw badRequest(`the name of the object (${name}) does not match the name on the URL (${target.name})`);
  return inNamespace(object, target, kind);
}

/** Where etcd has kinds whose place is not the name of their resource, as messages show it. */
const places: Readonly<Record<string, string>> = tableOf({
  services: 'services/specs',
  endpoints: 'services/endpoints',
  nodes: 'minions',
  replicationcontrollers: 'controllers',
  'networking.k8s.io/ingresses': 'ingress',
});

function checkUid(
  object: JsonObject,
  old: JsonObject,
  { target, kind }: Pick<Exchange, 'target' | 'kind'>,
  { dryRun }: WriteContext,
): void {
  const uid = stringAt(objectAt(object, 'metadata'), 'uid');
  const found = stringAt(objectAt(old, 'metadata'), 'uid');
  if (uid === '' || uid === found) return;
  throw new StatusError(
    409,
    'Conflict',
    `Operation cannot be fulfilled on ${kind.group ? `${kind.resource}.${kind.group}` : kind.resource} "${target.name}": StorageError: invalid object, Code: 4, Key: ${dryRun ? '' : '/registry'}/${places[kind.storage] ?? kind.resource}/${keyIn(target)}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: ${uid}, UID in object meta: ${found}`,
    { details: { name: target.name, ...(kind.group && { group: kind.group }), kind: kind.resource } },
  );
}

async function readDeleteBody(request: IncomingMessage): Promise<JsonObject | undefined> {
  const body = await readBody(request);
  if (body.length === 0) return undefined;
  const format = bodyFormat(request);
  const { object } = readObject(body, format, {
    apiVersion: 'meta.k8s.io/v1',
    kind: 'DeleteOptions',
    type: 'DeleteOptions',
    internal: 'v1.DeleteOptions',
    fits: () => true,
    bare: true,
  });
  auditOf(request)?.about(object, { apiVersion: 'meta.k8s.io/v1', kind: 'DeleteOptions' });
  return object;
}

/** A write with parsed query and body. */
interface Reading {
  readonly query: WriteQuery;
  readonly context: WriteContext;
  /** CreateOptions, UpdateOptions or PatchOptions for admission. */
  readonly options: JsonObject;
}

/** ResourceWrites implements the writing verbs of a stored kind. Each answers only after the write is durable. */
export class ResourceWrites {
  readonly #deps: ResourceApiDeps;

  constructor(deps: ResourceApiDeps) {
    this.#deps = deps;
  }

  async create(exchange: Exchange): Promise<void> {
    await this.#write(exchange, 'CreateOptions', (object, reading) => {
      const body = withoutRepeatedOwners(
        inNamespace(object, exchange.target, exchange.kind),
        reading.context.warnings,
      );
      return this.#create(exchange, body, reading);
    });
  }

  #create(exchange: Exchange, body: JsonObject, reading: Reading, byUpdate = false): Promise<Written> {
    const { target, registry } = exchange;
    const writer = writerOf(exchange, reading.query.manager);
    this.#warnOfIdleKind(exchange, body, reading.context);
    return admitted(this.#deps.admission, requestOf(exchange, reading, nameOf(body)), () =>
      registry.beginCreate({ namespace: target.namespace, byUpdate }, body, writer, reading.context),
    );
  }

  #warnOfIdleKind({ kind, target }: Exchange, body: JsonObject, { warnings }: WriteContext): void {
    const warning = target.subresource === '' ? this.#deps.world.acting?.warningFor(kind, body) : undefined;
    if (warning !== undefined) warnings.push(warning);
  }

  /** Handles PUT; creates the object if its kind allows it. */
  async update(exchange: Exchange): Promise<void> {
    const { target, kind, strategy, registry } = exchange;
    await this.#write(exchange, 'UpdateOptions', (object, reading) => {
      const { context } = reading;
      const body = withoutRepeatedOwners(named(object, target, kind), context.warnings);
      if (!target.subresource && strategy.createOnUpdate && !this.#isStored(exchange)) {
        checkUid(body, {}, exchange, context);
        return this.#create(exchange, body, reading, true);
      }
      const change = (old: JsonObject): JsonObject => {
        checkUid(body, old, exchange, context);
        return body;
      };
      const writer = writerOf(exchange, reading.query.manager);
      return admitted(this.#deps.admission, requestOf(exchange, reading), () =>
        registry.beginUpdate(target, change, writer, context),
      );
    });
  }

  /** True when the object is stored. */
  #isStored({ kind, target }: Exchange): boolean {
    checkKey(kind, target.namespace, target.name);
    return this.#deps.world.store.get(kind.storage, keyIn(target)) !== undefined;
  }

  async #write(
    exchange: Exchange,
    options: 'CreateOptions' | 'UpdateOptions',
    act: (object: JsonObject, reading: Reading) => Promise<Written>,
  ): Promise<void> {
    const { request, kind } = exchange;
    const representation = representationOf(exchange);
    // a create checks its content type before its options, an update after them
    if (options === 'CreateOptions') bodyFormat(request.raw, kind.custom !== undefined);
    const query = readWriteQuery(request.query, request.raw.headers['user-agent'], { options, apply: false });
    const { object, empties, warnings } = await readWritten(request.raw, expectedOf(kind), query);
    const context = { ...contextOf(this.#deps.world, request, query.dryRun), empties };
    context.warnings.push(...warnings);
    await this.#answer(exchange, { context, representation }, () =>
      act(object, { query, context, options: optionsOf(options, query) }),
    );
  }

  /** Sends the result of a write once it is durable; warnings are sent with an error, too. */
  async #answer(
    exchange: Exchange,
    { context, representation }: { readonly context: WriteContext; readonly representation: Representation },
    act: () => Promise<Written>,
  ): Promise<void> {
    const { warnings } = context;
    try {
      const { object: body, created } = await act();
      await this.#deps.world.store.settled();
      const status = created ? 201 : 200;
      await sendObject(exchange, context.now, { status, body, representation, warnings });
    } catch (reason) {
      throw withWarnings(reason, [...new Set(warnings)]);
    }
  }

  async patch(exchange: Exchange): Promise<void> {
    const { request } = exchange;
    const type = patchTypeOf(request.raw.headers['content-type'], exchange.kind);
    const representation = representationOf(exchange);
    const query = readWriteQuery(request.query, request.raw.headers['user-agent'], {
      options: 'PatchOptions',
      apply: type === 'apply',
    });
    const body = await readBody(request.raw);
    request.audit?.patches(() => patchValue(body, type));
    const context = contextOf(this.#deps.world, request, query.dryRun);
    const reading = { query, context, options: optionsOf('PatchOptions', query) };
    await this.#answer(exchange, { context, representation }, () =>
      type === 'apply'
        ? this.#apply(exchange, readApply(body), reading)
        : this.#change(
            exchange,
            onDemand(() => readPatch(body, type, query.fieldValidation)),
            reading,
          ),
    );
  }

  async #apply(exchange: Exchange, body: Applied, reading: Reading): Promise<Written> {
    const { target, kind, registry } = exchange;
    const { query, context } = reading;
    const { object: config, converted } = applyConfig(body.value, kind);
    const isUnnamed = !Object.hasOwn(objectAt(config, 'metadata'), 'name');
    const writer = writerOf(exchange, query.manager, 'Apply');
    if (!this.#isStored(exchange)) this.#warnOfIdleKind(exchange, config, context);
    return admitted(this.#deps.admission, requestOf(exchange, reading), () => {
      const write = converted(() =>
        registry.beginApply({ ...target, force: query.force }, config, writer, context),
      );
      context.warnings.push(...judgedApply(body, query.fieldValidation));
      named(isUnnamed && write.old ? withMetadata(config, { name: target.name }) : config, target, kind);
      return write;
    });
  }

  /** Patches an object; the patch is parsed only when the object exists. */
  #change(exchange: Exchange, read: () => PatchBody, reading: Reading): Promise<Written> {
    const { target, kind, registry } = exchange;
    const { query, context } = reading;
    const change = (old: JsonObject): JsonObject => {
      const next = patched(old, read(), kind, { ...query, subresource: target.subresource });
      context.warnings.push(...next.warnings);
      context.empties = next.empties;
      context.isOtherKind = next.isOtherKind;
      return withoutRepeatedOwners(named(next.object, target, kind), context.warnings, true);
    };
    const writer = writerOf(exchange, query.manager);
    return admitted(this.#deps.admission, requestOf(exchange, reading), () =>
      registry.beginUpdate(target, change, writer, context),
    );
  }

  async delete(exchange: Exchange): Promise<void> {
    const { request, target, kind, strategy, registry } = exchange;
    const representation = representationOf(exchange);
    const body = await readDeleteBody(request.raw);
    const options = readDeleteOptions(body, request.query);
    const context = contextOf(this.#deps.world, request, options.dryRun);
    const { warnings } = context;
    warnings.push(...deleteWarnings(exchange, options));
    const { object, deleted } = await admittedDelete(
      this.#deps.admission,
      requestOf(exchange, { context, options: body ?? {} }),
      () => registry.beginDelete(target.namespace, target.name, options, context),
    ).catch((reason: unknown) => {
      throw withWarnings(reason, warnings);
    });
    await this.#deps.world.store.settled();
    const status = !deleted && options.withDependents ? 202 : 200;
    if (!deleted || strategy.deleteReturnsObject)
      return sendObject(exchange, context.now, { status, body: object, representation, warnings });
    return send(exchange, { status: 200, body: deletedStatus(kind, object), representation, warnings });
  }

  async deleteCollection(exchange: Exchange): Promise<void> {
    const { request, strategy, registry } = exchange;
    const representation = representationOf(exchange, true);
    const { options: listOptions, selection } = listingOf(exchange);
    const body = await readDeleteBody(request.raw);
    const options = readDeleteOptions(body, request.query);
    const context = contextOf(this.#deps.world, request, options.dryRun);
    context.warnings.push(...deleteWarnings(exchange, options));
    await loadListed(this.#deps.world.store, selection, { options: listOptions, strategy });
    const { entries, metadata } = listPage(this.#deps.world.store, selection, listOptions);
    for (const { object } of entries) {
      const [namespace, name] = [namespaceOf(object), nameOf(object)];
      const at = {
        ...requestOf(exchange, { context, options: body ?? {} }, name),
        namespace,
        ofCollection: true,
      };
      await admittedDelete(this.#deps.admission, at, () =>
        registry.beginDelete(namespace, name, options, context),
      );
    }
    await this.#deps.world.store.settled();
    const view = viewFor(strategy, representation, request.query);
    const list = listBody(entries, view, metadata, context.now);
    return send(exchange, { status: 200, body: list, representation, warnings: context.warnings });
  }
}

const deleteWarnings = ({ strategy }: Exchange, { propagation }: DeleteOptions): readonly string[] =>
  propagation === undefined && strategy.deleteWarning !== undefined ? [strategy.deleteWarning] : [];

/** Returns the admission attributes of a request. */
const requestOf = (
  { target, kind, registry }: Exchange,
  { context, options }: Pick<Reading, 'context' | 'options'>,
  name = target.name,
): Request => ({
  kind,
  subresource: target.subresource,
  namespace: target.namespace,
  name,
  options,
  context,
  registry,
});

/** Returns a function that calls `make` once, on first use. */
function onDemand<T>(make: () => T): () => T {
  let result: { readonly value: T } | undefined;
  return () => (result ??= { value: make() }).value;
}
