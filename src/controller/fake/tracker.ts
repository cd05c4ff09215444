import type { Clock } from '../../base/clock.ts';
import type { Random } from '../../base/random.ts';
import {
  type JsonObject,
  listAt,
  metadataOf,
  nameOf,
  namespaceOf,
  objectAt,
  stringAt,
  without,
  withMetadata,
} from '../../apimachinery/json.ts';
import { manageApply, manageUpdate, type Writer } from '../../apimachinery/managed-fields/managed-fields.ts';
import {
  alreadyExists,
  badRequest,
  conflict,
  fault,
  invalid,
  modified,
  notFound,
  type Subject,
} from '../../apimachinery/status-error.ts';
import { seconds } from '../../apimachinery/times.ts';
import { cloneJson } from '../json-value.ts';
import { apiVersionOf, kindKey } from '../kinds.ts';
import type { DeleteOptions, Kind } from '../types.ts';
import { allowsCreateOnUpdate, allowsUnconditionalUpdate, shapeOf } from './update-rules.ts';

/** A change of the tracker's objects. */
export interface TrackedChange {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly kind: Kind;
  readonly object: JsonObject;
}

/** How an object is written. */
export interface TrackedWrite {
  /** The owner of the fields. */
  readonly owner: string;
  readonly dryRun: boolean;
  /** `status`, or another subresource that changes the object. */
  readonly subresource?: string;
  /** Whether a missing version counts as the stored one, whatever the kind: for patches. */
  readonly patch?: boolean;
}

/** Version of objects that are there from the start, as in controller-runtime's fake. */
const firstVersion = '999';
/** Attempts to generate a name that is free. */
const nameAttempts = 7;
/** Maximum length of the prefix of a generated name. */
const longestPrefix = 58;
const suffixLetters = 'bcdfghjklmnpqrstvwxz2456789';

/**
 * Tracker stores objects by the rules of the API server that controllers rely on: versions, finalizers, owners of fields and the separation
 * of the status. Stored objects are never modified; they and what callers pass are copied.
 */
export class Tracker {
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #withStatus: (kind: Kind) => boolean;
  readonly #objects = new Map<string, Map<string, JsonObject>>();
  readonly #listeners = new Set<(change: TrackedChange) => void>();

  constructor(deps: {
    readonly clock: Clock;
    readonly random: Random;
    readonly withStatus: (kind: Kind) => boolean;
  }) {
    this.#clock = deps.clock;
    this.#random = deps.random;
    this.#withStatus = deps.withStatus;
  }

