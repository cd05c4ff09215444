import type { IncomingMessage } from 'node:http';
import { bodyFormat, expectedOf, judged, readBody, readObject } from '../body.ts';
import {
  contextOf,
  deletedStatus,
  type Exchange,
  keyIn,
  listingOf,
  type ResourceApiDeps,
  representationOf,
  send,
  sendObject,
  withWarnings,
} from '../exchange.ts';
import { type JsonObject, objectAt, stringAt, withMetadata } from '../../../apimachinery/json.ts';
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
  readApply,
  readPatch,
} from './patch-request.ts';
import { checkKey, type Written } from '../../registry/registry.ts';
import { withoutRepeatedOwners } from '../../registry/metadata-rules.ts';
import type { ResourcePath } from '../../request/request.ts';
import { badRequest, StatusError } from '../../../apimachinery/status-error.ts';
import type { WriteContext } from '../../request/write-context.ts';
import { listBody, viewFor } from '../views.ts';
import { readDeleteOptions, readWriteQuery, type WriteQuery } from '../write-options.ts';

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
  if (name === '')
    throw badRequest(
      `the name of the object (${target.name} based on URL) was undeterminable: name must be provided`,
    );
  if (name !== target.name)
    throw badRequest(`the name of the object (${name}) does not match the name on the URL (${target.name})`);
  return inNamespace(object, target, kind);
}

