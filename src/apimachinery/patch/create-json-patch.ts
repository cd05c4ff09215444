import { ownMember } from '../../base/own.ts';
import { isObject, type JsonObject, sameJson } from '../json.ts';

/** One operation of a JSON patch (RFC 6902). */
export interface JsonPatchOperation {
  readonly op: 'add' | 'remove' | 'replace' | 'move' | 'copy' | 'test';
  /** JSON pointer (RFC 6901). */
  readonly path: string;
  /** Only with `move` and `copy`. */
  readonly from?: string;
  readonly value?: unknown;
}

/** Returns the JSON patch that makes `modified` of `original`. Members that are `undefined` count as absent, dates as their text. */
export function createJsonPatch(original: JsonObject, modified: JsonObject): JsonPatchOperation[] {
  const steps: JsonPatchOperation[] = [];
  patchObject(original, modified, { path: '', steps });
  return steps;
}

/** Where a patch is being written. */
interface Place {
  /** The pointer to the values that are compared. */
  readonly path: string;
  readonly steps: JsonPatchOperation[];
}

const below = ({ path, steps }: Place, key: string): Place => ({
  path: `${path}/${pointerPart(key)}`,
  steps,
});

/** Escapes a member's name for a JSON pointer. */
const pointerPart = (key: string): string =>
  key.includes('~') || key.includes('/') ? key.replaceAll('~', '~0').replaceAll('/', '~1') : key;

const valueOf = (value: unknown): unknown => (value instanceof Date ? value.toISOString() : value);

/** Patches one value of an object or a list; `key` is its name or index. */
function patchValue(before: unknown, value: unknown, { key, place }: { key: string; place: Place }): void {
  const after = valueOf(value);
  if (before === after) return;
  if (isObject(before) && isObject(after)) patchObject(before, after, below(place, key));
  else if (Array.isArray(before) && Array.isArray(after)) patchList(before, after, below(place, key));
  else place.steps.push({ op: 'replace', path: below(place, key).path, value: after });
}

function patchObject(before: JsonObject, after: JsonObject, place: Place): void {
  for (const key of Object.keys(before)) {
    const old = ownMember(before, key);
    if (old === undefined) continue;
    const value = ownMember(after, key);
    if (value === undefined) place.steps.push({ op: 'remove', path: below(place, key).path });
    else if (value !== old) patchValue(old, value, { key, place });
  }
  for (const key of Object.keys(after)) {
    const value = ownMember(after, key);
    if (value !== undefined && ownMember(before, key) === undefined)
      place.steps.push({ op: 'add', path: below(place, key).path, value: valueOf(value) });
  }
}

/** Patches the items between the equal ones at both ends; then removes what is left over, or adds what is missing. */
function patchList(before: readonly unknown[], values: readonly unknown[], place: Place): void {
  const after = values.map(valueOf);
  const shorter = Math.min(before.length, after.length);
  let start = 0;
  while (start < shorter && sameJson(before[start], after[start])) start++;
  let tail = 0;
  while (tail < shorter - start && sameJson(before.at(-1 - tail), after.at(-1 - tail))) tail++;
  const [oldEnd, newEnd] = [before.length - tail, after.length - tail];
  const { path, steps } = place;
  for (let i = start; i < Math.min(oldEnd, newEnd); i++)
    patchValue(before[i], after[i], { key: String(i), place });
  for (let i = oldEnd - 1; i >= newEnd; i--) steps.push({ op: 'remove', path: `${path}/${i}` });
  for (let i = oldEnd; i < newEnd; i++) steps.push({ op: 'add', path: `${path}/${i}`, value: after[i] });
}