  /** Adds an object as it is. @throws {StatusError} for one that is being deleted and has no finalizers */
  add(kind: Kind, object: JsonObject): void {
    const metadata = metadataOf(object);
    if (isDeleting(object) && listAt(metadata, 'finalizers').length === 0)
      throw badRequest(
        `refusing to create obj ${nameOf(object)} with metadata.deletionTimestamp but no finalizers`,
      );
    const ref = { namespace: namespaceOf(object), name: nameOf(object) };
    if (ref.name === '') throw nameless(kind);
    if (this.#of(kind).has(keyIn(ref))) throw alreadyExists(subjectOf(kind, ref.name));
    const version = stringAt(metadata, 'resourceVersion') || firstVersion;
    this.#store('ADDED', kind, withMetadata(named(kind, object), { resourceVersion: version }));
  }

  /** @throws {StatusError} 404 */
  get(kind: Kind, ref: Ref): JsonObject {
    const object = this.#of(kind).get(keyIn(ref));
    if (!object) throw notFound(subjectOf(kind, ref.name));
    return object;
  }

  /** Returns the objects of a kind in the order of their keys. */
  list(kind: Kind): readonly JsonObject[] {
    return [...this.#of(kind)].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, object]) => object);
  }

  onChange(listener: (change: TrackedChange) => void): () => void {
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
    };
  }

  /** @throws {StatusError} */
  create(kind: Kind, object: JsonObject, write: TrackedWrite): JsonObject {
    const metadata = metadataOf(object);
    if (stringAt(metadata, 'resourceVersion') !== '')
      throw badRequest('resourceVersion can not be set for Create requests');
    const name = nameOf(object) || this.#generated(kind, object);
    const ref = { namespace: namespaceOf(object), name };
    if (this.#of(kind).has(keyIn(ref))) throw alreadyExists(subjectOf(kind, name));
    const fresh = this.#born(kind, withMetadata(object, { name, managedFields: undefined }));
    const managed = manageUpdate(undefined, fresh, shapeOf(kind), this.#at(kind, write));
    return write.dryRun ? managed : this.#store('ADDED', kind, managed);
  }

  /** Replaces an object, or its status only. @throws {StatusError} */
  update(kind: Kind, object: JsonObject, write: TrackedWrite): JsonObject {
    const name = nameOf(object);
    if (name === '') throw nameless(kind);
    const ref = { namespace: namespaceOf(object), name };
    const old = this.#of(kind).get(keyIn(ref));
    if (!old && allowsCreateOnUpdate(kind) && write.subresource === undefined)
      return this.create(kind, withMetadata(object, { resourceVersion: undefined }), write);
    if (!old) throw notFound(subjectOf(kind, name));
    const merged = this.#separated(kind, old, object, write);
    this.#checkVersion(kind, old, merged, write.patch === true);
    checkUnchanged(kind, old, merged);
    const bare = withMetadata(withOldMetadata(merged, old), { managedFields: undefined });
    return this.#replace(kind, old, manageUpdate(old, bare, shapeOf(kind), this.#at(kind, write)), write);
  }

  /** Performs a server-side apply. @throws {StatusError} */
  apply(kind: Kind, config: JsonObject, write: TrackedWrite & { readonly force: boolean }): JsonObject {
    const metadata = metadataOf(config);
    if (listAt(metadata, 'managedFields').length > 0) throw badRequest('metadata.managedFields must be nil');
    const name = nameOf(config);
    if (name === '') throw nameless(kind);
    const old = this.#of(kind).get(keyIn({ namespace: namespaceOf(config), name }));
    if (old) this.#checkVersion(kind, old, config, true);
    if (!old && write.subresource !== undefined) throw notFound(subjectOf(kind, name));
    if (!old && stringAt(metadata, 'uid') !== '')
      throw conflict(
        subjectOf(kind, name),
        `uid mismatch: the provided object specified uid ${stringAt(metadata, 'uid')}, and no existing object was found`,
      );
    const applied = this.#applied(kind, config, write);
    const live = old ?? named(kind, { metadata: { name, namespace: namespaceOf(config) || undefined } });
    const managed = manageApply(cloneJson(live), applied, shapeOf(kind), {
      ...this.#at(kind, write, 'Apply'),
      force: write.force,
      finish: (object) => object,
    });
    if (old) return this.#replace(kind, old, managed, write);
    const fresh = this.#born(kind, managed);
    return write.dryRun ? fresh : this.#store('ADDED', kind, fresh);
  }

  /** Deletes an object, or marks it while it has finalizers. @throws {StatusError} 404, 409 */
  delete(kind: Kind, ref: Ref, options: DeleteOptions = {}): void {
    const old = this.get(kind, ref);
    checkPreconditions(kind, old, options);
    if (options.dryRun === true) return;
    if (listAt(metadataOf(old), 'finalizers').length === 0) {
      this.#remove(kind, old);
      return;
    }
    if (isDeleting(old)) return;
    const marks = { deletionTimestamp: seconds(this.#clock.now()), deletionGracePeriodSeconds: 0 };
    this.#store('MODIFIED', kind, withMetadata(old, { ...marks, resourceVersion: nextVersion(old) }));
  }

  /** Stores a successor, or removes the object when it was being deleted and has lost its last finalizer. */
  #replace(kind: Kind, old: JsonObject, object: JsonObject, { dryRun }: TrackedWrite): JsonObject {
    const successor = withMetadata(object, { resourceVersion: nextVersion(old) });
    if (dryRun) return successor;
    if (isDeleting(old) && listAt(metadataOf(successor), 'finalizers').length === 0) {
      this.#remove(kind, successor);
      return successor;
    }
    return this.#store('MODIFIED', kind, successor);
  }

  /** Returns what a write of the object, or of its status, makes of the stored one. @throws {StatusError} 404 */
  #separated(kind: Kind, old: JsonObject, object: JsonObject, { subresource }: TrackedWrite): JsonObject {
    const isSeparate = this.#withStatus(kind);
    if (subresource === 'status' && !isSeparate) throw notFound(subjectOf(kind, nameOf(object)));
    if (!isSeparate || (subresource !== undefined && subresource !== 'status')) return named(kind, object);
    const [base, status] = subresource === 'status' ? [old, object] : [named(kind, object), old];
    const merged = { ...without(base, 'status'), ...('status' in status && { status: status['status'] }) };
    if (subresource !== 'status') return merged;
    const { resourceVersion } = metadataOf(object);
    return withMetadata(merged, { resourceVersion });
  }

  /** Returns the part of a configuration that an apply may change. */
  #applied(kind: Kind, config: JsonObject, { subresource }: TrackedWrite): JsonObject {
    const isSeparate = this.#withStatus(kind);
    if (subresource === 'status' && !isSeparate) throw notFound(subjectOf(kind, nameOf(config)));
    const unversioned = withMetadata(named(kind, cloneJson(config)), {
      resourceVersion: undefined,
      deletionTimestamp: undefined,
      uid: undefined,
      creationTimestamp: undefined,
    });
    if (subresource !== 'status') return isSeparate ? without(unversioned, 'status') : unversioned;
    const { name, namespace } = metadataOf(unversioned);
    const metadata = { name, ...(namespace !== undefined && { namespace }) };
    const status = unversioned['status'];
    return { ...named(kind, {}), metadata, ...(status !== undefined && { status }) };
  }

  /** @throws {StatusError} 409 */
  #checkVersion(kind: Kind, old: JsonObject, object: JsonObject, lenient: boolean): void {
    const version = stringAt(metadataOf(object), 'resourceVersion');
    if (version === '' && (lenient || allowsUnconditionalUpdate(kind))) return;
    if (version !== stringAt(metadataOf(old), 'resourceVersion'))
      throw modified(subjectOf(kind, nameOf(object)));
  }

  #at(
    kind: Kind,
    { owner, subresource }: TrackedWrite,
    operation: Writer['operation'] = 'Update',
  ): { readonly writer: Writer; readonly now: number; readonly reset: readonly (readonly string[])[] } {
    const writer = {
      manager: owner,
      operation,
      apiVersion: apiVersionOf(kind),
      ...(subresource !== undefined && { subresource }),
    };
    const reset = this.#withStatus(kind) && subresource === undefined ? [['f:status']] : [];
    return { writer, now: this.#clock.now(), reset };
  }

  /** Returns a new object with what the server adds. */
  #born(kind: Kind, object: JsonObject): JsonObject {
    const { uid, creationTimestamp } = metadataOf(object);
    return withMetadata(named(kind, object), {
      deletionTimestamp: undefined,
      resourceVersion: '1',
      uid: uid ?? this.#random.uuid(),
      creationTimestamp: creationTimestamp ?? seconds(this.#clock.now()),
    });
  }

  /** @throws {StatusError} 409 when no name is free, 422 without a prefix */
  #generated(kind: Kind, object: JsonObject): string {
    const prefix = stringAt(metadataOf(object), 'generateName').slice(0, longestPrefix);
    if (prefix === '') throw nameless(kind);
    let name = '';
    for (let attempt = 0; attempt < nameAttempts; attempt++) {
      name = prefix;
      for (let i = 0; i < 5; i++)
        name += suffixLetters.charAt(Math.floor(this.#random.float() * suffixLetters.length));
      if (!this.#of(kind).has(keyIn({ namespace: namespaceOf(object), name }))) return name;
    }
    throw alreadyExists(subjectOf(kind, name));
  }

  #of(kind: Kind): Map<string, JsonObject> {
    const key = kindKey(kind);
    const objects = this.#objects.get(key) ?? new Map<string, JsonObject>();
    this.#objects.set(key, objects);
    return objects;
  }

  #store(type: 'ADDED' | 'MODIFIED', kind: Kind, object: JsonObject): JsonObject {
    const stored = cloneJson(object);
    this.#of(kind).set(keyIn({ namespace: namespaceOf(stored), name: nameOf(stored) }), stored);
    this.#tell({ type, kind, object: stored });
    return stored;
  }

  #remove(kind: Kind, last: JsonObject): void {
    this.#of(kind).delete(keyIn({ namespace: namespaceOf(last), name: nameOf(last) }));
    this.#tell({ type: 'DELETED', kind, object: last });
  }

