import { decodeType } from '../../apimachinery/serializer/codec.ts';
import {
  type JsonObject,
  listAt,
  nameOf,
  namespaceOf,
  objectAt,
  sameJson,
  stringAt,
  valueAt,
  withMetadata,
} from '../../apimachinery/json.ts';
import { bump, type DeleteOptions, finalizersFor, gracefully, isFree } from './deletion.ts';
import { groupVersionOf, type Kind } from '../../apimachinery/kinds.ts';
import {
  keepManaged,
  manageApply,
  manageUpdate,
  type Writer,
} from '../../apimachinery/managed-fields/managed-fields.ts';
import {
  commonMetadata,
  commonMetadataUpdate,
  validateMetadata,
  validateMetadataUpdate,
} from './metadata-rules.ts';
import { pathSegment } from '../../apimachinery/path-segment.ts';
import { chargeQuotas } from '../admission/quotas.ts';
import {
  alreadyExists,
  badRequest,
  conflict,
  type FieldFault,
  invalid,
  modified,
  notFound,
  StatusError,
  type Subject,
} from '../../apimachinery/status-error.ts';
import { type Entry, keyOf, type Store } from '../storage/store.ts';
import type { Strategy, UpdateRules } from './strategy.ts';
import type { WriteContext } from '../request/write-context.ts';
import { longestPrefix, randomSuffix } from '../storage/names.ts';
import { seconds } from '../../apimachinery/times.ts';

export const subjectOf = (kind: Kind, name: string): Subject => ({
  kind: kind.resource,
  name,
  ...(kind.group && { group: kind.group }),
});

/** What a DELETE left: `deleted` is false while grace or finalizers hold the object. */
interface Deleted {
  readonly object: JsonObject;
  readonly deleted: boolean;
}

/** Whether there can be such an object, or such a place for objects when no name is given. @throws {StatusError} 400, 500 */
export function checkKey(kind: Kind, namespace: string, name?: string): void {
  if (name !== undefined && kind.namespaced && namespace === '')
    throw badRequest('Namespace parameter required.');
  const faults = pathSegment(name ?? '', false);
  if (faults.length > 0)
    throw badRequest(`Name parameter invalid: ${JSON.stringify(name)}: ${faults.join(';')}`);
  if (!kind.namespaced || !/^\.\.?$/.test(namespace)) return;
  const key = [kind.resource, namespace, ...(name === undefined ? [] : [name])].join('/');
  throw new StatusError(500, '', `invalid key: "/${key}"`);
}

/** An update on its way. */
interface Replacement {
  readonly entry: Entry;
  readonly old: JsonObject;
  readonly next: JsonObject;
  readonly rules: UpdateRules;
}

/** What a write made. */
export interface Written {
  readonly object: JsonObject;
  readonly created: boolean;
}

/**
 * Writes objects of one kind by its rules: decode, defaults, owners, admission, validation, store. Every method either throws a StatusError
 * or has written; acknowledge only after `store.settled()`.
 */
export class Registry {
  readonly strategy: Strategy;
  readonly #store: Store;

  constructor(strategy: Strategy, store: Store) {
    this.strategy = strategy;
    this.#store = store;
  }

