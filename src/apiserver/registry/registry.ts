import type { Shape } from '../../apimachinery/api-types.ts';
import { DecodeError } from '../../apimachinery/serializer/codec.ts';
import { conversionOf, squeezed } from '../../apimachinery/unstructured.ts';
import { ownMember } from '../../base/own.ts';
import {
  type JsonObject,
  nameOf,
  namespaceOf,
  objectAt,
  sameJson,
  stringAt,
  valueAt,
  withMetadata,
} from '../../apimachinery/json.ts';
import { type DeleteOptions, isFree } from './deletion.ts';
import { withRequiredEmpties } from './empties.ts';
import { decodeKind, groupVersionOf, type Kind, shapeOf } from '../../apimachinery/kinds.ts';
import {
  addApplied,
  keepManaged,
  manageApply,
  manageUpdate,
  onlyTimesDiffer,
  type Writer,
} from '../../apimachinery/managed-fields/managed-fields.ts';
import {
  commonMetadata,
  commonMetadataUpdate,
  validateMetadata,
  validateMetadataUpdate,
} from './metadata-rules.ts';
import { ownedAfterUpdate } from './owned-fields.ts';
import { checkKey, checkVersion, unparsed, withoutServerFields } from './write-checks.ts';
import { type PendingWrite, performed, type Written } from './pending-write.ts';
import { type Deleted, type PendingDelete, Remover, subjectOf } from './removal.ts';
import {
  alreadyExists,
  conflict,
  type FieldFault,
  invalid,
  notFound,
  StatusError,
} from '../../apimachinery/status-error.ts';
import { type Entry, keyOf, type Store } from '../storage/store.ts';
import type { Strategy, UpdateRules } from './strategy.ts';
import type { WriteContext } from '../request/write-context.ts';
import { longestPrefix, randomSuffix } from '../storage/names.ts';
import { seconds } from '../../apimachinery/times.ts';

/** How many names are generated at most for an object until one is free. */
const nameAttempts = 8;

/** What an update replaces, and its rules. */
interface Replacement {
  readonly entry: Entry;
  readonly old: JsonObject;
  readonly name: string;
  readonly rules: UpdateRules;
}

/** The namespace, name and subresource of a write. */
export interface Place {
  readonly namespace: string;
  readonly name: string;
  readonly subresource: string;
  /** Where the replicas of a scale stand; absent for all other writes. */
  readonly replicas?: readonly string[];
}

/**
 * Registry writes objects of one kind by its rules: defaults, owners, preparation, validation, store. The `begin` methods allow admission
 * in between; `create`, `update` and `delete` are for the server itself and skip it. Acknowledge a write only after `store.settled()`.
 */
export class Registry {
  readonly strategy: Strategy;
  readonly #store: Store;
  readonly #remover: Remover;

  constructor(strategy: Strategy, store: Store) {
    this.strategy = strategy;
    this.#store = store;
    this.#remover = new Remover(strategy, store);
  }