  #tell(change: TrackedChange): void {
    for (const listener of this.#listeners) listener(change);
  }
}

/** Identifies an object within its kind. */
export interface Ref {
  readonly namespace: string;
  readonly name: string;
}

const keyIn = ({ namespace, name }: Ref): string => `${namespace}/${name}`;

const isDeleting = (object: JsonObject): boolean =>
  ![undefined, null].includes(metadataOf(object)['deletionTimestamp'] as undefined);

const named = (kind: Kind, object: JsonObject): JsonObject => ({
  ...object,
  apiVersion: apiVersionOf(kind),
  kind: kind.kind,
});

const subjectOf = ({ resource, group }: Kind, name: string): Subject => ({
  kind: resource,
  name,
  ...(group !== '' && { group }),
});

const nameless = ({ kind, group }: Kind): Error =>
  invalid(kind, group, '', [fault.required('metadata.name', 'name is required')]);

/** Objects of the start may have any version, also one that is no number. */
const nextVersion = (old: JsonObject): string => {
  const version = stringAt(metadataOf(old), 'resourceVersion');
  return /^\d+$/.test(version) ? String(BigInt(version) + 1n) : `${version}1`;
};

/** Returns the new object with the members of the old metadata that no update changes. */
function withOldMetadata(object: JsonObject, old: JsonObject): JsonObject {
  const { uid, creationTimestamp, namespace } = metadataOf(old);
  return withMetadata(object, { uid, creationTimestamp, namespace });
}

