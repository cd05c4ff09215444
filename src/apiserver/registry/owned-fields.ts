import type { Shape } from '../../apimachinery/api-types.ts';
import { type JsonObject, withMetadata } from '../../apimachinery/json.ts';
import {
  manageUpdate,
  type ResetFields,
  type Writer,
} from '../../apimachinery/managed-fields/managed-fields.ts';
import { manageScale } from '../../apimachinery/managed-fields/scale-owners.ts';
import type { WriteContext } from '../request/write-context.ts';
import { withRequiredEmpties } from './empties.ts';

/** An update of an object, or of a part of it. */
interface Update {
  /** Where the replicas stand that a scale changes; absent for all other writes. */
  readonly replicas: readonly string[] | undefined;
  readonly writer: Writer;
  readonly reset: ResetFields;
  readonly type: string | Shape;
}

/** Returns an object with the owners of its fields after an update. */
export function ownedAfterUpdate(
  old: JsonObject,
  whole: JsonObject,
  { replicas, writer, reset, type }: Update,
  { now, empties, isOtherKind = false }: WriteContext,
): JsonObject {
  if (isOtherKind) return withMetadata(whole, { managedFields: undefined });
  if (replicas) return manageScale(old, whole, replicas, writer);
  const forget = empties?.has('metadata.managedFields') ?? false;
  return manageUpdate(old, withRequiredEmpties(whole, empties), type, { writer, now, reset, forget });
}