  /** The type of the kind's objects: its name, or its shape. */
  get #type(): string | Shape {
    return this.#kind.custom ? shapeOf(this.#kind) : this.#kind.type;
  }

  get #kind(): Kind {
    return this.strategy.kind;
  }

  /** Returns the stored entry. @throws {StatusError} 404 */
  entry(namespace: string, name: string): Entry {
    checkKey(this.#kind, namespace, name);
    const entry = this.#store.get(this.#kind.storage, this.#key(namespace, name));
    if (!entry) throw notFound(subjectOf(this.#kind, name));
    return entry;
  }

  /** Returns the entry that is stored and served as just this object; `undefined` when there is none. */
  entryServedAs(object: JsonObject): Entry | undefined {
    const entry = this.#store.get(this.#kind.storage, this.#key(namespaceOf(object), nameOf(object)));
    return entry?.object === object ? entry : undefined;
  }

  #key(namespace: string, name: string): string {
    return keyOf(this.#kind.namespaced ? namespace : '', name);
  }

  /** Returns the object in the form that this version serves. */
  served(entry: Entry): JsonObject {
    return this.strategy.fromStorage?.(entry.object) ?? entry.object;
  }

  /** Converts the stored object of a request ahead, where that takes a webhook. @throws {StatusError} */
  async load(namespace: string, name: string): Promise<void> {
    await this.strategy.conversion?.load(() => {
      const entry = this.#store.get(this.#kind.storage, this.#key(namespace, name));
      return entry ? [entry.object] : [];
    });
  }

  /** Creates an object without admission. @throws {StatusError} */
  create(namespace: string, original: JsonObject, writer: Writer, context: WriteContext): JsonObject {
    return performed(this.beginCreate({ namespace }, original, writer, context)).object;
  }

  /**
   * Creates a valid object of the server's own: without admission and without validation.
   *
   * @param status the status that another manager applies at once
   * @throws {StatusError}
   */
  createOwn(
    object: JsonObject,
    writer: Writer,
    context: WriteContext,
    status?: { readonly status: JsonObject; readonly writer: Writer },
  ): JsonObject {
    const owned = this.#owned(namespaceOf(object), object, writer, context);
    const write = this.#creation(owned, context, { isValid: true });
    if (!status) return performed(write).object;
    const finish = (admitted: JsonObject): JsonObject => {
      const finished = { ...write.finish(admitted), status: status.status };
      return addApplied(finished, { status: status.status }, this.#type, { ...status, now: context.now });
    };
    return performed({ ...write, finish }).object;
  }

  /**
   * Begins to create an object.
   *
   * @param at.byUpdate a PUT creates it, which may have a resource version
   * @throws {StatusError} 500 for a PUT with a version that is no number
   */
  beginCreate(
    { namespace, byUpdate = false }: { readonly namespace: string; readonly byUpdate?: boolean },
    original: JsonObject,
    writer: Writer,
    context: WriteContext,
  ): PendingWrite {
    const object = this.#owned(namespace, original, writer, context);
    const version = stringAt(objectAt(original, 'metadata'), 'resourceVersion');
    if (byUpdate && !/^\d*$/.test(version)) throw unparsed(version);
    return this.#creation(object, context, { version, mayBeVersioned: byUpdate });
  }

  /** Returns a new object with its defaults and the owner of its fields. */
  #owned(namespace: string, original: JsonObject, writer: Writer, context: WriteContext): JsonObject {
    const bare = this.#bare(this.strategy.defaults(original), namespace);
    const managed = manageUpdate(undefined, withRequiredEmpties(bare, context.empties), this.#type, {
      writer,
      now: context.now,
      reset: this.strategy.createReset,
    });
    return keepManaged(bare, managed);
  }

  #creation(
    object: JsonObject,
    context: WriteContext,
    {
      version = '',
      mayBeVersioned = false,
      orUpdate = false,
      isValid = false,
    }: {
      readonly version?: string;
      readonly mayBeVersioned?: boolean;
      readonly orUpdate?: boolean;
      readonly isValid?: boolean;
    },
  ): PendingWrite {
    let allocatedAt = 0;
    return {
      operation: 'CREATE',
      object,
      finish: (admitted) => {
        const prepared = this.strategy.prepareCreate(this.#identified(admitted, context), context);
        const finished = this.strategy.allocate?.(prepared, context) ?? prepared;
        allocatedAt = this.#store.version;
        if (!isValid) this.#judgeNew(finished, context);
        return finished;
      },
      commit: (finished, effects) => {
        if (!mayBeVersioned && !context.dryRun && /^\d*[1-9]\d*$/.test(version))
          throw new StatusError(500, '', 'resourceVersion should not be set on objects to be created');
        const key = keyOf(namespaceOf(finished), nameOf(finished));
        const standing = this.#store.get(this.#kind.storage, key);
        if (standing && orUpdate) return undefined;
        if (standing)
          throw alreadyExists(subjectOf(this.#kind, nameOf(finished)), {
            isDeleted: valueAt(standing.object, 'metadata', 'deletionTimestamp') !== undefined,
            isGenerated: stringAt(objectAt(finished, 'metadata'), 'generateName') !== '',
          });
        if (context.dryRun)
          return {
            object: withMetadata(finished, { resourceVersion: version || undefined }),
            created: true,
          };
        // allocated addresses may be in use by now
        if (allocatedAt !== this.#store.version) this.strategy.allocate?.(finished, context);
        effects?.();
        return { object: this.#put(finished, context), created: true };
      },
    };
  }

  #bare(object: JsonObject, namespace: string): JsonObject {
    return withoutServerFields(object, this.#kind.namespaced ? namespace : undefined);
  }

  /** Returns a new object with its name, UID and creation time. */
  #identified(object: JsonObject, context: WriteContext): JsonObject {
    const metadata = objectAt(object, 'metadata');
    const prefix = stringAt(metadata, 'generateName');
    const name =
      stringAt(metadata, 'name') || (prefix && this.#generate(prefix, namespaceOf(object), context));
    return withMetadata(object, {
      ...(name && { name }),
      uid: context.world.random.uuid(),
      creationTimestamp: seconds(context.now),
    });
  }

  /** Returns a name with the prefix that no object has, as far as a few attempts find one. */
  #generate(prefix: string, namespace: string, { world }: WriteContext): string {
    let name = '';
    for (let attempt = 0; attempt < nameAttempts; attempt++) {
      name = prefix.slice(0, longestPrefix) + randomSuffix(world.random);
      if (!this.#store.get(this.#kind.storage, this.#key(namespace, name))) break;
    }
    return name;
  }

  /** @throws {StatusError} 422 for an invalid new object */
  #judgeNew(object: JsonObject, context: WriteContext): void {
    const own = this.strategy.validatesMetadata ? [] : validateMetadata(object, this.#kind);
    this.#refuse(object, [...own, ...this.strategy.validateCreate(object, context)]);
    if (this.strategy.validatesMetadata) this.#refuse(object, commonMetadata(object, this.#kind));
    context.warnings.push(...(this.strategy.warnings?.(object) ?? []));
  }

  #put(object: JsonObject, context: WriteContext): JsonObject {
    this.strategy.beforeStore?.(object, context);
    return this.served(this.#store.put(this.#kind.storage, this.#stored(object)));
  }

  #stored(object: JsonObject): JsonObject {
    const { apiVersion: _a, kind: _k, ...rest } = object;
    return this.strategy.toStorage?.(rest) ?? rest;
  }

  #refuse(object: JsonObject, faults: readonly FieldFault[]): void {
    if (faults.length > 0)
      throw invalid(this.#kind.kind, this.strategy.faultGroup ?? this.#kind.group, nameOf(object), faults);
  }

  rulesOf(subresource: string): UpdateRules {
    return ownMember(this.strategy.subresources, subresource) ?? this.strategy.main;
  }

  /** Replaces an object without admission. @throws {StatusError} */
  update(
    at: Place,
    change: (standing: JsonObject) => JsonObject,
    writer: Writer,
    context: WriteContext,
  ): Written {
    return performed(this.beginUpdate(at, change, writer, context));
  }

  /** Begins to replace an object by the result of `change`. @throws {StatusError} */
  beginUpdate(
    at: Place,
    change: (standing: JsonObject) => JsonObject,
    writer: Writer,
    context: WriteContext,
  ): PendingWrite {
    const entry = this.entry(at.namespace, at.name);
    const old = this.served(entry);
    const rules = this.rulesOf(at.subresource);
    const whole = this.#whole(change(old), old);
    const managed = ownedAfterUpdate(
      old,
      whole,
      { replicas: at.replicas, writer, reset: rules.reset, type: this.#type },
      context,
    );
    const object = keepManaged(whole, managed);
    return this.#replacement(object, { entry, old, name: at.name, rules }, context);
  }

  /** Returns the client's object with the server-set fields. */
  #whole(
    changed: JsonObject,
    old: JsonObject,
    defaults: (object: JsonObject) => JsonObject = (object) => this.strategy.defaults(object),
  ): JsonObject {
    const before = objectAt(old, 'metadata');
    const metadata = objectAt(changed, 'metadata');
    return withMetadata(defaults(changed), {
      namespace: metadata['namespace'] ?? before['namespace'],
      uid: metadata['uid'] ?? before['uid'],
      creationTimestamp: before['creationTimestamp'],
      deletionTimestamp: before['deletionTimestamp'] ?? metadata['deletionTimestamp'],
      deletionGracePeriodSeconds:
        metadata['deletionGracePeriodSeconds'] ?? before['deletionGracePeriodSeconds'],
      selfLink: undefined,
      generation: before['generation'],
    });
  }

  #replacement(
    object: JsonObject,
    { entry, old, name, rules }: Replacement,
    context: WriteContext,
  ): PendingWrite {
    return {
      operation: 'UPDATE',
      object,
      old,
      finish: (admitted) => {
        checkVersion(admitted, old, name, this.strategy);
        const prepared = rules.prepare(admitted, old, context);
        const next = rules.allocate?.(prepared, old, context) ?? prepared;
        const finished = withMetadata(next, { resourceVersion: valueAt(old, 'metadata', 'resourceVersion') });
        this.#refuse(next, this.#updateFaults(finished, old, rules, context));
        context.warnings.push(...(rules.warnings?.(finished, old) ?? []));
        return finished;
      },
      commit: (finished, effects) => {
        if (this.#store.get(this.#kind.storage, entry.key) !== entry) return undefined;
        return { object: this.#replace(entry, finished, context, effects), created: false };
      },
    };
  }

  #replace(entry: Entry, next: JsonObject, context: WriteContext, effects?: () => void): JsonObject {
    const old = this.served(entry);
    const isCurrent = this.strategy.isCurrent?.(entry.object) ?? true;
    if (isCurrent && (sameJson(next, old) || onlyTimesDiffer(next, old))) return old;
    if (context.dryRun) return next;
    effects?.();
    if (!isFree(next)) return this.#put(next, context);
    this.strategy.afterDelete?.(next, context);
    // the deletion event has the object as it was last stored
    this.#store.delete(this.#kind.storage, entry.key, entry.object);
    return next;
  }

  /**
   * Validates an update. The API server checks metadata once for every kind and again by the kind's own rules: the causes repeat each
   * fault.
   */
  #updateFaults(
    object: JsonObject,
    old: JsonObject,
    rules: UpdateRules,
    context: WriteContext,
  ): readonly FieldFault[] {
    const common = [...commonMetadata(object, this.#kind), ...commonMetadataUpdate(object, old)];
    const { main, validatesMetadata } = this.strategy;
    const whole = rules === main && !validatesMetadata ? validateMetadata(object, this.#kind) : [];
    const own = rules.validatesMetadata ? [] : [...validateMetadataUpdate(object, old, this.#kind), ...whole];
    return [...common, ...own, ...(rules.validate?.(object, old, context) ?? [])];
  }

  /** Applies without admission. @throws {StatusError} */
  apply(
    at: Place & { readonly force: boolean },
    config: JsonObject,
    writer: Writer,
    context: WriteContext,
  ): Written {
    return performed(this.beginApply(at, config, writer, context));
  }

  /** Begins a server-side apply, which changes or creates an object. @throws {StatusError} @throws {DecodeError} */
  beginApply(
    at: Place & { readonly force: boolean },
    config: JsonObject,
    writer: Writer,
    context: WriteContext,
  ): PendingWrite {
    const entry = this.#store.get(this.#kind.storage, this.#key(at.namespace, at.name));
    const rules = this.rulesOf(at.subresource);
    const subject = subjectOf(this.#kind, at.name);
    const common = { writer, now: context.now, force: at.force, subject };
    if (!entry) {
      if (at.subresource) throw notFound(subject);
      const object = manageApply({}, withMetadata(config, { name: at.name }), this.#type, {
        ...common,
        reset: this.strategy.createReset,
        finish: (merged) => this.#bare(this.#appliedDefaults(this.#converted(merged)), at.namespace),
      });
      const uid = stringAt(objectAt(config, 'metadata'), 'uid');
      if (uid)
        throw conflict(
          subject,
          `uid mismatch: the provided object specified uid ${uid}, and no existing object was found`,
        );
      return this.#creation(object, context, { orUpdate: true });
    }
    const old = this.served(entry);
    const object = manageApply(old, config, this.#type, {
      ...common,
      reset: rules.reset,
      finish: (merged) =>
        this.#whole(this.#converted(merged), old, (object) => this.#appliedDefaults(object)),
    });
    return this.#replacement(object, { entry, old, name: at.name, rules }, context);
  }

  #appliedDefaults(object: JsonObject): JsonObject {
    return this.strategy.appliedDefaults?.(object) ?? this.strategy.defaults(object);
  }

  /** Returns a merged object in Go's normal form, with the messages of Go's converter. @throws {DecodeError} */
  #converted(merged: JsonObject): JsonObject {
    const { custom, type } = this.#kind;
    if (custom) return this.decode(merged);
    const { fault } = conversionOf(merged, type);
    if (fault !== undefined) throw new DecodeError(fault);
    return this.decode(squeezed(merged, type));
  }

  /** Returns the object in Go's normal form. @throws {DecodeError} */
  decode(object: JsonObject): JsonObject {
    const { apiVersion: _a, kind: _k, ...rest } = decodeKind(this.#kind, object).object;
    return rest;
  }

  /** Deletes an object by the kind's rules, without admission. @throws {StatusError} */
  delete(namespace: string, name: string, options: DeleteOptions, context: WriteContext): Deleted {
    return this.#remover.delete(this.entry(namespace, name), options, context);
  }

  /** Begins to delete an object. @throws {StatusError} 404; 409 when a precondition on UID or version fails */
  beginDelete(namespace: string, name: string, options: DeleteOptions, context: WriteContext): PendingDelete {
    const entry = this.entry(namespace, name);
    this.#remover.checkPreconditions(entry, options);
    return {
      old: this.served(entry),
      commit: () =>
        this.#store.get(this.#kind.storage, entry.key) === entry
          ? this.#remover.delete(entry, options, context)
          : undefined,
    };
  }

  /** Writes what a subresource without a body type of its own changed (binding, eviction): field owners stay unchanged. */
  put(object: JsonObject, from: JsonObject): JsonObject {
    return this.served(this.#store.put(this.#kind.storage, this.#stored(keepManaged(object, from))));
  }

  get apiVersion(): string {
    return groupVersionOf(this.#kind);
  }
}