/** @throws {StatusError} 409 for another UID, 422 for another deletion timestamp */
function checkUnchanged(kind: Kind, old: JsonObject, object: JsonObject): void {
  const [before, after] = [metadataOf(old), metadataOf(object)];
  const uid = stringAt(after, 'uid');
  if (uid !== '' && before['uid'] !== undefined && uid !== before['uid'])
    throw conflict(
      subjectOf(kind, nameOf(object)),
      `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${stringAt(before, 'uid')}`,
    );
  if (stringAt(before, 'deletionTimestamp') !== stringAt(after, 'deletionTimestamp'))
    throw invalid(kind.kind, kind.group, nameOf(object), [
      fault.invalid('metadata.deletionTimestamp', after['deletionTimestamp'] ?? null, 'field is immutable'),
    ]);
}

/** @throws {StatusError} 409 */
function checkPreconditions(kind: Kind, old: JsonObject, { preconditions = {} }: DeleteOptions): void {
  const { uid, resourceVersion } = objectAt(old, 'metadata');
  const refuse = (what: string, expected: string, stored: unknown): never => {
    throw conflict(
      subjectOf(kind, nameOf(old)),
      `the ${what} in the precondition (${expected}) does not match the ${what} in record (${String(stored)}). The object might have been ${what === 'UID' ? 'deleted and then recreated' : 'modified'}`,
    );
  };
  if (preconditions.uid !== undefined && preconditions.uid !== uid) refuse('UID', preconditions.uid, uid);
  if (preconditions.resourceVersion !== undefined && preconditions.resourceVersion !== resourceVersion)
    refuse('ResourceVersion', preconditions.resourceVersion, resourceVersion);
}
