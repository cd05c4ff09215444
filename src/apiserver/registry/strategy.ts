import type { DeleteOptions } from './deletion.ts';
import type { JsonObject } from '../../apimachinery/json.ts';
import type { Kind } from '../../apimachinery/kinds.ts';
import type { ResetFields } from '../../apimachinery/managed-fields/managed-fields.ts';
import type { FieldFault } from '../../apimachinery/status-error.ts';
import type { Printer } from '../printers/table-printer.ts';
import type { WriteContext } from '../request/write-context.ts';

/** UpdateRules says what an update of a (sub)resource may change and must check. */
export interface UpdateRules {
  /** Restores what this (sub)resource may not change, and increments the generation when the spec changed. */
  prepare(object: JsonObject, old: JsonObject, context: WriteContext): JsonObject;
  validate?(object: JsonObject, old: JsonObject, context: WriteContext): readonly FieldFault[];
  /** Whether `validate` checks the metadata itself; for others the registry reports its faults a second time. */
  readonly validatesMetadata?: boolean;
  /** Returns warnings about a valid change. */
  warnings?(object: JsonObject, old: JsonObject): readonly string[];
  /** Allocates addresses and ports for the change. @throws {StatusError} */
  allocate?(object: JsonObject, old: JsonObject, context: WriteContext): JsonObject;
  readonly reset: ResetFields;
}

/** Conversion converts objects by a webhook, ahead of the synchronous steps of a request. */
export interface Conversion {
  /** Converts stored objects, so that `fromStorage` returns them; repeats for those that have changed meanwhile. @throws {StatusError} */
  load(objects: () => readonly JsonObject[]): Promise<void>;
  /** Converts an object that is to be stored, so that `toStorage` returns it, and what is read back from that. @throws {StatusError} */
  prepare(served: JsonObject): Promise<void>;
}

/** Strategy holds the rules of a kind; absent members mean the common rules. */
export interface Strategy {
  readonly kind: Kind;
  /** Sets defaults, on create and on update. */
  defaults(object: JsonObject): JsonObject;
  /** Sets defaults in what an apply has merged. Default: as above. */
  appliedDefaults?(object: JsonObject): JsonObject;
  prepareCreate(object: JsonObject, context: WriteContext): JsonObject;
  /** Allocates addresses and ports for a new object. @throws {StatusError} */
  allocate?(object: JsonObject, context: WriteContext): JsonObject;
  validateCreate(object: JsonObject, context: WriteContext): readonly FieldFault[];
  /** Side effects that precede the storing of a new or changed object; there are none with dry run. */
  beforeStore?(object: JsonObject, context: WriteContext): void;
  /** Returns warnings about a valid new object. */
  warnings?(object: JsonObject): readonly string[];
  /** The group in validation errors, if it is not the kind's own. */
  readonly faultGroup?: string;
  /** Whether `validateCreate` checks the metadata itself. */
  readonly validatesMetadata?: boolean;
  /** How objects are shown in tables; absent: as the built-in kind is. */
  readonly printer?: Printer;
  readonly createReset: ResetFields;
  readonly main: UpdateRules;
  readonly subresources: Readonly<Record<string, UpdateRules>>;
  /** Whether PUT or apply may create an object. */
  readonly createOnUpdate: boolean;
  /** Whether PUT without a resourceVersion is allowed. */
  readonly unconditionalUpdate: boolean;
  /** Returns the grace period of a deletion in seconds; absent: the kind is deleted at once. */
  grace?(object: JsonObject, requested: number | undefined): number;
  /** Whether a DELETE without a propagation policy orphans the dependents. Default false. */
  readonly orphansDependents?: boolean;
  /** Warning of a DELETE without a propagation policy. */
  readonly deleteWarning?: string;
  /** Whether DELETE returns the object. */
  readonly deleteReturnsObject: boolean;
  /** Rejects a deletion by throwing. */
  checkDelete?(object: JsonObject, context: WriteContext): void;
  /** Side effects of a deletion; for namespaces they are the deletion. */
  beginDelete?(object: JsonObject, options: DeleteOptions, context: WriteContext): JsonObject;
  afterDelete?(object: JsonObject, context: WriteContext): void;
  /** Converts to the stored form, where it differs from the served one. */
  toStorage?(object: JsonObject): JsonObject;
  fromStorage?(object: JsonObject): JsonObject;
  /** Returns a stored object as the internal version has it, where that has other metadata than the served form: views show it. */
  internal?(object: JsonObject): JsonObject;
  /** What has to be converted before `toStorage` and `fromStorage`; absent: nothing. */
  readonly conversion?: Conversion;
  /** False for a stored object of an old version, which any update writes anew; absent: there are none. */
  isCurrent?(stored: JsonObject): boolean;
}