function checkUid(given: JsonObject, old: JsonObject, target: ResourcePath, kind: Kind): void {
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

async function readDeleteBody(request: IncomingMessage): Promise<JsonObject | undefined> {
  const body = await readBody(request);
  if (body.length === 0) return undefined;
  const format = bodyFormat(request);
  return readObject(body, format, {
    apiVersion: 'meta.k8s.io/v1',
    kind: 'DeleteOptions',
    type: 'DeleteOptions',
    internal: 'v1.DeleteOptions',
    fits: () => true,
    bare: true,
  }).object;
}

/** A write whose query and body are read. */
interface Reading {
  readonly query: WriteQuery;
  readonly context: WriteContext;
  /** What goes out as warnings, or with the error. */
  readonly warnings: string[];
}

/** The writing verbs of a stored kind. Each answers only once the write would outlive a crash. */
export class ResourceWrites {
  readonly #deps: ResourceApiDeps;

  constructor(deps: ResourceApiDeps) {
    this.#deps = deps;
  }

  async create(exchange: Exchange): Promise<void> {
    await this.#write(exchange, 'CreateOptions', (object, { query, context }) => {
      const given = withoutRepeatedOwners(
        inNamespace(object, exchange.target, exchange.kind),
        context.warnings,
      );
      return { object: this.#insert(exchange, given, query.manager, context), created: true };
    });
  }

  #insert(exchange: Exchange, given: JsonObject, manager: string, context: WriteContext): JsonObject {
    const { request, target, kind, registry } = exchange;
    const admitted = this.#deps.admission.create(request, kind, given);
    return registry.create(target.namespace, admitted, writerOf(exchange, manager), context);
  }

  /** PUT; makes the object where its kind allows. */
  async update(exchange: Exchange): Promise<void> {
    const { request, target, kind, strategy, registry } = exchange;
    await this.#write(exchange, 'UpdateOptions', (object, { query, context }) => {
      const given = withoutRepeatedOwners(named(object, target, kind), context.warnings);
      if (!target.subresource && strategy.createOnUpdate && !this.#standing(exchange)) {
        checkUid(given, {}, target, kind);
        const fresh = withMetadata(given, { resourceVersion: undefined });
        return { object: this.#insert(exchange, fresh, query.manager, context), created: true };
      }
      const change = (old: JsonObject): JsonObject => {
        checkUid(given, old, target, kind);
        this.#deps.admission.update(request, kind, given, old);
        return given;
      };
      return registry.update(target, change, writerOf(exchange, query.manager), context);
    });
  }

  /** The object as it stands. */
  #standing({ registry, kind, target }: Exchange): JsonObject | undefined {
    checkKey(kind, target.namespace, target.name);
    const entry = this.#deps.world.store.get(kind.storage, keyIn(target));
    return entry && registry.served(entry);
  }

  async #write(
    exchange: Exchange,
    options: 'CreateOptions' | 'UpdateOptions',
    act: (object: JsonObject, reading: Reading) => Written,
  ): Promise<void> {
    const { request, kind } = exchange;
    const representation = representationOf(exchange);
    // a creation looks at the type of its body before its options, an update the other way round
    if (options === 'CreateOptions') bodyFormat(request.raw);
    const query = readWriteQuery(request.query, request.raw.headers['user-agent'], { options, apply: false });
    const format = bodyFormat(request.raw);
    const { object, strict, empties } = readObject(await readBody(request.raw), format, expectedOf(kind));
    const warnings = [...judged(strict, query.fieldValidation, expectedOf(kind))];
    const context = { ...contextOf(this.#deps.world, request, query.dryRun), empties };
    try {
      const { object: body, created } = act(object, { query, context, warnings });
      await this.#deps.world.store.settled();
      const status = created ? 201 : 200;
      warnings.push(...context.warnings);
      await sendObject(exchange, context.now, { status, body, representation, warnings });
    } catch (reason) {
      throw withWarnings(reason, [...new Set([...warnings, ...context.warnings])]);
    }
  }

  async patch(exchange: Exchange): Promise<void> {
    const { request } = exchange;
    const type = patchTypeOf(request.raw.headers['content-type']);
    const representation = representationOf(exchange);
    const query = readWriteQuery(request.query, request.raw.headers['user-agent'], {
      options: 'PatchOptions',
      apply: type === 'apply',
    });
    const body = await readBody(request.raw);
    const context = contextOf(this.#deps.world, request, query.dryRun);
    const warnings: string[] = [];
    try {
      const reading = { query, context, warnings };
      const written =
        type === 'apply'
          ? this.#apply(exchange, readApply(body), reading)
          : this.#change(exchange, () => readPatch(body, type, query.fieldValidation), reading);
      await this.#deps.world.store.settled();
      const status = written.created ? 201 : 200;
      warnings.push(...context.warnings);
      await sendObject(exchange, context.now, { status, body: written.object, representation, warnings });
    } catch (reason) {
      throw withWarnings(reason, [...new Set([...warnings, ...context.warnings])]);
    }
  }

  #apply(exchange: Exchange, body: Applied, { query, context, warnings }: Reading): Written {
    const { request, target, kind, registry } = exchange;
    const read = applyConfig(body.value, kind);
    warnings.push(...judgedApply(body, query.fieldValidation));
    const standing = this.#standing(exchange);
    const isUnnamed = !('name' in objectAt(read, 'metadata'));
    const config = named(
      standing && isUnnamed ? withMetadata(read, { name: target.name }) : read,
      target,
      kind,
    );
    if (standing) this.#deps.admission.update(request, kind, config, standing);
    else this.#deps.admission.create(request, kind, config);
    const writer = writerOf(exchange, query.manager, 'Apply');
    return registry.apply({ ...target, force: query.force }, config, writer, context);
  }

  /** A patch is read when there is something to patch. */
  #change(exchange: Exchange, read: () => PatchBody, { query, context, warnings }: Reading): Written {
    const { request, target, kind, registry } = exchange;
    const change = (old: JsonObject): JsonObject => {
      const next = patched(old, read(), kind, query.fieldValidation);
      warnings.push(...next.warnings);
      context.empties = next.empties;
      const whole = withoutRepeatedOwners(named(next.object, target, kind), context.warnings, true);
      this.#deps.admission.update(request, kind, whole, old);
      return whole;
    };
    return registry.update(target, change, writerOf(exchange, query.manager), context);
  }

  async delete(exchange: Exchange): Promise<void> {
    const { request, target, kind, strategy, registry } = exchange;
    const representation = representationOf(exchange);
    const options = readDeleteOptions(await readDeleteBody(request.raw), request.query);
    const context = contextOf(this.#deps.world, request, options.dryRun);
    const entry = registry.entry(target.namespace, target.name);
    registry.checkPreconditions(entry, options);
    this.#deps.admission.delete(request, kind, entry.object);
    const { object, deleted } = registry.delete(target.namespace, target.name, options, context);
    await this.#deps.world.store.settled();
    const status = !deleted && options.withDependents ? 202 : 200;
    if (!deleted || strategy.deleteReturnsObject)
      return sendObject(exchange, context.now, { status, body: object, representation });
    return send(exchange, { status: 200, body: deletedStatus(kind, object), representation });
  }

  async deleteCollection(exchange: Exchange): Promise<void> {
    const { request, kind, strategy, registry } = exchange;
    const representation = representationOf(exchange, true);
    const { options: listOptions, selection } = listingOf(exchange);
    const options = readDeleteOptions(await readDeleteBody(request.raw), request.query);
    const context = contextOf(this.#deps.world, request, options.dryRun);
    const { entries, metadata } = listPage(this.#deps.world.store, selection, listOptions);
    const gone = entries.map((entry) => {
      const at = objectAt(entry.object, 'metadata');
      this.#deps.admission.delete(request, kind, entry.object);
      registry.delete(stringAt(at, 'namespace'), stringAt(at, 'name'), options, context);
      return entry;
    });
    await this.#deps.world.store.settled();
    const view = viewFor(strategy, representation, request.query);
    const body = listBody(gone, view, metadata, context.now);
    return send(exchange, {
      status: 200,
      body: typeof body === 'string' ? (JSON.parse(body) as unknown) : body,
      representation,
    });
  }
}
