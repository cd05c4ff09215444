import {
  type JsonObject,
  objectAt,
  objectsAt,
  sameJson,
  stringAt,
  withMetadata,
} from '../apimachinery/json.ts';

const told = (when: string, uids: readonly string[]): string =>
  `.metadata.ownerReferences contains duplicate entries${when}; API server dedups owner references in 1.20+, and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: ${uids.join(', ')}`;

/**
 * The object with each of its owners once; that some were there again is a warning. Follows apiserver `dedupOwnerReferences`.
 *
 * @param patched made by a patch: such an object is looked at after admission alone, and its warning says so
 */
export function withoutRepeatedOwners(object: JsonObject, warnings: string[], patched = false): JsonObject {
  const owners = objectsAt(objectAt(object, 'metadata'), 'ownerReferences');
  const isRepeated = (owner: JsonObject, i: number): boolean =>
    owners.findIndex((other) => sameJson(other, owner)) < i;
  const again = owners.filter(isRepeated);
  if (again.length === 0) return object;
  const uids = again.map((owner) => stringAt(owner, 'uid'));
  warnings.push(told(patched ? ' after mutating admission happens' : '', uids));
  return withMetadata(object, { ownerReferences: owners.filter((owner, i) => !isRepeated(owner, i)) });
}
