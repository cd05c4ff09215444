import type { DeleteOptions } from './deletion.ts';
import type { JsonObject } from '../../apimachinery/json.ts';
import type { Kind } from '../../apimachinery/kinds.ts';
import type { ResetFields } from '../../apimachinery/managed-fields/managed-fields.ts';
import type { FieldFault } from '../../apimachinery/status-error.ts';
import type { WriteContext } from '../request/write-context.ts';

/** What one door to a kind (the main resource or a subresource) may change and must check. */
export interface UpdateRules {
  /** Puts back what this door may not change, and raises the generation where the spec changed. */
  prepare(object: JsonObject, old: JsonObject, context: WriteContext): JsonObject;
  validate?(object: JsonObject, old: JsonObject, context: WriteContext): readonly FieldFault[];
  /** `validate` checks the metadata's update itself; for others the registry names its faults a second time. */
  readonly validatesMetadata?: boolean;
  /** What is told to the client of a change that is right. */
  warnings?(object: JsonObject, old: JsonObject): readonly string[];
  /** Takes what the change needs from the server's stock: addresses and ports. @throws {StatusError} */
  allocate?(object: JsonObject, old: JsonObject, context: WriteContext): JsonObject;
  readonly reset: ResetFields;
}

/** What is special about a kind; all that is absent is as for every kind. */
export interface Strategy {
  readonly kind: Kind;
  /** Fills in what was left out, on create and on update. */
  defaults(object: JsonObject): JsonObject;
  prepareCreate(object: JsonObject, context: WriteContext): JsonObject;
  /** Takes what a new object needs from the server's stock: addresses and ports. @throws {StatusError} */
  allocate?(object: JsonObject, context: WriteContext): JsonObject;
  validateCreate(object: JsonObject, context: WriteContext): readonly FieldFault[];
  /** What is told to the client of a new object that is right. */
  warnings?(object: JsonObject): readonly string[];
  /** The group that validation errors name, where that is not the kind's own. */
  readonly faultGroup?: string;
  /** `validateCreate` looks at the metadata itself. */
  readonly validatesMetadata?: boolean;
  readonly createReset: ResetFields;
  readonly main: UpdateRules;
  readonly subresources: Readonly<Record<string, UpdateRules>>;
  /** May be created by PUT or apply on a name that is not there. */
  readonly createOnUpdate: boolean;
  /** PUT without a resourceVersion is allowed. */
  readonly unconditionalUpdate: boolean;
  /** Grace seconds of a deletion; `undefined`: the kind is deleted at once. */
  grace?(object: JsonObject, wanted: number | undefined): number;
  /** DELETE answers with the object. */
  readonly deleteReturnsObject: boolean;
  /** Refuses a deletion by throwing. */
  checkDelete?(object: JsonObject, context: WriteContext): void;
  /** What a deletion does besides; for namespaces that is all. */
  beginDelete?(object: JsonObject, options: DeleteOptions, context: WriteContext): JsonObject;
  afterDelete?(object: JsonObject, context: WriteContext): void;
  /** Form that is stored, where it differs from the one that is served. */
  toStorage?(object: JsonObject): JsonObject;
  fromStorage?(object: JsonObject): JsonObject;
}
