import { type JsonObject, sameJson, valueAt } from '../json.ts';
import { difference, type FieldSet, intersection, isEmptySet } from './field-set.ts';
import { type Managed, pathSet, readOwners, sameWriter, type Writer, writeOwners } from './managed-fields.ts';

/** Where a Scale has the replicas. */
const ofScale = ['spec', 'replicas'];
const scaleVersion = 'autoscaling/v1';

const setAt = (path: readonly string[]): FieldSet => pathSet(path.map((key) => `f:${key}`));

const owning =
  (replicas: FieldSet) =>
  ({ set }: Managed): boolean =>
    !isEmptySet(intersection(set, replicas));

/**
 * Returns a scale with the owners of the object's replicas. Follows apimachinery `ScaleHandler.ToSubresource`.
 *
 * @param path where the replicas stand
 */
export function scaleWithOwners(scale: JsonObject, object: JsonObject, path: readonly string[]): JsonObject {
  const owners = readOwners(object)
    .filter(owning(setAt(path)))
    .map((entry) => ({
      ...entry,
      writer: { ...entry.writer, apiVersion: scaleVersion },
      set: setAt(ofScale),
    }));
  return owners.length === 0 ? scale : writeOwners(scale, owners);
}

/**
 * Returns the object with updated owners after an apply of its scale: those who own the replicas of the scale. An applier that had them stays one as long
 * as it owns anything of the scale.
 *
 * @param path where the replicas stand
 */
export function manageAppliedScale(
  live: JsonObject,
  object: JsonObject,
  {
    path,
    scale,
    apiVersion,
  }: { readonly path: readonly string[]; readonly scale: JsonObject; readonly apiVersion: string },
): JsonObject {
  const ofWriters = readOwners(scale);
  const writerOf = ({ writer }: Managed): Writer => writer;
  return withReplicasOf(ofWriters.filter(owning(setAt(ofScale))).map(writerOf), object, {
    managed: readOwners(live),
    staying: ofWriters.map(writerOf),
    replicas: setAt(path),
    apiVersion,
  });
}

/**
 * Returns the object with updated owners after another write of its scale: the replicas belong to the writer if it changed them, and to no manager if
 * they had no owner.
 *
 * @param path where the replicas stand
 */
export function manageScale(
  live: JsonObject,
  object: JsonObject,
  path: readonly string[],
  writer: Writer,
): JsonObject {
  const managed = readOwners(live);
  const replicas = setAt(path);
  const owners = managed.filter(owning(replicas));
  const next = valueAt(object, ...path);
  const isChanged = !sameJson(valueAt(live, ...path), next);
  // a scale without replicas leaves the number out, and what is not there has no owner
  const gaining = owners.length > 0 && next !== 0 ? [writer] : [];
  const writers = isChanged ? gaining : owners.map((entry) => entry.writer);
  return withReplicasOf(writers, object, {
    ...{ managed, replicas },
    staying: writers,
    apiVersion: writer.apiVersion,
  });
}

interface Move {
  /** The owners so far. */
  readonly managed: readonly Managed[];
  /** The appliers that keep the replicas if they had them. */
  readonly staying: readonly Writer[];
  readonly replicas: FieldSet;
  /** The version of the object. */
  readonly apiVersion: string;
}

/**
 * Returns an object whose replicas belong to `writers`. An applier that stays keeps its entry. Whoever had the replicas by an update has them in an
 * entry without a time from then on, beside its other fields. Follows apimachinery `ScaleHandler.ToParent`.
 */
function withReplicasOf(
  writers: readonly Writer[],
  object: JsonObject,
  { managed, staying, replicas, apiVersion }: Move,
): JsonObject {
  const isOwner = owning(replicas);
  const stays = (entry: Managed): boolean =>
    isOwner(entry) &&
    entry.writer.operation === 'Apply' &&
    staying.some((one) => sameWriter(one, entry.writer));
  const rest = managed.map((entry) =>
    isOwner(entry) && !stays(entry) ? { ...entry, set: difference(entry.set, replicas) } : entry,
  );
  const taken = writers
    .filter((one) => !managed.some((entry) => stays(entry) && sameWriter(entry.writer, one)))
    .map((one) => ({ writer: { ...one, apiVersion }, time: '', set: replicas }));
  return writeOwners(object, [...rest, ...taken]);
}