  get #kind(): Kind {
    return this.strategy.kind;
  }

  /** The stored entry. @throws {StatusError} 404 */
  entry(namespace: string, name: string): Entry {
    checkKey(this.#kind, namespace, name);
    const entry = this.#store.get(this.#kind.storage, this.#key(namespace, name));
    if (!entry) throw notFound(subjectOf(this.#kind, name));
    return entry;
  }

  #key(namespace: string, name: string): string {
    return keyOf(this.#kind.namespaced ? namespace : '', name);
  }

  /** The object in the form that this version serves. */
  served(entry: Entry): JsonObject {
    return this.strategy.fromStorage?.(entry.object) ?? entry.object;
  }

  create(namespace: string, given: JsonObject, writer: Writer, context: WriteContext): JsonObject {
    const named = this.#fresh(this.strategy.defaults(given), namespace, context);
    const managed = manageUpdate(undefined, named, this.#kind.type, {
      writer,
      now: context.now,
      reset: this.strategy.createReset,
    });
    const version = stringAt(objectAt(given, 'metadata'), 'resourceVersion');
    const isVersioned = /^\d*[1-9]\d*$/.test(version) && !context.dryRun;
    return this.#insert(this.strategy.prepareCreate(managed, context), context, isVersioned);
  }

  #fresh(object: JsonObject, namespace: string, context: WriteContext): JsonObject {
    const metadata = objectAt(object, 'metadata');
    const prefix = stringAt(metadata, 'generateName');
    const name = stringAt(metadata, 'name') || (prefix && this.#generate(prefix, context));
    return withMetadata(object, {
      ...(name && { name }),
      namespace: this.#kind.namespaced ? namespace : undefined,
      uid: context.world.random.uuid(),
      creationTimestamp: seconds(context.now),
      deletionTimestamp: undefined,
      deletionGracePeriodSeconds: undefined,
      selfLink: undefined,
      resourceVersion: undefined,
    });
  }

  #generate(prefix: string, context: WriteContext): string {
    return prefix.slice(0, longestPrefix) + randomSuffix(context.world.random);
  }

  #insert(object: JsonObject, context: WriteContext, isVersioned = false): JsonObject {
    const admitted = this.strategy.admitCreate(object, context);
    const own = this.strategy.validatesMetadata ? [] : validateMetadata(admitted, this.#kind);
    this.#refuse(admitted, [...own, ...this.strategy.validateCreate(admitted, context)]);
    if (this.strategy.validatesMetadata) this.#refuse(admitted, commonMetadata(admitted, this.#kind));
    context.warnings.push(...(this.strategy.warnings?.(admitted) ?? []));
    if (isVersioned)
      throw new StatusError(500, '', 'resourceVersion should not be set on objects to be created');
    this.strategy.confirmCreate?.(admitted, context);
    const quotas = chargeQuotas(this.#store, this.#kind, admitted);
    const key = keyOf(namespaceOf(admitted), nameOf(admitted));
    const standing = this.#store.get(this.#kind.storage, key);
    if (standing)
      throw alreadyExists(
        subjectOf(this.#kind, nameOf(admitted)),
        valueAt(standing.object, 'metadata', 'deletionTimestamp') !== undefined,
      );
    if (context.dryRun) return admitted;
    for (const quota of quotas) this.#store.put('resourcequotas', quota);
    return this.served(this.#store.put(this.#kind.storage, this.#stored(admitted)));
  }

  #stored(object: JsonObject): JsonObject {
    const { apiVersion: _a, kind: _k, ...rest } = this.strategy.toStorage?.(object) ?? object;
    return rest;
  }

  #refuse(object: JsonObject, faults: readonly FieldFault[]): void {
    if (faults.length > 0)
      throw invalid(this.#kind.kind, this.strategy.faultGroup ?? this.#kind.group, nameOf(object), faults);
  }

  rulesOf(subresource: string): UpdateRules {
    return this.strategy.subresources[subresource] ?? this.strategy.main;
  }

  /** Replaces an object; `change` makes the new one from the standing one and may be told to do so again. */
  update(
    at: { readonly namespace: string; readonly name: string; readonly subresource: string },
    change: (standing: JsonObject) => JsonObject,
    writer: Writer,
    context: WriteContext,
  ): Written {
    const entry = this.entry(at.namespace, at.name);
    const old = this.served(entry);
    const changed = change(old);
    this.#precondition(changed, old, at.name);
    const rules = this.rulesOf(at.subresource);
    const whole = this.#whole(changed, old);
    const managed = manageUpdate(old, whole, this.#kind.type, {
      writer,
      now: context.now,
      reset: rules.reset,
      forget: context.empties?.has('metadata.managedFields') ?? false,
    });
    const next = rules.prepare(managed, old, context);
    return { object: this.#replace({ entry, old, next, rules }, context), created: false };
  }

  /** The object that a client sent with what only the server says. */
  #whole(changed: JsonObject, old: JsonObject): JsonObject {
    const before = objectAt(old, 'metadata');
    const given = objectAt(changed, 'metadata');
    return withMetadata(this.strategy.defaults(changed), {
      namespace: given['namespace'] ?? before['namespace'],
      uid: given['uid'] ?? before['uid'],
      creationTimestamp: before['creationTimestamp'],
      deletionTimestamp: before['deletionTimestamp'] ?? given['deletionTimestamp'],
      deletionGracePeriodSeconds: given['deletionGracePeriodSeconds'] ?? before['deletionGracePeriodSeconds'],
      selfLink: undefined,
      generation: before['generation'],
    });
  }

  #precondition(changed: JsonObject, old: JsonObject, name: string): void {
    const [now, before] = [objectAt(changed, 'metadata'), objectAt(old, 'metadata')];
    const version = stringAt(now, 'resourceVersion');
    if (version && version !== '0' && version !== before['resourceVersion']) {
      if (!/^\d+$/.test(version))
        throw new StatusError(
          500,
          '',
          `strconv.ParseUint: parsing ${JSON.stringify(version)}: invalid syntax`,
        );
      throw modified(subjectOf(this.#kind, name));
    }
    if (!version && !this.strategy.unconditionalUpdate)
      throw invalid(this.#kind.resource, this.#kind.group, name, [
        {
          reason: 'FieldValueInvalid',
          field: 'metadata.resourceVersion',
          message: 'Invalid value: 0: must be specified for an update',
        },
      ]);
  }

  #replace({ entry, old, next, rules }: Replacement, context: WriteContext): JsonObject {
    const admitted = rules.admit?.(next, old, context) ?? next;
    const given = withMetadata(admitted, { resourceVersion: valueAt(old, 'metadata', 'resourceVersion') });
    this.#refuse(admitted, this.#updateFaults(given, old, rules, context));
    context.warnings.push(...(rules.warnings?.(given, old) ?? []));
    if (sameJson(given, old) || onlyTimesDiffer(given, old)) return old;
    if (context.dryRun) return given;
    if (!isFree(given)) return this.served(this.#store.put(this.#kind.storage, this.#stored(given)));
    this.strategy.afterDelete?.(given, context);
    // the event of the deletion tells the object as it was last stored
    this.#store.delete(this.#kind.storage, entry.key, entry.object);
    return given;
  }

  /** The API server checks metadata once for every kind and again by the kind's own rules: the causes name each fault as often. */
  #updateFaults(
    given: JsonObject,
    old: JsonObject,
    rules: UpdateRules,
    context: WriteContext,
  ): readonly FieldFault[] {
    const common = [...commonMetadata(given, this.#kind), ...commonMetadataUpdate(given, old)];
    const { main, validatesMetadata } = this.strategy;
    const whole = rules === main && !validatesMetadata ? validateMetadata(given, this.#kind) : [];
    const own = rules.validatesMetadata ? [] : [...validateMetadataUpdate(given, old, this.#kind), ...whole];
    return [...common, ...own, ...(rules.validate?.(given, old, context) ?? [])];
  }

  /** Server-side apply: changes or makes the object. */
  apply(
    at: {
      readonly namespace: string;
      readonly name: string;
      readonly subresource: string;
      readonly force: boolean;
    },
    config: JsonObject,
    writer: Writer,
    context: WriteContext,
  ): Written {
    const key = this.#key(at.namespace, at.name);
    const standing = this.#store.get(this.#kind.storage, key);
    const rules = this.rulesOf(at.subresource);
    const common = { writer, now: context.now, force: at.force, subject: subjectOf(this.#kind, at.name) };
    if (!standing) {
      if (at.subresource) throw notFound(subjectOf(this.#kind, at.name));
      const uid = stringAt(objectAt(config, 'metadata'), 'uid');
      if (uid)
        throw conflict(
          subjectOf(this.#kind, at.name),
          `uid mismatch: the provided object specified uid ${uid}, and no existing object was found`,
        );
      return { object: this.#applyNew(at, config, common, context), created: true };
    }
    const old = this.served(standing);
    this.#precondition(
      withMetadata(config, {
        resourceVersion:
          valueAt(config, 'metadata', 'resourceVersion') ?? valueAt(old, 'metadata', 'resourceVersion'),
      }),
      old,
      at.name,
    );
    const next = manageApply(old, config, this.#kind.type, {
      ...common,
      reset: rules.reset,
      finish: (object) => this.#whole(this.decode(object), old),
    });
    return {
      object: this.#replace(
        { entry: standing, old, next: rules.prepare(next, old, context), rules },
        context,
      ),
      created: false,
    };
  }

  #applyNew(
    at: { readonly namespace: string; readonly name: string },
    config: JsonObject,
    common: {
      readonly writer: Writer;
      readonly now: number;
      readonly force: boolean;
      readonly subject: Subject;
    },
    context: WriteContext,
  ): JsonObject {
    const named = withMetadata(config, { name: at.name });
    const prepare = (object: JsonObject): JsonObject =>
      this.#fresh(this.strategy.defaults(this.decode(object)), at.namespace, context);
    const managed = manageApply({}, named, this.#kind.type, {
      ...common,
      reset: this.strategy.createReset,
      finish: prepare,
    });
    return this.#insert(this.strategy.prepareCreate(managed, context), context);
  }

  /** The object in Go's normal form. @throws {DecodeError} */
  decode(object: JsonObject): JsonObject {
    const { apiVersion: _a, kind: _k, ...rest } = decodeType(object, this.#kind.type).object;
    return rest;
  }

  /** Deletes by the kind's rules; `deleted` is false while grace or finalizers hold the object. */
  delete(namespace: string, name: string, options: DeleteOptions, context: WriteContext): Deleted {
    const entry = this.entry(namespace, name);
    this.checkPreconditions(entry, options);
    this.strategy.checkDelete?.(entry.object, context);
    if (this.strategy.beginDelete) {
      const begun = this.strategy.beginDelete(entry.object, options, context);
      if (begun !== entry.object) return this.#hold(entry, begun, context, false);
    }
    if (this.strategy.grace) return this.#deleteGracefully(entry, options, context);
    const finalizers = finalizersFor(entry.object, options);
    const metadata = objectAt(entry.object, 'metadata');
    if (finalizers.length > 0 || listAt(objectAt(entry.object, 'spec'), 'finalizers').length > 0) {
      const marked = metadata['deletionTimestamp'] !== undefined;
      return this.#hold(
        entry,
        withMetadata(entry.object, {
          finalizers,
          ...(!marked && {
            deletionTimestamp: seconds(context.now),
            deletionGracePeriodSeconds: 0,
            ...bump(entry.object),
          }),
        }),
        context,
        false,
      );
    }
    return this.#remove(entry, entry.object, context);
  }

  /** @throws {StatusError} 409 when another life or version of the object is to be deleted */
  checkPreconditions(entry: Entry, options: DeleteOptions): void {
    const name = nameOf(entry.object);
    const uid = valueAt(entry.object, 'metadata', 'uid');
    const refuse = (what: string, wanted: string, found: string): never => {
      if (this.#kind.kind === 'Namespace')
        throw conflict(
          subjectOf(this.#kind, name),
          `Precondition failed: ${what} in precondition: ${wanted}, ${what} in object meta: ${found}`,
        );
      throw conflict(
        { ...subjectOf(this.#kind, name), kind: this.#kind.kind },
        `the ${what} in the precondition (${wanted}) does not match the ${what} in record (${found}). The object might have been ${what === 'UID' ? 'deleted and then recreated' : 'modified'}`,
      );
    };
    if (options.uid !== undefined && options.uid !== uid) refuse('UID', options.uid, String(uid));
    if (options.resourceVersion !== undefined && options.resourceVersion !== String(entry.version))
      refuse('ResourceVersion', options.resourceVersion, String(entry.version));
  }

  #deleteGracefully(entry: Entry, options: DeleteOptions, context: WriteContext): Deleted {
    const grace = this.strategy.grace?.(entry.object, options.gracePeriodSeconds) ?? 0;
    const { changes, over } = gracefully(entry.object, options, grace, context.now);
    if (Object.keys(changes).length === 0) return { object: this.served(entry), deleted: false };
    return this.#hold(entry, withMetadata(entry.object, changes), context, over);
  }

  /** Writes the mark of a deletion, and goes on to remove the object when nothing holds it. */
  #hold(entry: Entry, marked: JsonObject, context: WriteContext, thenRemove: boolean): Deleted {
    if (context.dryRun || sameJson(marked, entry.object))
      return { object: this.#view(marked), deleted: thenRemove };
    const held = this.#store.put(this.#kind.storage, marked);
    if (!thenRemove) return { object: this.served(held), deleted: false };
    return this.#remove(held, held.object, context);
  }

  #view(object: JsonObject): JsonObject {
    return this.strategy.fromStorage?.(object) ?? object;
  }

  #remove(entry: Entry, last: JsonObject, context: WriteContext): Deleted {
    if (context.dryRun) return { object: this.served(entry), deleted: true };
    const gone = this.#store.delete(this.#kind.storage, entry.key, last) ?? entry;
    this.strategy.afterDelete?.(last, context);
    return { object: this.served(gone), deleted: true };
  }

  /** Writes what a subresource without a body type of its own changed (binding, eviction): owners stay as they are. */
  put(object: JsonObject, from: JsonObject): JsonObject {
    return this.served(this.#store.put(this.#kind.storage, this.#stored(keepManaged(object, from))));
  }

  get apiVersion(): string {
    return groupVersionOf(this.#kind);
  }
}

/** Whether two versions differ in the times of their owners alone: such a write is none. */
function onlyTimesDiffer(a: JsonObject, b: JsonObject): boolean {
  const timeless = (object: JsonObject): JsonObject =>
    withMetadata(object, {
      managedFields: listAt(objectAt(object, 'metadata'), 'managedFields').map((entry) => {
        const { time: _time, ...rest } = entry as JsonObject;
        return rest;
      }),
    });
  return sameJson(timeless(a), timeless(b));
}
