import { ownMember } from '../../../base/own.ts';
import {
  isObject,
  type JsonObject,
  metadataOf,
  objectAt,
  objectsAt,
  stringAt,
  withMetadata,
} from '../../../apimachinery/json.ts';
import { manageApply, sortedOwners } from '../../../apimachinery/managed-fields/managed-fields.ts';
import { scaleKind, scaleOf, type ScaleView, withOwners } from './scale-object.ts';

/** Who applies a scale, and how. */
export interface ScaleWriter {
  readonly manager: string;
  readonly view: ScaleView;
  /** The version of the object. */
  readonly apiVersion: string;
  readonly now: number;
  readonly force: boolean;
}

const ofScale = ['f:spec', 'f:replicas'];

const entriesOf = (object: JsonObject): readonly JsonObject[] =>
  objectsAt(metadataOf(object), 'managedFields');

/** Reports whether a set of fields (`fieldsV1`) has a field. */
function owns(fields: unknown, [key, ...rest]: readonly string[]): boolean {
  if (!isObject(fields)) return false;
  if (key !== undefined) return owns(ownMember(fields, key), rest);
  return Object.keys(fields).length === 0 || Object.hasOwn(fields, '.');
}

const fieldOf = (path: readonly string[]): JsonObject =>
  path.reduceRight<JsonObject>((inner, key) => ({ [key]: inner }), {});

/** Returns a set of fields without a field; undefined when nothing is left. */
function without(fields: JsonObject, [key = '', ...rest]: readonly string[]): JsonObject | undefined {
  const { [key]: inner, ...others } = fields;
  const left = rest.length === 0 || !isObject(inner) ? undefined : without(inner, rest);
  const all = left === undefined ? others : { ...others, [key]: left };
  return Object.keys(all).length === 0 ? undefined : all;
}

/** Returns what tells the entries of managers apart; that of an applier has any version. */
const identityOf = (entry: JsonObject): string =>
  ['manager', 'operation', 'subresource', ...(entry['operation'] === 'Apply' ? [] : ['apiVersion'])]
    .map((key) => stringAt(entry, key))
    .join('\n');

/**
 * Returns an object with its owners before a change of its scale, as the owners of the scale changed: who is new has no time. Follows managedfields
 * `ScaleHandler.ToParent`.
 */
function ownedAs(object: JsonObject, old: JsonObject, scale: JsonObject, writer: ScaleWriter): JsonObject {
  const path = writer.view.spec.map((key) => `f:${key}`);
  const left = new Map(entriesOf(scale).map((entry) => [identityOf(entry), entry]));
  const standing = entriesOf(old).flatMap((entry) => {
    if (!owns(entry['fieldsV1'], path) || left.delete(identityOf(entry))) return [entry];
    const fieldsV1 = without(objectAt(entry, 'fieldsV1'), path);
    return fieldsV1 ? [{ ...entry, fieldsV1 }] : [];
  });
  const added = [...left.values()]
    .filter((entry) => owns(entry['fieldsV1'], ofScale))
    .map(({ time: _time, ...entry }) => ({
      ...entry,
      apiVersion: writer.apiVersion,
      fieldsV1: fieldOf(path),
    }));
  const entries = [...standing, ...added];
  return sortedOwners(withMetadata(object, { managedFields: entries.length > 0 ? entries : undefined }));
}

/** An applied scale, and its object with the owners after that. */
export interface AppliedScale {
  readonly scale: JsonObject;
  readonly owned: (object: JsonObject) => JsonObject;
}

/** Applies a scale to that of an object. @throws {StatusError} 409 when others own the replicas and it is not forced */
export function appliedScale(old: JsonObject, config: JsonObject, writer: ScaleWriter): AppliedScale {
  const { manager, now, force, view } = writer;
  const scale = manageApply(withOwners(scaleOf(old, view), old, view), config, scaleKind.type, {
    writer: { manager, operation: 'Apply', apiVersion: 'autoscaling/v1', subresource: 'scale' },
    now,
    force,
    reset: [],
    finish: (merged) => merged,
  });
  return { scale, owned: (object) => ownedAs(object, old, scale, writer) };
}
