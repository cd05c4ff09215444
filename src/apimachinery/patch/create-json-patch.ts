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

/** Returns the JSON patch that makes `modified` of `original`. Members that are `undefined` count as absent. */
export function createJsonPatch(original: JsonObject, modified: JsonObject): JsonPatchOperation[] {
  return objectPatch(original, modified, '');
}

/** Escapes a member's name for a JSON pointer. */
const pointerPart = (key: string): string => key.replaceAll('~', '~0').replaceAll('/', '~1');

function valuePatch(before: unknown, after: unknown, path: string): JsonPatchOperation[] {
  if (sameJson(before, after)) return [];
  if (isObject(before) && isObject(after)) return objectPatch(before, after, path);
  if (Array.isArray(before) && Array.isArray(after)) return listPatch(before, after, path);
  return [{ op: 'replace', path, value: after }];
}

function objectPatch(before: JsonObject, after: JsonObject, path: string): JsonPatchOperation[] {
  const steps: JsonPatchOperation[] = [];
  for (const key of new Set([...Object.keys(before), ...Object.keys(after)])) {
    const [old, value] = [ownMember(before, key), ownMember(after, key)];
    const place = `${path}/${pointerPart(key)}`;
    if (value === undefined) {
      if (old !== undefined) steps.push({ op: 'remove', path: place });
    } else if (old === undefined) steps.push({ op: 'add', path: place, value });
    else steps.push(...valuePatch(old, value, place));
  }
  return steps;
}

/** Patches the items between the equal ones at both ends; then removes what is left over, or adds what is missing. */
function listPatch(
  before: readonly unknown[],
  after: readonly unknown[],
  path: string,
): JsonPatchOperation[] {
  const shorter = Math.min(before.length, after.length);
  let start = 0;
  while (start < shorter && sameJson(before[start], after[start])) start++;
  let tail = 0;
  while (tail < shorter - start && sameJson(before.at(-1 - tail), after.at(-1 - tail))) tail++;
  const [oldEnd, newEnd] = [before.length - tail, after.length - tail];
  const steps: JsonPatchOperation[] = [];
  for (let i = start; i < Math.min(oldEnd, newEnd); i++)
    steps.push(...valuePatch(before[i], after[i], `${path}/${i}`));
  for (let i = oldEnd - 1; i >= newEnd; i--) steps.push({ op: 'remove', path: `${path}/${i}` });
  for (let i = oldEnd; i < newEnd; i++) steps.push({ op: 'add', path: `${path}/${i}`, value: after[i] });
  return steps;
}
